import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from fsnotes import ClassMoments, exact_support
from fsnotes.data.generators import (
    make_cross_planes,
    make_instance,
    make_moments,
    make_twonorm,
    make_wide,
)

GENERATORS = [
    lambda seed: make_twonorm(50, seed=seed),
    lambda seed: make_cross_planes(50, 4, seed=seed),
    lambda seed: make_moments(law="printed", seed=seed),
    lambda seed: make_moments(law="meant", seed=seed),
    lambda seed: make_wide(62, 100, seed=seed),
]


@pytest.mark.parametrize("make", GENERATORS)
def test_generators_repeat_by_seed(make):
    X, y = make(3)
    again_X, again_y = make(3)
    generated_X, generated_y = make(np.random.default_rng(3))
    other_X, _ = make(4)
    assert np.array_equal(X, again_X) and np.array_equal(y, again_y)
    assert np.array_equal(X, generated_X) and np.array_equal(y, generated_y)
    assert not np.array_equal(X, other_X)
    assert X.dtype == np.float64 and y.dtype.kind == "i"
    assert np.unique(y).tolist() == [0, 1]
    assert X.shape[0] == y.shape[0]
    assert not np.array_equal(y, np.sort(y)) and not np.array_equal(y, np.arange(len(y)) % 2)


@pytest.mark.parametrize("n_features", [2, 20])
def test_twonorm_has_breimans_moments(n_features):
    X, y = make_twonorm(40000, n_features, seed=1)
    shift = 2 / np.sqrt(n_features)
    for label, sign in ((0, -1), (1, 1)):
        rows = X[y == label]
        assert np.allclose(rows.mean(axis=0), sign * shift, atol=5 / np.sqrt(len(rows)))
        assert np.allclose(np.cov(rows.T), np.eye(n_features), atol=0.06)
    best = (X.sum(axis=1) > 0) == y
    assert abs(best.mean() - norm.cdf(2)) < 4 * np.sqrt(0.25 * 0.1 / len(y))
    assert abs(y.mean() - 0.5) < 0.0125


def test_small_draws_have_both_classes():
    for seed in range(50):
        assert np.unique(make_twonorm(2, seed=seed)[1]).size == 2
        assert np.unique(make_moments(2, seed=seed)[1]).size == 2


@given(n_samples=st.integers(4, 60), n_features=st.integers(2, 6), seed=st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_cross_planes_lie_on_two_lines(n_samples, n_features, seed):
    X, y = make_cross_planes(n_samples, n_features, noise=0, seed=seed)
    assert X.shape == (n_samples, n_features)
    assert np.array_equal(X[:, 1], np.where(y == 1, X[:, 0], -X[:, 0]))
    assert y.sum() == n_samples // 2
    assert np.abs(X).max() <= 1


def test_cross_planes_noise_and_irrelevant_features():
    noisy, y = make_cross_planes(20000, 5, noise=0.2, seed=0)
    distance = (noisy[:, 1] - (2 * y - 1) * noisy[:, 0]) / np.sqrt(2)
    assert abs(distance.std() - 0.2) < 0.005
    for column in range(2, 5):
        assert abs(np.corrcoef(noisy[:, column], y)[0, 1]) < 0.03
        assert abs(np.corrcoef(noisy[:, column], noisy[:, 0] * noisy[:, 1])[0, 1]) < 0.03


@pytest.mark.parametrize("law", ["printed", "meant"])
def test_moments_law(law):
    X, y = make_moments(20000, 15, law=law, seed=2)
    sign = 2 * y - 1
    expected = np.zeros(15)
    expected[:10] = -np.arange(1, 11) if law == "printed" else -1
    assert np.allclose((sign[:, None] * X).mean(axis=0), expected, atol=0.04)
    for label in (0, 1):
        assert np.allclose(np.cov(X[y == label].T), np.eye(15), atol=0.07)


def test_one_feature_of_the_moments_as_printed_tells_the_classes_apart():
    X, y = make_moments(seed=0)
    assert X.shape == (50, 1000)
    assert np.array_equal(X[:, 9] < 0, y == 1)


@pytest.mark.parametrize(("n_samples", "n_features"), [(62, 2000), (96, 4026)])
def test_wide_shapes(n_samples, n_features):
    X, y = make_wide(n_samples, n_features)
    assert X.shape == (n_samples, n_features)
    assert y.sum() == round(n_samples * 40 / 62)


def test_wide_law():
    X, y = make_wide(20000, 34, n_informative=6, block_size=10, correlation=0.6, seed=1)
    gap = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    assert np.allclose(gap, np.r_[np.ones(6), np.zeros(28)], atol=0.06)
    block = np.arange(34) // 10
    expected = np.where(block[:, None] == block, 0.6, 0.0) + 0.4 * np.eye(34)
    for label in (0, 1):
        assert np.allclose(np.cov(X[y == label].T), expected, atol=0.07)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: make_twonorm(1), "n_samples=1; pass a whole number from 2 to"),
        (lambda: make_twonorm(5.5), "n_samples=5.5"),
        (lambda: make_wide(10**5, 10**4), "n_samples=100000 rows .* product is at most 100000000"),
        (lambda: make_twonorm(9, 0), "n_features=0"),
        (
            lambda: make_twonorm(9, seed=None),
            "seed=None is NoneType; .* or a numpy.random.Generator",
        ),
        (lambda: make_twonorm(9, seed=-1), "seed=-1; .* or a numpy.random.Generator"),
        (lambda: make_cross_planes(3), "n_samples=3"),
        (lambda: make_cross_planes(9, 1), "n_features=1"),
        (lambda: make_cross_planes(9, noise=-0.1), "noise=-0.1"),
        (lambda: make_moments(law="guess"), 'law=\'guess\'; pass "printed" or "meant"'),
        (lambda: make_moments(9, 5), "n_features=5; pass at least n_informative=10"),
        (lambda: make_moments(9, n_informative=0), "n_informative=0"),
        (lambda: make_wide(3), "n_samples=3"),
        (lambda: make_wide(9, 9), "n_features=9"),
        (lambda: make_wide(9, correlation=1), "correlation=1; .* and below 1"),
        (lambda: make_wide(9, block_size=0), "block_size=0"),
        (lambda: make_instance(-1), "seed=-1"),
    ],
)
def test_generators_refuse_what_they_cannot_draw(call, complaint):
    with pytest.raises((TypeError, ValueError), match=complaint):
        call()


def covariances_of(X, y):
    return [np.cov(X[y == label].T, ddof=0) for label in (1, 0)]


@pytest.fixture(scope="module")
def instances():
    return [make_instance(seed) for seed in range(100)]


def test_instances_are_small_and_uneven(instances):
    sizes = np.array([np.bincount(y) for _, y in instances])
    assert sizes.shape == (100, 2) and sizes.min() >= 20 and sizes.max() <= 80
    assert (sizes[:, 0] != sizes[:, 1]).sum() >= 90
    assert {X.shape[1] for X, _ in instances} == set(range(6, 13))
    for X, y in instances:
        first, second = covariances_of(X, y)
        assert np.linalg.norm(first - second) > 0.1 * np.linalg.norm(first + second)


def test_odd_instances_are_strongly_correlated_and_even_ones_weakly(instances):
    for seed, (X, y) in enumerate(instances):
        first, second = covariances_of(X, y)
        pooled = (first * y.sum() + second * (1 - y).sum()) / len(y)
        scale = np.sqrt(np.diag(pooled))
        for matrix in (pooled, pooled / np.outer(scale, scale)):
            assert (np.linalg.cond(matrix) > 50) == (seed % 2 == 1)


def test_instances_need_supports_of_many_sizes(instances):
    sizes = np.array([exact_support(ClassMoments.from_data(X, y)).size for X, y in instances])
    assert (sizes > 1).sum() >= 80
    counts = np.bincount(sizes)[1:]
    assert (counts[:6] >= 3).all(), f"supports of sizes 1, 2, ...: {counts}"


def test_instances_are_fixed(instances):
    X, y = make_instance(17)
    assert np.array_equal(X, instances[17][0]) and np.array_equal(y, instances[17][1])
    # the numbers that results of other chapters rest on; a change of NumPy's streams shows here
    assert y.sum() == 43 and np.isclose(X[0, 0], -4.601644203974, rtol=1e-9)
    assert np.isclose(X.sum(), -98.688191185, rtol=1e-9)
    distinct = {X.tobytes() for X, _ in instances}
    assert len(distinct) == 100
