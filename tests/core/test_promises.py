"""Bounds of accuracy hold exactly on the rows, whatever rounding does, and say of what they are."""

import warnings

import numpy as np
import pytest
from instances import draw
from sklearn.base import clone

from fsnotes import (
    FSMEMPM,
    L0MPM,
    L1MPM,
    MEMPM,
    MPM,
    SMPM,
    ClassMoments,
    GreedyMPM,
    KernelL0MPM,
    KernelMPM,
    load,
)
from fsnotes.core.promises import certain_accuracies, score_rounding
from fsnotes.core.samples import Samples
from fsnotes.errors import EqualMeansError, PromiseWarning, SubproblemError

MODELS = [
    MPM(),
    MPM(ridge=1e-9),
    L1MPM(retain=0.999),
    L1MPM(retain=0.9, normalization="gap", prune=True),
    L1MPM(retain=0.99, refit=False),
    L0MPM(retain=0.99),
    L0MPM(prune=False, refit=False),
    SMPM(lam=0.01),
    SMPM(refit=False),
    MEMPM(),
    MEMPM(theta=0.3),
    FSMEMPM(criterion="bound", grid=3),
    FSMEMPM(bounds=(0.2, 0.3), refit=False),
    GreedyMPM(retain=0.999),
    GreedyMPM(direction="backward"),
    KernelMPM(kernel="linear", ridge=0),
    KernelMPM(gamma=1.0, ridge=1e-12),
    KernelL0MPM(kernel="linear", ridge=1e-9, retain=0.9),
]
FITS = 20_000
BATCHES = 8


def draw_tight(rng):
    """Rows along which Cantelli's inequality is an equality, if the boundary is where it should be.

    In the direction that separates, a class takes two values, one of them at the boundary. The
    columns that make this direction nearly depend on each other, down to a part of 1e-9.
    """
    wrong = int(rng.integers(1, 4))
    right = int(rng.integers(wrong + 1, 9))
    values = np.tile([0.0] * wrong + [1.0] * right, int(rng.integers(1, 4)))
    n_features = int(rng.integers(1, 4))
    shared = rng.standard_normal((len(values), n_features - 1))
    apart = 10.0 ** rng.uniform(-9, 0) if n_features > 1 else 1.0
    first = shared[:, 0] if n_features > 1 else 0.0
    parts = [np.column_stack([shared, first + sign * apart * values]) for sign in (1, -1)]
    X = (np.vstack(parts) + rng.choice([0, 1, 1e3, 1e6])) * 10.0 ** rng.uniform(-3, 3, n_features)
    order = rng.permutation(len(X))
    y = np.repeat([1, -1], len(values))[order]
    weights = [
        None,
        np.full(len(X), 0.1),
        rng.integers(0, 4, len(X)).astype(float),
        rng.uniform(0, 1, len(X)),
        10.0 ** rng.uniform(-6, 6, len(X)),
    ]
    return X[order], y, weights[rng.integers(len(weights))]


def shares(machine, right, y, weights):
    """The part of each class that is right, by count or by weight."""
    if weights is None:
        return np.array([right[y == label].mean() for label in machine.classes_])
    return np.array(
        [np.average(right[y == label], weights=weights[y == label]) for label in machine.classes_]
    )


@pytest.mark.parametrize("batch", range(BATCHES))
def test_accuracy_is_never_below_the_bound_not_even_by_rounding(batch):
    rng = np.random.default_rng([7, batch])
    fits = refused = exact = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while fits + refused < FITS // BATCHES:
            X, y, weights = draw_tight(rng)
            model = clone(MODELS[rng.integers(len(MODELS))])
            try:
                machine = model.fit(X, y, weights)
            except (EqualMeansError, SubproblemError):
                refused += 1
                continue
            except ValueError as error:
                assert "class" in str(error) or "retain=1" in str(error)
                continue
            fits += 1
            bound = machine.worst_case_accuracy_
            found = shares(machine, machine.predict(X) == y, y, weights)
            assert (found >= bound).all(), (model, found - bound)
            if fits % 20 == 0:  # a row alone is added up in another order than among others
                alone = np.concatenate([machine.predict(row[None]) for row in X])
                assert (shares(machine, alone == y, y, weights) >= bound).all()
            exact += ((found - bound).min() < 1e-9) & (bound.min() > 0)
    assert refused < fits / 5 and exact > fits / 20  # otherwise nothing tight has been tried


def test_the_bound_is_that_of_the_rows_where_moments_have_lost_digits():
    rng = np.random.default_rng(169)
    values = np.tile([0.0, 1, 1], 4)
    shared = np.tile(rng.standard_normal(12), 2)
    X = 1e7 + np.column_stack([shared, shared + 1e-6 * np.append(values, -values)])
    y = np.repeat([1, -1], 12)
    with pytest.warns(PromiseWarning, match="moments promise class .* a bound of .*which is kept"):
        machine = MPM().fit(X, y)
    assert (shares(machine, machine.predict(X) == y, y, None) >= machine.worst_case_accuracy_).all()
    assert machine.worst_case_accuracy_.min() < machine.delta_ - 1e-6


def test_the_path_promises_what_its_rows_show():
    X, y = draw(3, 30, 6)
    path = L1MPM().path(X, y, [0.5, 0.9, 1.0])
    for coef, intercept, bound in zip(path.coefs, path.intercepts, path.bounds, strict=True):
        right = (X @ coef + intercept > 0) == (y == 1)
        assert min(right[y == 0].mean(), right[y == 1].mean()) >= bound > 0


def test_scores_far_away_from_their_terms_move_by_their_rounding():
    """With terms of 1e9, scores are known to about 1e-6, and a bound must not use more of them."""
    terms = np.array([[1e9, 1e9 + 1], [1e9, 1e9 + 2], [1e9 + 2, 1e9], [1e9 + 1, 1e9]])
    weights = np.array([-1.0, 1])
    rounding = score_rounding(terms, weights, 0.0)
    assert (rounding > 1e-6).all() and (rounding < 1e-5).all()
    samples = Samples(terms, np.array([1, 1, 0, 0]), np.ones(4), np.arange(4), 4)
    scores = terms @ weights
    bounds, unmoved = certain_accuracies(samples, scores, rounding)
    assert np.allclose(unmoved, 0.9, rtol=1e-12) and (bounds < unmoved).all()
    assert np.allclose(bounds, unmoved, atol=1e-5)
    none, _ = certain_accuracies(samples, scores, np.full(4, 10.0))
    assert (none == 0).all()


def test_a_ridge_lowers_the_bound():
    samples = Samples(np.zeros((4, 1)), np.array([0, 0, 1, 1]), np.ones(4), np.arange(4), 4)
    scores = np.array([-1.0, -3, 2, 4])
    plain, _ = certain_accuracies(samples, scores, np.zeros(4))
    ridged, _ = certain_accuracies(samples, scores, np.zeros(4), ridge=1.0)
    assert np.allclose(plain, [4 / 5, 9 / 10]) and np.allclose(ridged, [4 / 6, 9 / 11])


@pytest.mark.parametrize("model", [MPM(), L1MPM(), FSMEMPM()], ids=lambda m: type(m).__name__)
def test_the_summary_says_of_what_the_bound_is(model):
    X, y = load("sonar", return_X_y=True)
    X = X[:, :8]
    line = "accuracy of each class is at least: 0 0."
    assert f"\ntraining {line}" in model.fit(X, y).summary()
    assert f"\ntraining {line}" in model.fit(X, y, np.full(len(y), 2.0)).summary()
    weights = np.random.default_rng(0).uniform(size=len(y))
    assert f"\nweighted training {line}" in model.fit(X, y, weights).summary()
    moments = ClassMoments.from_data(X, y)
    assert "\naccuracy of each class of the moments is" in model.fit_moments(moments).summary()
