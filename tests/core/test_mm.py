"""The one loop: it descends, stops where nothing is left to gain, and says so when it does not."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fsnotes import L1, MCP, SCAD, CappedL1, Exponential, Log, Power
from fsnotes.core.mm import ROSE, Result, Step, majorize_minimize, stages

CONCAVE = [L1(), Exponential(2), Log(0.3), Power(0.5), CappedL1(0.8), MCP(1.2), SCAD(0.3)]


class Median:
    """Sum of |x - number|, each rounded at its corner, by least squares with weights."""

    def __init__(self, numbers, eps=1e-3):
        self.numbers, self.eps = numbers, eps

    def value(self, x):
        return float(np.hypot(x - self.numbers, self.eps).sum())

    def tangent(self, x):
        return 1 / np.hypot(x - self.numbers, self.eps)

    def minimize(self, weights, x):
        return np.array([weights @ self.numbers / weights.sum()])


class Denoising:
    """|x - y|^2 / 2 + price * sum of a surrogate; each step is one soft threshold."""

    def __init__(self, y, surrogate, price=0.5):
        self.y, self.surrogate, self.price = y, surrogate, price

    def value(self, x):
        return float(
            ((x - self.y) ** 2).sum() / 2 + self.price * self.surrogate.value(abs(x)).sum()
        )

    def tangent(self, x):
        return self.price * self.surrogate.slope(abs(x))

    def minimize(self, prices, x):
        return np.sign(self.y) * np.maximum(abs(self.y) - prices, 0)


class Ridged:
    """|A x - b|^2 / 2 + price * sum of a surrogate, by ridges with weights."""

    def __init__(self, A, b, surrogate, price=0.3):
        self.A, self.b, self.surrogate, self.price = A, b, surrogate, price

    def value(self, x):
        fit = ((self.A @ x - self.b) ** 2).sum() / 2
        return float(fit + self.price * self.surrogate.value(abs(x)).sum())

    def tangent(self, x):
        # an infinite ridge is more than a linear solver takes
        return 2 * self.price * self.surrogate.slope_of_square(np.maximum(abs(x), 1e-12))

    def minimize(self, ridges, x):
        return np.linalg.solve(self.A.T @ self.A + np.diag(ridges), self.A.T @ self.b)

    def slope(self, x):
        sizes = self.surrogate.slope(abs(x))
        return self.A.T @ (self.A @ x - self.b) + self.price * np.sign(x) * sizes


class Gradient:
    """|x - goal|^2 / 2 by steps of half the way, under a majoriser of twice the curvature."""

    def __init__(self, goal=1.0, way=0.5):
        self.goal, self.way = goal, way

    def value(self, x):
        return float(((x - self.goal) ** 2).sum() / 2)

    def tangent(self, x):
        return x - self.goal

    def minimize(self, slope, x):
        return x - self.way * slope


class Scripted:
    """Points 0, 1, 2, ... with objectives as given; the last is reached again."""

    def __init__(self, values):
        self.values = values

    def value(self, x):
        return self.values[int(x[0])]

    def tangent(self, x):
        return None

    def minimize(self, tangent, x):
        return np.minimum(x + 1, len(self.values) - 1)


def recorded(problem, start, **options):
    """Point, result and the points on the way, and what must hold of every run."""
    points = []
    x, result = majorize_minimize(
        problem, start, callback=lambda step, x: points.append((step, np.array(x))), **options
    )
    assert tuple(step for step, _ in points) == result.steps
    for step, point in points:
        assert step.objective == problem.value(point)
        assert step.n_selected == np.count_nonzero(point)
    for (_, old), (step, new) in zip(points[:-1], points[1:], strict=True):
        if new.any():
            assert step.change == abs(new - old).max() / abs(new).max()
    assert np.array_equal(points[0][1], start)
    return x, result, [point for _, point in points]


def check_descent(result):
    objectives = [step.objective for step in result.steps]
    for before, after in zip(objectives[:-1], objectives[1:], strict=True):
        assert after <= before + ROSE * abs(before)
    assert result.status in ("converged", "max_iter")
    assert result.objective == min(objectives)


def regression(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(15, 8))
    # two of the three columns that count nearly agree
    A[:, 1] = A[:, 0] + 0.1 * rng.normal(size=15)
    return A, A[:, :3] @ [2.0, -1, 0.5] + 0.3 * rng.normal(size=15)


# it descends and ends where the objective is stationary


@pytest.mark.parametrize("size", [1, 2, 5, 31])
def test_means_with_weights_find_the_median(size):
    for seed in range(20):
        # tails are so heavy that the mean, at which the steps start, may be far from the median
        numbers = np.random.default_rng(seed).standard_cauchy(size)
        problem = Median(numbers)
        x, result, _ = recorded(problem, np.array([numbers.mean()]), tol=1e-10, max_iter=5000)
        check_descent(result)
        assert result.status == "converged"
        # any point between the middle numbers is a median; round corners move the ends a little
        low, high = np.sort(numbers)[[(size - 1) // 2, size // 2]]
        assert low - 0.05 <= x[0] <= high + 0.05
        # where the derivative of the sum of rounded sizes is zero
        steps = x[0] - numbers
        assert abs((steps / np.hypot(steps, problem.eps)).sum()) < 1e-4


@pytest.mark.parametrize("surrogate", CONCAVE, ids=repr)
def test_soft_thresholds_descend_to_a_stationary_point(surrogate):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = rng.normal(scale=1.5, size=20)
        problem = Denoising(y, surrogate)
        for start in (y, np.zeros(20), rng.normal(size=20)):
            x, result, points = recorded(problem, start, tol=1e-9, max_iter=2000)
            check_descent(result)
            assert result.status == "converged"
            # x - y + price * slope * sign(x) = 0, or the slope at 0 holds it back
            last, out = points[-1], points[-1] == 0
            left = (y - last)[~out] - 0.5 * (surrogate.slope(abs(last)) * np.sign(y))[~out]
            assert (abs(y[out]) <= 0.5 * surrogate.slope_at_zero).all()
            assert abs(left).max(initial=0) < 1e-7 and abs(x - last).max() < 1e-7


@pytest.mark.parametrize(
    "surrogate", [Power(0.5, 0.1), Power(1, 0.01), Power(1.5, 0.1), Power(1.5), Log(0.3)], ids=repr
)
def test_ridges_descend_to_a_stationary_point(surrogate):
    for seed in range(20):
        A, b = regression(seed)
        problem = Ridged(A, b, surrogate)
        start = np.linalg.lstsq(A, b)[0]
        x, result, _ = recorded(problem, start, tol=1e-10, max_iter=20000)
        check_descent(result)
        assert result.status == "converged"
        kept = abs(x) > 1e-7  # a slope that jumps at 0 is approached, not reached
        assert abs(problem.slope(x)[kept]).max() < 1e-5
        assert kept.sum() >= 2


# what is recorded


def test_steps_say_what_happened():
    x, result, points = recorded(Gradient(3.0), np.array([1.0, 7.0]), tol=1e-3, stage=4)
    assert isinstance(result, Result) and all(isinstance(step, Step) for step in result.steps)
    first = result.steps[0]
    assert (first.objective, first.change, first.n_selected) == (10, np.inf, 2)
    assert {step.stage for step in result.steps} == {4}
    assert [p.tolist() for p in points[:3]] == [[1, 7], [2, 5], [2.5, 4]]
    assert [step.change for step in result.steps[1:3]] == [2 / 5, 1 / 4]
    assert [step.objective for step in result.steps[:3]] == [10, 2.5, 0.625]
    seconds = [step.seconds for step in result.steps]
    assert seconds[0] >= 0 and (np.diff(seconds) > 0).all() and seconds[-1] < 5
    assert result.objective == result.steps[-1].objective == Gradient(3.0).value(x)
    types = {(type(s.objective), type(s.change), type(s.n_selected)) for s in result.steps}
    assert types == {(float, float, int)}
    assert (result.duality_gap, result.violation, result.counts) == (None, None, {})


def test_a_problem_gets_its_own_tangent_and_the_point():
    calls = []

    class Noted(Gradient):
        def tangent(self, x):
            calls.append(("tangent", x[0]))
            return super().tangent(x)

        def minimize(self, slope, x):
            calls.append(("minimize", slope[0], x[0]))
            return super().minimize(slope, x)

    with pytest.warns(ConvergenceWarning):
        majorize_minimize(
            Noted(0.0), np.array([4.0]), max_iter=2, callback=lambda step, x: calls.append(x[0])
        )
    first, second = [("tangent", 4), ("minimize", 4, 4)], [("tangent", 2), ("minimize", 2, 2)]
    assert calls == [4, *first, 2, *second, 1]


# when it stops


def test_tol_is_the_change_over_the_largest_variable():
    for tol in (0.3, 1e-2, 1e-4, 1e-8):
        _, result, _ = recorded(Gradient(1.0), np.array([9.0]), tol=tol)
        *before, last = [step.change for step in result.steps]
        assert last <= tol < min(before) and result.status == "converged"
    _, result, _ = recorded(Gradient(1.0), np.array([9.0]), tol=0, max_iter=200)
    assert result.steps[-1].change == 0 and result.status == "converged"


def test_variables_are_measured_against_the_largest():
    for unit in (1e-12, 1.0, 1e12):
        _, result, _ = recorded(Gradient(unit), np.array([9 * unit]), tol=1e-3)
        # the start, and 13 halvings: 8 / 2^13 of a unit is the first change below tol
        assert len(result.steps) == 14


@pytest.mark.parametrize("max_iter", [1, 3])
def test_too_few_steps_warn(max_iter):
    words = rf"not converged in {max_iter} steps: .* more than tol=1e-06; raise max_iter or tol"
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        x, result, points = recorded(Gradient(1.0), np.array([9.0]), max_iter=max_iter)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert result.status == "max_iter" and len(result.steps) == max_iter + 1
    assert np.array_equal(x, points[-1])
    assert f"{result.steps[-1].change:.1e}" in str(caught[0].message)
    check_descent(result)


def test_the_last_step_allowed_may_converge():
    _, needed, _ = recorded(Gradient(1.0), np.array([9.0]))
    steps = len(needed.steps) - 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, result, _ = recorded(Gradient(1.0), np.array([9.0]), max_iter=steps)
    assert result.status == "converged"
    with pytest.warns(ConvergenceWarning):
        recorded(Gradient(1.0), np.array([9.0]), max_iter=steps - 1)


def test_a_start_that_is_optimal_takes_one_step():
    x, result, points = recorded(Gradient(2.0), np.array([2.0, 2.0]))
    assert result.status == "converged" and len(points) == 2
    assert result.steps[1].change == 0 and x.tolist() == [2, 2] and result.objective == 0


@pytest.mark.parametrize("start", [0.0, 1.0])
def test_the_zero_vector(start):
    problem = Denoising(np.array([0.1, -0.2]), L1())
    x, result, _ = recorded(problem, np.full(2, start))
    assert x.tolist() == [0, 0] and result.status == "converged"
    assert result.steps[-1].n_selected == result.steps[-1].change == 0
    assert result.objective == pytest.approx(0.025)


def test_passing_through_zero_is_no_end():
    x, result, points = recorded(Gradient(1.0), np.array([-1.0]))
    assert points[1][0] == 0 and result.steps[1].change > 0.5
    assert x[0] == pytest.approx(1, abs=1e-5) and result.status == "converged"


# what is no majoriser rises


def test_a_surrogate_concave_in_the_square_rises_in_an_l1_step():
    caught = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            problem = Denoising(y, Power(1.0, 0.5), price=1.0)
            caught += majorize_minimize(problem, 0.2 * y)[1].status == "rose"
            # the surrogate without the smoothing is concave in |w| and never does
            assert majorize_minimize(Denoising(y, Power(1.0)), 0.2 * y)[1].status == "converged"
    assert caught > 20


SIZES_OF_OBJECTIVES = (1e-9, 1.0, -1.0, 1e9)
RISES = [
    ([3, 2, 1, 5, 0], 2),
    *(([v, v + 2 * ROSE * abs(v), v - abs(v)], 0) for v in SIZES_OF_OBJECTIVES),
    ([3, 0, 1e-12], 1),
    # many small rises do not add up
    ([1 + 0.4 * ROSE * k for k in range(50)], 0),
    ([2.25, 2, np.inf], 1),
    ([2.25, 2, np.nan], 1),
    ([np.inf, np.inf, 5, 7], 2),
]
NO_RISES = [
    *(([v, v + 0.5 * ROSE * abs(v), v - abs(v)], 2) for v in SIZES_OF_OBJECTIVES),
    # what rounding leaves of nothing
    ([3, 0, 1e-15], 1),
    ([1, 1 + 5e-8], 0),
    ([np.inf, 1], 1),
]


@pytest.mark.parametrize(("values", "best"), RISES)
def test_a_rise_is_told_and_the_better_point_is_kept(values, best):
    with pytest.warns(ConvergenceWarning, match="the objective rose from .* to .*") as caught:
        x, result = majorize_minimize(Scripted(values), np.zeros(1))
    assert result.status == "rose" and len(caught) == 1 and caught[0].filename == __file__
    assert "the better point is kept" in str(caught[0].message)
    assert x.tolist() == [best] and result.objective == values[best]
    assert [step.objective for step in result.steps] == values[: len(result.steps)]
    assert min(step.objective for step in result.steps) == values[best]


@pytest.mark.parametrize(("values", "best"), NO_RISES)
def test_rounding_is_no_rise(values, best):
    x, result = majorize_minimize(Scripted(values), np.zeros(1))
    assert result.status == "converged"
    assert x.tolist() == [best] and result.objective == values[best]


# stages


def test_stages_continue_from_one_to_the_next():
    seen = []
    y = np.array([2.0, 1, 0.4])
    problems = [Denoising(y, Exponential(alpha)) for alpha in (0.1, 1, 10)]
    x, result = stages(iter(problems), y, callback=lambda step, x: seen.append((step, x.copy())))
    numbers = [step.stage for step in result.steps]
    assert numbers == [step.stage for step, _ in seen]
    assert numbers == sorted(numbers) and set(numbers) == {0, 1, 2}
    assert (np.diff([step.seconds for step in result.steps]) > 0).all()
    assert result.status == "converged" and np.array_equal(x, seen[-1][1])
    start = y
    for stage, problem in enumerate(problems):
        own = [(step, point) for step, point in seen if step.stage == stage]
        assert np.array_equal(own[0][1], start)
        assert own[0][0].objective == problem.value(start)
        objectives = [step.objective for step, _ in own]
        check_descent(Result("converged", min(objectives), tuple(step for step, _ in own)))
        start = own[-1][1]
    assert result.objective == objectives[-1]


def test_options_reach_every_stage():
    with pytest.warns(ConvergenceWarning, match="not converged in 2 steps") as caught:
        _, result = stages([Gradient(1.0), Gradient(9.0)], np.array([5.0]), max_iter=2)
    assert len(caught) == 2 and [step.stage for step in result.steps] == [0] * 3 + [1] * 3
    assert result.status == "max_iter"


def test_a_rise_in_an_early_stage_is_not_forgotten():
    with pytest.warns(ConvergenceWarning, match="rose"):
        _, result = stages([Gradient(0.0, way=2.5), Gradient(1.0)], np.array([4.0]))
    assert result.status == "rose"


def test_no_stages_at_all():
    with pytest.raises(ValueError, match="problem"):
        stages([], np.zeros(2))


def test_limits_out_of_range():
    with pytest.raises(ValueError, match="tol=-1e-09; pass a number from 0"):
        majorize_minimize(Gradient(), np.ones(1), tol=-1e-9)
    with pytest.raises(ValueError, match="max_iter=0; pass a whole number from 1"):
        majorize_minimize(Gradient(), np.ones(1), max_iter=0)
