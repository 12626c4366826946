"""Surrogates: what they say of their value, slope and concavity is so, and lies are noticed."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.optimize import check_grad

from fsnotes import L1, MCP, SCAD, CappedL1, Exponential, Log, Power
from fsnotes.core.surrogates import Surrogate, check_surrogate

SIZES = np.append(0, np.geomspace(1e-4, 20, 200))


def logarithmic(least, most):
    return st.floats(np.log(least), np.log(most)).map(lambda u: float(np.exp(u)))


in_size = st.one_of(
    st.just(L1()),
    st.builds(Exponential, logarithmic(1e-3, 1e5)),
    st.builds(Log, logarithmic(1e-5, 1e5)),
    st.builds(Power, logarithmic(1e-2, 1)),
    st.builds(CappedL1, logarithmic(1e-3, 1e2)),
    st.builds(MCP, logarithmic(1e-3, 1e2)),
    st.builds(SCAD, logarithmic(1e-3, 10), logarithmic(0.05, 50).map(lambda excess: 1 + excess)),
)
in_square = st.one_of(
    st.builds(Power, st.floats(0.01, 2), logarithmic(1e-4, 10)),
    st.builds(Power, st.floats(1.01, 2)),
)
anyone = st.one_of(in_size, in_square)
sizes = st.one_of(st.just(0.0), logarithmic(1e-5, 50))
many = settings(max_examples=300, deadline=None, derandomize=True)


def corners(surrogate):
    """Sizes at which the slope or its derivative jumps."""
    if isinstance(surrogate, SCAD):
        return np.array([surrogate.b, surrogate.a * surrogate.b])
    return np.array([surrogate.a] if isinstance(surrogate, (CappedL1, MCP)) else [])


def smooth_sizes(surrogate):
    away = SIZES[1:]
    for corner in corners(surrogate):
        away = away[abs(away - corner) > 1e-3 * corner]
    return away


# values and slopes


@pytest.mark.parametrize(
    "surrogate, definition",
    [
        (L1(), lambda t: t),
        (Exponential(3), lambda t: 1 - np.exp(-3 * t)),
        (Log(0.2), lambda t: np.log((t + 0.2) / 0.2)),
        (Power(0.3), lambda t: t**0.3),
        (Power(1.4), lambda t: t**1.4),
        (Power(0.7, 0.4), lambda t: (t**2 + 0.16) ** 0.35 - 0.4**0.7),
        (Power(2, 5), lambda t: t**2),
        (CappedL1(0.4), lambda t: np.where(t < 0.4, t / 0.4, 1)),
        (MCP(1.5), lambda t: np.where(t < 1.5, t - t**2 / 3, 0.75)),
        (
            SCAD(0.4, 3),
            lambda t: np.select(
                [t <= 0.4, t <= 1.2], [t, (2.4 * t - t**2 - 0.16) / 1.6], default=0.8
            ),
        ),
    ],
    ids=lambda part: None if callable(part) else repr(part),
)
def test_value_is_the_formula(surrogate, definition):
    assert np.allclose(surrogate.value(SIZES), definition(SIZES), rtol=1e-12, atol=1e-14)
    assert surrogate.value(np.zeros(3)).tolist() == [0, 0, 0]


@given(anyone)
@many
def test_slope_is_the_derivative_by_the_size(surrogate):
    for t in smooth_sizes(surrogate)[::7]:
        # in units of the size, so that the step of the difference fits
        off = check_grad(
            lambda u: surrogate.value(t * u)[0],  # noqa: B023
            lambda u: t * surrogate.slope(t * u),  # noqa: B023
            [1.0],
        )
        assert off <= 1e-6 * max(surrogate.value(t), t * surrogate.slope(t))


@given(anyone)
@many
def test_slope_of_square_is_the_derivative_by_the_square(surrogate):
    for t in smooth_sizes(surrogate)[::7]:
        off = check_grad(
            lambda u: surrogate.value(t * np.sqrt(u))[0],  # noqa: B023
            lambda u: t**2 * surrogate.slope_of_square(t * np.sqrt(u)),  # noqa: B023
            [1.0],
        )
        assert off <= 1e-6 * max(surrogate.value(t), t * surrogate.slope(t))


@given(anyone, logarithmic(1e-4, 50))
@many
def test_the_two_slopes_differ_by_twice_the_size(surrogate, t):
    slope, of_square = surrogate.slope(t), surrogate.slope_of_square(t)
    assert np.isclose(slope, 2 * t * of_square, rtol=1e-12, atol=0)


@given(anyone, logarithmic(0.1, 30))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_slope_adds_up_to_the_value(surrogate, t):
    """The slope's integral, started where it is finite, with every corner named."""
    start = 1e-3 * t
    marks = [c for c in corners(surrogate) if start < c < t]
    grid = np.unique(np.concatenate([np.geomspace(start, t, 25), marks]))
    total = sum(
        integrate.quad(lambda s: float(surrogate.slope(s)), *ends)[0]
        for ends in zip(grid[:-1], grid[1:], strict=True)
    )
    assert np.isclose(total, surrogate.value(t) - surrogate.value(start), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "surrogate, at_zero",
    [
        (L1(), 1),
        (Exponential(7), 7),
        (Log(0.2), 5),
        (Power(0.5), np.inf),
        (Power(1), 1),
        (Power(1.5), 0),
        (Power(0.5, 0.1), 0),
        (CappedL1(0.25), 4),
        (MCP(3), 1),
        (SCAD(0.3), 1),
    ],
    ids=repr,
)
def test_slope_at_zero_is_that_from_the_right(surrogate, at_zero):
    assert surrogate.slope_at_zero == pytest.approx(at_zero)
    assert isinstance(surrogate.slope_at_zero, float)
    if np.isfinite(at_zero):
        assert surrogate.value(1e-9) / 1e-9 == pytest.approx(at_zero, rel=1e-6, abs=1e-4)
    else:
        assert surrogate.value(1e-9) / 1e-9 > 1e4


def test_slope_of_square_at_zero_is_infinite_unless_the_square_is_smooth():
    for surrogate in (
        L1(),
        Exponential(),
        Log(),
        Power(0.5),
        Power(1.5),
        CappedL1(),
        MCP(),
        SCAD(),
    ):
        assert surrogate.slope_of_square(np.zeros(2)).tolist() == [np.inf, np.inf]
    assert Power(2).slope_of_square(0.0) == 1
    assert Power(1, 0.25).slope_of_square(0.0) == pytest.approx(1 / (2 * 0.25))
    assert Power(0.5, 0.01).slope_of_square(0.0) == pytest.approx(0.25 * 0.01**-1.5)


def test_at_a_corner_the_slope_is_that_from_the_right():
    assert CappedL1(0.5).slope([0.5 - 1e-9, 0.5, 0.5 + 1e-9]).tolist() == [2, 0, 0]
    assert MCP(2).slope([1, 2, 3]).tolist() == [0.5, 0, 0]
    assert SCAD(1, 3).slope([0.5, 1, 2, 3, 4]).tolist() == [1, 1, 0.5, 0, 0]


def test_a_smoothed_power_is_accurate_far_below_its_floor():
    for p, eps in [(0.5, 1.0), (0.1, 3.0), (1.5, 2.0), (1.0, 0.01)]:
        t = eps * np.array([1e-8, 1e-6, 1e-4])
        series = eps**p * p / 2 * (t / eps) ** 2 * (1 + (p - 2) / 4 * (t / eps) ** 2)
        assert np.allclose(Power(p, eps).value(t), series, rtol=1e-9, atol=0)


@given(anyone)
@many
def test_functions_are_elementwise_and_leave_the_sizes_alone(surrogate):
    table = SIZES[:12].reshape(3, 4).copy()
    kept = table.copy()
    for function in (surrogate.value, surrogate.slope, surrogate.slope_of_square):
        found = function(table)
        assert found.shape == (3, 4) and found.dtype == float
        assert np.array_equal(table, kept)
        one_by_one = [float(function(np.array([t]))[0]) for t in table.ravel()]
        assert np.allclose(found.ravel(), one_by_one, rtol=1e-14)
        assert np.array_equal(function(np.array([0, 1, 2])), function([0.0, 1.0, 2.0]))


@given(anyone)
@many
def test_a_surrogate_is_plain_data(surrogate):
    assert pickle.loads(pickle.dumps(surrogate)) == surrogate
    assert eval(repr(surrogate)) == surrogate and hash(surrogate) == hash(eval(repr(surrogate)))
    with pytest.raises(AttributeError):
        surrogate.p = 1


# concavity: the tangent lies above and touches


def bends_upwards(surrogate, variable):
    """Largest excess of a chord over the function between its ends, over the chord's size."""
    points = np.linspace(0, 3, 301) if variable == "|w|" else np.sqrt(np.linspace(0, 9, 301))
    values = surrogate.value(points)
    excess = (values[:-2] + values[2:]) / 2 - values[1:-1]
    return (excess / values[2:]).max()


@given(anyone)
@many
def test_concave_in_the_variable_it_names(surrogate):
    assert bends_upwards(surrogate, surrogate.concave_in) <= 1e-12
    if surrogate.concave_in == "|w|":
        assert bends_upwards(surrogate, "w**2") <= 1e-12


@given(st.one_of(st.builds(Power, st.floats(0.05, 2), logarithmic(0.05, 1)), in_square))
@many
def test_what_is_concave_in_the_square_alone_is_not_concave_in_the_size(surrogate):
    assert surrogate.concave_in == "w**2"
    # near 0 it is a parabola
    t = 1e-2 * (surrogate.eps or 1.0)
    middle, end = surrogate.value(np.array([t, 2 * t]))
    assert end / 2 > 1.0001 * middle


def test_the_variable_follows_from_the_parameters():
    for surrogate in (L1(), Exponential(), Log(), CappedL1(), MCP(), SCAD(), Power(), Power(1)):
        assert surrogate.concave_in == "|w|"
    for surrogate in (Power(1.01), Power(2), Power(0.5, 1e-6), Power(1, 0.1)):
        assert surrogate.concave_in == "w**2"


def tangents(surrogate, at, to):
    """By the size and by the square; the first only where it is promised to lie above."""
    value = surrogate.value(at)
    with np.errstate(invalid="ignore"):
        if surrogate.concave_in == "|w|":
            yield value + surrogate.slope(at) * (to - at), surrogate.slope(at)
        of_square = surrogate.slope_of_square(at)
        yield value + of_square * (to**2 - at**2), of_square


@given(anyone, sizes, sizes)
@settings(max_examples=1000, deadline=None, derandomize=True)
def test_tangents_touch_and_lie_above(surrogate, at, to):
    for above, slope in tangents(surrogate, at, to):
        if np.isfinite(slope):
            close = 1e-13 * (surrogate.value(at) + abs(above) + slope * (at + at**2))
            assert surrogate.value(to) <= above + close + 1e-15
    for touching, slope in tangents(surrogate, at, at):
        if np.isfinite(slope):
            assert touching == surrogate.value(at)


@given(anyone, sizes, sizes)
@many
def test_a_surrogate_never_falls(surrogate, one, other):
    low, high = sorted([one, other])
    assert 0 <= surrogate.value(low) <= surrogate.value(high) * (1 + 1e-15)
    assert surrogate.slope(high) >= 0


@given(in_size, sizes, sizes)
@many
def test_of_two_tangents_at_zero_and_here_the_nearer_is_lower(surrogate, at, to):
    """The slope falls with the size, so that the DC step's majoriser lies above the other."""
    low, high = sorted([at, to])
    assert surrogate.slope(high) <= surrogate.slope(low) * (1 + 1e-15)
    assert surrogate.slope(high) <= surrogate.slope_at_zero


# limits


def near(one, other, rel=1e-5):
    return np.allclose(one, other, rtol=rel, atol=1e-12)


def test_gentle_parameters_give_the_l1_norm():
    t = SIZES
    assert near(Exponential(1e-7).value(t) / 1e-7, t)
    assert near(1e7 * Log(1e7).value(t), t)
    assert near(Power(1, 0).value(t), t) and near(Power(1, 0).slope(t), 1)
    assert near(100 * CappedL1(100).value(t), t)
    assert near(MCP(1e7).value(t), t)
    assert near(SCAD(100, 3.7).value(t), t) and near(SCAD(1e-3, 1e10).value(t), t)
    assert near(Power(1, 1e-9).value(t), np.maximum(t - 1e-9, 0), rel=1e-4)
    for one in (L1(), Power(1), SCAD(100), MCP(1e9), Exponential(1e-9), Log(1e9)):
        assert near(one.slope(t) / one.slope_at_zero, L1().slope(t))


def test_harsh_parameters_count():
    t = SIZES
    count = 1.0 * (t > 0)
    assert near(Exponential(1e6).value(t), count)
    assert near(CappedL1(1e-5).value(t), count)
    assert near(2 / 1e-5 * MCP(1e-5).value(t), count)
    assert near(2 / (1e-5 * 4.7) * SCAD(1e-5, 3.7).value(t), count)
    assert near(Power(1e-7).value(t), count)
    # slowly: the logarithm grows beyond every bound
    eps = 1e-200
    assert near(Log(eps).value(t) / np.log1p(1 / eps), count, rel=0.03)


def test_members_of_one_family_meet():
    t = SIZES
    assert near(SCAD(0.5, 1 + 1e-9).value(t), 0.5 * CappedL1(0.5).value(t))
    # without its straight part the clipped deviation is the minimax concave penalty
    assert near(SCAD(1e-9, 1 + 1e9).value(t), MCP(1).value(t))
    assert near(Power(0.5, 1e-12).value(t), np.maximum(Power(0.5).value(t) - 1e-6, 0))
    assert near(Power(2, 3).value(t), t**2) and near(Power(2).value(t), t**2)


# check_surrogate


@given(anyone)
@many
def test_check_surrogate_accepts_ours(surrogate):
    check_surrogate(surrogate)


GRID = np.append(0, np.geomspace(1e-6, 1, 399)) * 10


@pytest.mark.parametrize("place", [1, 100, 250, 300, 397, 398, 399])
def test_check_surrogate_accepts_a_corner_on_its_grid(place):
    for nudge in (-1e-5, 0, 1e-5, 1e-4):
        corner = GRID[place] * (1 + nudge)
        for surrogate in (
            CappedL1(corner),
            MCP(corner),
            SCAD(corner),
            SCAD(corner / 2, 2),
            SCAD(corner, 1 + 1e-6),
        ):
            check_surrogate(surrogate)


def test_check_surrogate_accepts_ours_on_other_grids():
    for surrogate in (
        L1(),
        Exponential(),
        Log(),
        Power(),
        Power(1, 0.1),
        CappedL1(),
        MCP(),
        SCAD(),
    ):
        check_surrogate(surrogate, largest=1)
        check_surrogate(surrogate, largest=1e4, n_points=50)
        check_surrogate(surrogate, n_points=8)


def liar(base, **lies):
    """An instance of a surrogate with some methods replaced by functions of the sizes."""
    methods = {
        name: lie if isinstance(lie, str) else (lambda self, t, lie=lie: lie(np.asarray(t, float)))
        for name, lie in lies.items()
    }
    return type("Liar", (type(base),), methods)(**vars(base))


CONVEX = "not concave in |w|"
WRONG = {
    "not zero at zero": (liar(L1(), value=lambda t: t + 0.1), r"value\(0\) is 0.1; it has to be 0"),
    "a power without its constant": (
        liar(Power(1, 0.1), value=lambda t: np.hypot(t, 0.1)),
        r"value\(0\) is 0.1; it has to be 0",
    ),
    "falling": (
        liar(L1(), value=lambda t: -t, slope=lambda t: np.full(t.shape, -1.0)),
        "falls after 0; it must never fall",
    ),
    "falling far out": (
        liar(L1(), value=lambda t: t * (4 - t), slope=lambda t: 4 - 2 * t),
        r"falls after (1\.9|2)[\d.]*; it must never fall",
    ),
    "twice the slope": (
        liar(Exponential(2), slope=lambda t: 4 * np.exp(-2 * t)),
        "slope",
    ),
    "half the slope": (
        liar(Log(0.5), slope=lambda t: 0.5 / (0.5 + t)),
        "slope",
    ),
    "two percent off from 1 on": (
        liar(Log(0.5), slope=lambda t: np.where(t < 1, 1, 1.02) / (0.5 + t)),
        "slope",
    ),
    "a slope by the square": (
        liar(L1(), slope=lambda t: 1 / (2 * np.maximum(t, 1e-9))),
        "slope",
    ),
    "a square": (liar(L1(), value=lambda t: t**2, slope=lambda t: 2 * t), CONVEX),
    "a convex corner": (
        liar(L1(), value=lambda t: np.maximum(t, 2 * t - 1), slope=lambda t: 1.0 + (t >= 1)),
        CONVEX,
    ),
    "a dead zone": (
        liar(L1(), value=lambda t: np.maximum(t - 0.1, 0), slope=lambda t: 1.0 * (t >= 0.1)),
        CONVEX,
    ),
    "a power in the wrong variable": (liar(Power(0.5, 0.1), concave_in="|w|"), CONVEX),
    "a steep power in the wrong variable": (liar(Power(1.2), concave_in="|w|"), CONVEX),
    "convex in the square too": (
        liar(
            Power(1.5),
            value=lambda t: t**3,
            slope=lambda t: 3 * t**2,
            slope_of_square=lambda t: 1.5 * t,
        ),
        r"not concave in w\*\*2",
    ),
    "an unknown variable": (liar(L1(), concave_in="w"), r"concave_in is 'w'; \"\|w\|\" or"),
    "a cap whose slope goes on": (
        liar(CappedL1(0.5), slope=lambda t: np.full(t.shape, 2.0)),
        "slope",
    ),
    "a cap whose slope ends early": (
        liar(CappedL1(0.5), slope=lambda t: 2.0 * (t < 0.25)),
        "slope",
    ),
    "a step instead of a cap": (
        liar(CappedL1(0.5), value=lambda t: 1.0 * (t >= 0.5), slope=lambda t: 0 * t),
        CONVEX,
    ),
    "too flat at 0": (
        liar(L1(), slope=lambda t: np.where(t == 0, 0.5, 1)),
        r"slope\(0\)|not concave|tangent at 0",
    ),
    "too steep at 0": (liar(L1(), slope=lambda t: np.where(t == 0, 2.0, 1)), "slope"),
    "not a number": (liar(L1(), value=lambda t: np.full(t.shape, np.nan)), "value"),
    "a slope that is no number": (liar(L1(), slope=lambda t: np.full(t.shape, np.nan)), "slope"),
    "an infinite slope": (liar(L1(), slope=lambda t: np.full(t.shape, np.inf)), "slope"),
    "a wrong slope of the square": (
        liar(L1(), slope_of_square=lambda t: np.full(t.shape, 7.0)),
        "slope_of_square",
    ),
    "a power with twice its slope of the square": (
        liar(Power(0.5, 0.1), slope_of_square=lambda t: 0.5 * np.hypot(t, 0.1) ** -1.5),
        "slope",
    ),
}


@pytest.mark.parametrize("which", WRONG)
def test_check_surrogate_refuses(which):
    surrogate, words = WRONG[which]
    with pytest.raises(ValueError, match=words):
        check_surrogate(surrogate)


def test_check_surrogate_names_the_class_and_the_sizes():
    with pytest.raises(
        ValueError, match=r"^Liar is not concave in \|w\|.* its tangent at [\d.e-]+ "
    ):
        check_surrogate(WRONG["a square"][0])


def test_check_surrogate_refuses_what_is_no_surrogate():
    with pytest.raises((TypeError, ValueError), match="int has no value; derive it from Surrogate"):
        check_surrogate(5)


def test_a_surrogate_of_ones_own_needs_value_and_slope_alone():
    class Ratio(Surrogate):
        def value(self, sizes):
            return sizes / (1 + sizes)

        def slope(self, sizes):
            return 1 / (1 + sizes) ** 2

    check_surrogate(Ratio())


def test_the_base_class_is_no_surrogate():
    for function in (Surrogate().value, Surrogate().slope):
        with pytest.raises(NotImplementedError):
            function(np.ones(2))


# parameters


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda bad: Exponential(bad), "alpha=.*pass a number from 0, 0 excluded"),
        (lambda bad: Log(bad), "eps=.*pass a number from 0, 0 excluded"),
        (lambda bad: Power(bad), "p=.*pass a number from 0 to 2, 0 excluded"),
        (lambda bad: CappedL1(bad), "a=.*pass a number from 0, 0 excluded"),
        (lambda bad: MCP(bad), "a=.*pass a number from 0, 0 excluded"),
        (lambda bad: SCAD(bad), "b=.*pass a number from 0, 0 excluded"),
        (lambda bad: SCAD(0.3, bad), "a=.*pass a number from 1, 1 excluded"),
    ],
)
def test_parameters_out_of_range(make, words):
    for bad in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match=words):
            make(bad)
    for bad in ("1", None, True):
        with pytest.raises(TypeError, match=words.split(",")[0]):
            make(bad)


def test_parameters_at_the_ends():
    for bad, words in [(2.01, "p=2.01; pass a number from 0 to 2"), (3, "p=3")]:
        with pytest.raises(ValueError, match=words):
            Power(bad)
    with pytest.raises(ValueError, match="a=1; pass a number from 1, 1 excluded"):
        SCAD(0.3, 1)
    with pytest.raises(ValueError, match="eps=-0.1; pass a number from 0"):
        Power(0.5, -0.1)
    assert Power(2).p == 2 and Power(0.5, 0).eps == 0


def test_a_surrogate_works_on_each_element():
    class Scalar(L1):
        def value(self, sizes):
            return 1.0

    with pytest.raises(
        ValueError, match=r"Scalar.value returns shape \(\) for \(\d+,\); it has to"
    ):
        check_surrogate(Scalar())
