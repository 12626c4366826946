"""Twin machines: optimal planes, in the right order, and what they say of rows."""

import contextlib

import instances
import numpy as np
import pytest
from definitions import quiet, units
from sklearn.metrics.pairwise import pairwise_kernels

from fsnotes import (
    FTSVM,
    L1TwinSVM,
    TwinSVM,
    literal,
    load,
    make_instance,
    make_wide,
)
from fsnotes.errors import SelectionWarning, SubproblemError

MACHINES = [TwinSVM, L1TwinSVM]
PUBLISHED = {TwinSVM: literal.twin_svm, L1TwinSVM: literal.l1_twin_svm}
each = pytest.mark.parametrize("kind", MACHINES)


def plain(kind, **more):
    """The machine of the optimisation problem itself."""
    return kind(**more) if kind is TwinSVM else kind(refit=False, **more)


def draw(seed, m0=11, m1=9, n=4):
    """Rows of class 0 and of class 1, labels, and pairs of prices in this order."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m0 + m1, n)) * rng.uniform(0.5, 3, n) + rng.uniform(-1, 1, n)
    y = rng.permutation(np.repeat([0, 1], [m0, m1]))
    X[y == 1] += rng.uniform(-2, 2, n)
    c_fit, c_hinge = (tuple((10 ** rng.uniform(-1, 1, 2)).tolist()) for _ in range(2))
    return X, y, c_fit, c_hinge


def worth(machine, X, y, weights=None):
    """What the coefficients of a machine without a kernel are worth, as printed.

    They are taken in units of selection, from the middle of the class means if it scales.
    """
    weights = np.ones(len(y)) if weights is None else weights
    positive = y == machine.classes_[1]
    means = [np.average(X[part], axis=0, weights=weights[part]) for part in (positive, ~positive)]
    center = sum(means) / 2 if machine.scale else np.zeros(X.shape[1])
    Z, normals = (X - center) / machine.scale_, machine.coef_ * machine.scale_
    offsets = machine.intercept_ + machine.coef_ @ center
    value = 0
    for k in (0, 1):
        mine, away = positive == bool(k), Z @ normals[k] + offsets[k]
        losses = weights * np.maximum(0, 1 + (2 * k - 1) * away)
        if isinstance(machine, TwinSVM):
            value += normals[k] @ normals[k] / 2 + offsets[k] ** 2
            distance = weights * away**2
        else:
            value += abs(normals[k]).sum()
            distance = weights * abs(away)
        value += np.broadcast_to(machine.c_fit, 2)[k] * distance[mine].sum()
        value += np.broadcast_to(machine.c_hinge, 2)[k] * losses[~mine].sum()
    return value


# ---------------------------------------------------------------- optimal planes


@each
@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("shape", [(11, 9, 4), (6, 14, 3), (7, 5, 30)])
def test_planes_are_those_of_the_programs_as_printed(kind, kernel, shape):
    heavy = 0
    for seed in range(8):
        X, y, c_fit, c_hinge = draw(seed, *shape)
        machine = plain(kind, c_fit=c_fit, c_hinge=c_hinge, kernel=kernel, gamma=0.05, scale=False)
        quiet(machine, X, y)
        A1, A2 = X[y == 1], X[y == 0]
        both = np.vstack([A1, A2])
        if kernel:
            A1, A2 = (pairwise_kernels(A, both, metric=kernel, gamma=0.05) for A in (A1, A2))
        planes, values = PUBLISHED[kind](A1, A2, c_fit[::-1], c_hinge[::-1])
        assert np.isclose(machine.objective_, sum(values), rtol=1e-6)
        # the paper's first plane is that of the positive class
        rows = np.vstack([A1, A2])
        found = machine.plane_values(both)
        for k, (w, b) in ((1, planes[0]), (0, planes[1])):
            assert np.allclose(found[:, k], rows @ w + b, rtol=1e-4, atol=1e-5)
            if kernel is None:
                assert np.allclose(machine.coef_[k], w, rtol=1e-4, atol=1e-5)
                assert np.isclose(machine.intercept_[k], b, rtol=1e-4, atol=1e-5)
        heavy += np.count_nonzero(machine.norms_)
    assert heavy >= 2


@each
@pytest.mark.parametrize("scale", [True, False])
def test_the_objective_is_that_of_the_coefficients(kind, scale):
    for seed in range(30):
        X, y = make_instance(seed)
        c_fit, c_hinge = [((0.3, 2.0), (1.0, 0.1)), (0.1, 0.1), (5.0, 1.0)][seed % 3]
        weights = [None, np.random.default_rng(seed).uniform(0.5, 2, len(y))][seed % 2]
        machine = plain(kind, c_fit=c_fit, c_hinge=c_hinge, scale=scale)
        quiet(machine, X, y, sample_weight=weights)
        assert np.isclose(machine.objective_, worth(machine, X, y, weights), rtol=1e-9)
        if weights is None:
            assert np.allclose(machine.scale_, units(X, y, scale))
        assert machine.result_.status == "solved" and machine.result_.duality_gap <= 1e-7
        assert machine.result_.objective == machine.objective_


def test_digits_lost_far_from_the_origin_are_noticed():
    """The offset has a price, so that nothing may be centred; what is left of the digits counts."""
    X, y = make_instance(0)
    for c in (0.1, 1, 1e3, 1e6):
        machine = TwinSVM(c_fit=c, c_hinge=c, scale=False).fit(X + 1e4, y)
        assert np.isclose(machine.objective_, worth(machine, X + 1e4, y), rtol=1e-9)
        assert machine.result_.duality_gap <= 1e-9
        # so far off a fit may be refused, but it may not be wrong
        with contextlib.suppress(SubproblemError):
            machine = TwinSVM(c_fit=c, c_hinge=c, scale=False).fit(X + 1e6, y)
            assert np.isclose(machine.objective_, worth(machine, X + 1e6, y), rtol=1e-4)
    near, far = TwinSVM().fit(X, y), TwinSVM().fit(X + 1e6, y)
    assert np.isclose(near.objective_, far.objective_, rtol=1e-6)


# ---------------------------------------------------------------- refit and selection


@pytest.mark.parametrize("kind, c_fit", [(L1TwinSVM, 0.03), (FTSVM, (0.1, 0.3))])
def test_refit_is_the_twin_machine_on_the_support(kind, c_fit):
    c_hinge = np.min(c_fit)
    fewer = 0
    for seed in range(12):
        X, y = make_instance(seed)
        machine = quiet(kind(c_fit=c_fit, c_hinge=c_hinge), X, y)
        lean = quiet(kind(c_fit=c_fit, c_hinge=c_hinge, refit=False), X, y)
        assert np.array_equal(lean.support_, machine.support_)
        assert lean.objective_ == machine.objective_
        assert np.array_equal(lean.support_, (lean.coef_ != 0).any(axis=0))
        assert not machine.coef_[:, ~machine.support_].any()
        if lean.n_selected_:
            fewer += lean.n_selected_ < X.shape[1]
            assert not np.allclose(lean.coef_, machine.coef_)
            alone = quiet(TwinSVM(c_fit=c_fit, c_hinge=c_hinge), X[:, lean.support_], y)
            assert np.allclose(machine.coef_[:, lean.support_], alone.coef_, rtol=1e-7)
            assert np.allclose(machine.intercept_, alone.intercept_, rtol=1e-7)
    assert fewer >= 4


def test_refit_of_surfaces_is_the_twin_machine_on_the_support():
    X, y, *_ = draw(0)
    machine, lean = (
        FTSVM(c_fit=1, c_hinge=1, kernel="rbf", refit=refit).fit(X, y) for refit in (True, False)
    )
    assert machine.n_selected_ and np.array_equal(machine.support_, lean.support_)
    assert not np.isclose(machine.norms_[0], lean.norms_[0], rtol=1e-3)
    selected = np.where(machine.support_, X / machine.scale_, 0)
    alone = quiet(TwinSVM(kernel="rbf", gamma=machine.gamma_, scale=False), selected, y)
    assert np.allclose(alone.plane_values(selected), machine.plane_values(X), atol=1e-5)


def test_a_kernel_selects_no_feature():
    X, y, *_ = draw(1, 20, 20, 5)
    pairs = [L1TwinSVM(c_fit=3, c_hinge=3, kernel="rbf", refit=r).fit(X, y) for r in (True, False)]
    assert pairs[0].support_.all()
    assert np.array_equal(pairs[0].dual_coef_, pairs[1].dual_coef_)
    assert 0 < len(pairs[0].support_vectors_) < 40
    assert (pairs[0].dual_coef_ != 0).any(axis=0).all()
    assert not hasattr(pairs[0], "coef_")
    assert L1TwinSVM().fit(X, y).result_.counts.keys() == {"linear program", "pivot"}


# ---------------------------------------------------------------- what they say


@each
@pytest.mark.parametrize("kernel", [None, "rbf", "poly", "laplacian", "sigmoid", "linear"])
def test_rows_are_of_the_class_whose_plane_is_closer(kind, kernel):
    X, y, *_ = draw(4, 25, 25, 3)
    new = np.random.default_rng(0).standard_normal((30, 3)) * 2
    labels = np.where(y == 1, "yes", "no")
    machine = kind(c_fit=(1, 3), c_hinge=2, kernel=kernel).fit(X, labels)
    values, distances = machine.plane_values(new), machine.distances(new)
    if kernel is None:
        assert np.allclose(values, new @ machine.coef_.T + machine.intercept_)
        norms = np.linalg.norm(machine.coef_ * machine.scale_, axis=1)
    else:
        options = {"metric": kernel, "gamma": 1 / 3, "filter_params": True}
        points, duals = machine.support_vectors_ / machine.scale_, machine.dual_coef_
        own = pairwise_kernels(new / machine.scale_, points, **options) @ duals.T
        assert np.allclose(values, own + machine.intercept_)
        among = pairwise_kernels(points, points, **options)
        norms = np.sqrt([abs(u @ among @ u) for u in duals])
    assert np.allclose(machine.norms_, norms) and (norms > 0).all()
    assert np.allclose(distances, abs(values) / norms)
    assert np.allclose(machine.decision_function(new), distances[:, 0] - distances[:, 1])
    nearer = np.where(distances[:, 1] < distances[:, 0], "yes", "no")
    assert np.array_equal(machine.predict(new), nearer)
    # at the margin the plane of the first class is 1, that of the other -1
    inner = machine.plane_values(X)
    assert np.median(inner[y == 1, 0]) > 0.3 and np.median(inner[y == 0, 1]) < -0.3


# ---------------------------------------------------------------- flat planes


@each
@pytest.mark.parametrize("c", [0.01, 1, 100])
def test_equal_means_make_both_planes_flat(kind, c):
    """A theorem; in units of selection the common mean is the origin."""
    for seed in range(6):
        X, y, *_ = draw(seed, 12, 20, 3)
        for k in (0, 1):
            X[y == k] -= X[y == k].mean(axis=0)
        X += 3
        with pytest.warns(SelectionWarning, match="both planes are flat.*larger c_fit"):
            machine = kind(c_fit=c, c_hinge=c).fit(X, y)
        assert machine.norms_.tolist() == [0, 0]
        assert np.isinf(machine.distances(X)).all()
        assert (machine.predict(X) == 1).all() and (machine.decision_function(X) == 1).all()
        if kind is L1TwinSVM:
            # min(c_fit m_near, c_hinge m_far), whichever class is near
            assert np.isclose(machine.objective_, 2 * c * 12, rtol=1e-9)
            assert not machine.coef_.any() and machine.n_selected_ == 0


@each
def test_with_flat_planes_the_heavier_class_is_predicted(kind):
    X, y, *_ = draw(0, 12, 20, 3)
    X = np.zeros_like(X)
    assert (quiet(kind(), X, y).predict(X) == 1).all()
    machine = quiet(kind(), X, y, sample_weight=np.where(y == 0, 2.0, 0.5))
    assert (machine.predict(X) == 0).all() and (machine.decision_function(X) == -1).all()
    X = np.array([[0.0, 1], [1, 5]] * 2)
    with pytest.warns(SelectionWarning, match="flat"):
        machine = kind().fit(X, [0, 1, 1, 0])
    assert (machine.decision_function(X) == 0).all() and (machine.predict(X) == 0).all()


def test_of_one_flat_plane_rows_are_not():
    X, y, *_ = draw(3, 20, 20, 3)
    for k in (0, 1):
        prices = np.where(np.arange(2) == k, 1e-3, 10)
        words = f"plane of class {k} is flat.*the other is predicted"
        with pytest.warns(SelectionWarning, match=words):
            machine = plain(L1TwinSVM, c_fit=prices, c_hinge=prices).fit(X, y)
        assert machine.norms_[k] == 0 < machine.norms_[1 - k]
        assert (machine.predict(X) == 1 - k).all()
        distances = machine.distances(X)
        assert np.isinf(distances[:, k]).all() and np.isfinite(distances[:, 1 - k]).all()
        # the closer to the other plane, the surer
        scores = machine.decision_function(X)
        assert np.array_equal(np.argsort(abs(scores)), np.argsort(-distances[:, 1 - k]))


def test_a_short_normal_is_not_flat():
    """Of columns of large numbers, not scaled, weights are tiny, but planes are as they are."""
    X, y = make_instance(0)
    for size in (1e12, 1, 1e-3):
        machine = TwinSVM(scale=False).fit(X * size, y)
        assert (machine.norms_ > 0).all()
        assert size < 1 or machine.score(X * size, y) > 0.9
    # at prices next to nothing values are, too, everywhere alike
    light = TwinSVM().fit(X, y, sample_weight=1e-12)
    assert (light.norms_ > 0).all() and light.score(X, y) > 0.8
    assert abs(light.plane_values(X)).max() < 1e-9


@each
def test_the_summary_shows_both_planes(kind):
    X, y, c_fit, c_hinge = draw(9)
    machine = kind(c_fit=c_fit, c_hinge=c_hinge).fit(X, y)
    text = machine.summary()
    assert "plane 0" in text and "plane 1" in text and f"{machine.objective_:.6g}" in text
    weights = machine.coef_ * machine.scale_
    heaviest = np.argmax(abs(weights).sum(axis=0))
    name, *known = text.splitlines()[5].split()
    assert name == f"x{heaviest}" and np.allclose(list(map(float, known)), weights[:, heaviest])
    assert "points, kernel 'rbf'" in kind(kernel="rbf").fit(X, y).summary()


# ---------------------------------------------------------------- bad and degenerate data


@each
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_columns_that_do_not_vary(kind, kernel):
    with pytest.warns(SelectionWarning) as said:
        machine = kind(kernel=kernel).fit(np.full((6, 2), 0.1), [0, 1] * 3)
    assert "constant features are never selected; there are 2" in str(said[0].message)
    assert "no feature is selected" in str(said[1].message) and len(said) == 2
    assert machine.n_selected_ == 0 and machine.norms_.tolist() == [0, 0]
    # offset of (3), by hand: the minimum of b**2 + 3 b**2 + 3 (1 - b)
    known = 6 if kind is L1TwinSVM else 2 * (4 * 0.375**2 + 3 * 0.625)
    assert (kernel and kind is TwinSVM) or np.isclose(machine.objective_, known)


@each
def test_a_column_may_occur_twice(kind):
    """Of least squares both are used alike, of least norm the value is the same."""
    X, y, *_ = draw(3)
    lean = quiet(plain(kind, c_fit=2, c_hinge=2), X, y)
    wide = quiet(plain(kind, c_fit=2, c_hinge=2), X[:, [0, 0, 1, 2, 3]], y)
    if kind is TwinSVM:
        assert np.allclose(wide.coef_[:, 0], wide.coef_[:, 1], atol=1e-9)
        assert wide.objective_ <= lean.objective_
    else:
        assert np.isclose(wide.objective_, lean.objective_, rtol=1e-9)


@each
@pytest.mark.parametrize("c", [1e-6, 1e6])
def test_prices_at_their_ends(kind, c):
    for seed in range(5):
        X, y = make_instance(seed)
        machine = quiet(kind(c_fit=c, c_hinge=c), X, y)
        assert machine.result_.duality_gap <= 1e-7
        if kind is L1TwinSVM and c < 1:
            assert machine.n_selected_ == 0
    separable = X + 100 * y[:, None]
    machine = quiet(plain(kind, c_fit=1e-6, c_hinge=c, scale=False), separable, y)
    assert np.isclose(machine.objective_, worth(machine, separable, y), rtol=1e-6)


def test_weights_beyond_all_prices_are_named():
    X, y = make_instance(0)
    with pytest.raises(SubproblemError, match=r"penalties up to 1e\+12.*sample_weight"):
        L1TwinSVM().fit(X, y, sample_weight=np.full(len(y), 1e12))


@each
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_any_small_data(kind, kernel):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = instances.draw(
            rng, rng.integers(4, 9), rng.integers(1, 4), integer=True, repeated=seed % 3 == 0
        )
        c_fit, c_hinge = (tuple(rng.choice([0.01, 0.5, 1.0, 30.0], 2)) for _ in range(2))
        scale = bool(seed % 2)
        machine = plain(kind, c_fit=c_fit, c_hinge=c_hinge, kernel=kernel, gamma=0.5, scale=scale)
        quiet(machine, X, y)
        Z = X / machine.scale_
        if kernel:
            Z = pairwise_kernels(Z, Z, metric="rbf", gamma=0.5)
        elif scale:
            Z = Z - (Z[y == 0].mean(axis=0) + Z[y == 1].mean(axis=0)) / 2
        Z = Z if kernel else Z * (np.ptp(X, axis=0) > 0)
        _, values = PUBLISHED[kind](Z[y == 1], Z[y == 0], c_fit[::-1], c_hinge[::-1])
        # equal rows are one point of a kernel, which changes the norm of least squares alone
        if not (kernel and kind is TwinSVM and len(np.unique(X, axis=0)) < len(X)):
            assert np.isclose(machine.objective_, sum(values), rtol=1e-6, atol=1e-8)
        if kernel is None:
            assert np.isclose(machine.objective_, worth(machine, X, y), rtol=1e-8)
        assert np.isfinite(machine.decision_function(X)).all()


@each
def test_real_and_wide_data(kind):
    real = [load(name, return_X_y=True) for name in ("wdbc", "sonar", "ionosphere", "pima")]
    for X, y in [make_wide(40, 2000, seed=1), *real]:
        machine = quiet(plain(kind, c_fit=0.1, c_hinge=0.1), X, y)
        assert machine.result_.duality_gap <= 1e-7
        assert np.isclose(machine.objective_, worth(machine, X, y), rtol=1e-8)
        if kind is L1TwinSVM:  # of each plane no more weights than rows
            assert (np.count_nonzero(machine.coef_, axis=1) <= len(X)).all()
