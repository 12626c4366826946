"""Surrogates: what they say of their value, slope and concavity is so, and lies are noticed."""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from fsnotes import L1, MCP, SCAD, CappedL1, Exponential, Log, Power
from fsnotes.core.surrogates import Surrogate, check_surrogate

SIZES = np.append(0, np.geomspace(1e-4, 20, 200))
# it is smooth at 0, and so concave in the square of the size alone
RIDGE = Power(0.5, 0.1)
IN_SIZE = [L1(), Exponential(), Log(), Power(), CappedL1(), MCP(), SCAD()]


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


def smooth_sizes(surrogate):
    """Sizes away from those at which the slope or its derivative jumps."""
    corners = [surrogate.a] if isinstance(surrogate, (CappedL1, MCP)) else []
    if isinstance(surrogate, SCAD):
        corners = [surrogate.b, surrogate.a * surrogate.b]
    away = SIZES[1:]
    for corner in corners:
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
            lambda t: np.where(t <= 0.4, t, np.where(t > 1.2, 0.8, (2.4 * t - t**2 - 0.16) / 1.6)),
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


@given(anyone, logarithmic(1e-4, 50))
@many
def test_the_two_slopes_differ_by_twice_the_size(surrogate, t):
    slope, of_square = surrogate.slope(t), surrogate.slope_of_square(t)
    assert np.isclose(slope, 2 * t * of_square, rtol=1e-12, atol=0)


def test_slope_at_zero_is_that_from_the_right():
    finite = {L1(): 1, Exponential(7): 7, Log(0.2): 5, CappedL1(0.25): 4, MCP(3): 1, SCAD(0.3): 1}
    for surrogate, at_zero in {**finite, Power(1): 1, Power(1.5): 0, RIDGE: 0}.items():
        assert surrogate.slope_at_zero == pytest.approx(at_zero)
        assert surrogate.value(1e-9) / 1e-9 == pytest.approx(at_zero, rel=1e-6, abs=1e-4)
    assert Power(0.5).slope_at_zero == np.inf and isinstance(L1().slope_at_zero, float)


def test_slope_of_square_at_zero_is_infinite_unless_the_square_is_smooth():
    for surrogate in (*IN_SIZE, Power(1.5)):
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
        # where (t / eps)^2 is 1e-16, the difference of the two powers has no digit left
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


@given(st.one_of(st.builds(Power, st.floats(0.05, 2), logarithmic(0.05, 1)), in_square))
@many
def test_what_is_concave_in_the_square_alone_is_not_concave_in_the_size(surrogate):
    assert surrogate.concave_in == "w**2"
    # near 0 it is a parabola
    t = 1e-2 * (surrogate.eps or 1.0)
    middle, end = surrogate.value(np.array([t, 2 * t]))
    assert end / 2 > 1.0001 * middle


def test_the_variable_follows_from_the_parameters():
    for surrogate in (*IN_SIZE, Power(1)):
        assert surrogate.concave_in == "|w|"
    for surrogate in (Power(1.01), Power(2), Power(0.5, 1e-6), Power(1, 0.1)):
        assert surrogate.concave_in == "w**2"


def tangents(surrogate, at, to):
    """By the size and by the square; the first only where it is promised to lie above."""
    value = surrogate.value(at)
    # an infinite slope times no distance is no number, and those who call skip such tangents
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


# limits


@pytest.mark.parametrize("surrogate", [Exponential(1e-7), Log(1e7), Power(1), CappedL1(100)])
def test_gentle_parameters_give_the_l1_norm(surrogate):
    found = surrogate.value(SIZES) / surrogate.slope_at_zero
    assert np.allclose(found, SIZES, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize(
    # beyond its corners MCP is a / 2, and SCAD is b (a + 1) / 2
    ("surrogate", "most"),
    [(Exponential(1e6), 1), (CappedL1(1e-5), 1), (MCP(1e-5), 5e-6), (SCAD(1e-5, 3), 2e-5)],
)
def test_harsh_parameters_count(surrogate, most):
    assert np.allclose(surrogate.value(SIZES) / most, SIZES > 0, rtol=1e-5, atol=1e-12)


# check_surrogate


@given(anyone)
@many
def test_check_surrogate_accepts_ours(surrogate):
    check_surrogate(surrogate)


GRID = np.append(0, np.geomspace(1e-5, 10, 200))


@pytest.mark.parametrize("place", [1, 100, 150, 175, 198, 199, 200])
def test_check_surrogate_accepts_a_corner_on_its_grid(place):
    for nudge in (-1e-5, 0, 1e-5, 1e-4):
        corner = GRID[place] * (1 + nudge)
        for surrogate in (CappedL1(corner), MCP(corner), SCAD(corner), SCAD(corner, 1 + 1e-6)):
            check_surrogate(surrogate)


def liar(base, **lies):
    """An instance of a surrogate with some methods replaced by functions of the sizes."""
    methods = {
        name: lie if isinstance(lie, str) else (lambda self, t, lie=lie: lie(np.asarray(t, float)))
        for name, lie in lies.items()
    }
    return type("Liar", (type(base),), methods)(**vars(base))


UNLIKE = "Liar.slope is not the derivative of its value, or Liar is not concave in .*: the tangent"
NOT_POSITIVE = "it has to be finite and not negative"
LIES = {
    r"value\(0\) is 0.1; it has to be 0": {
        "not zero at zero": liar(L1(), value=lambda t: t + 0.1),
        "a power without its constant": liar(Power(1, 0.1), value=lambda t: np.hypot(t, 0.1)),
    },
    NOT_POSITIVE: {
        "falling": liar(L1(), value=lambda t: -t),
        "falling far out": liar(L1(), value=lambda t: t * (4 - t), slope=lambda t: 4 - 2 * t),
        "falling to 1": liar(
            L1(), value=lambda t: np.minimum(t, 11 - t), slope=lambda t: 1 - 2.0 * (t > 5.5)
        ),
        "not a number": liar(L1(), value=lambda t: np.nan * t),
        "a slope that is no number": liar(L1(), slope=lambda t: np.nan * t),
        "an infinite slope": liar(L1(), slope=lambda t: np.full(t.shape, np.inf)),
    },
    UNLIKE: {
        "twice the slope": liar(Exponential(2), slope=lambda t: 4 * np.exp(-2 * t)),
        "half the slope": liar(Log(0.5), slope=lambda t: 0.5 / (0.5 + t)),
        "a thousandth more from 1 on": liar(
            Log(0.5), slope=lambda t: np.where(t < 1, 1, 1.001) / (0.5 + t)
        ),
        "a square": liar(L1(), value=lambda t: t**2, slope=lambda t: 2 * t),
        "a convex corner": liar(
            L1(), value=lambda t: np.maximum(t, 2 * t - 1), slope=lambda t: 1.0 + (t >= 1)
        ),
        "a dead zone": liar(
            L1(), value=lambda t: np.maximum(t - 0.1, 0), slope=lambda t: 1.0 * (t >= 0.1)
        ),
        "a power in the wrong variable": liar(RIDGE, concave_in="|w|"),
        "a steep power in the wrong variable": liar(Power(1.2), concave_in="|w|"),
        "convex in the square too": liar(
            Power(1.5),
            value=lambda t: t**3,
            slope=lambda t: 3 * t**2,
            slope_of_square=lambda t: 1.5 * t,
        ),
        "a cap whose slope goes on": liar(CappedL1(0.5), slope=lambda t: np.full(t.shape, 2.0)),
        "a cap whose slope ends early": liar(CappedL1(0.5), slope=lambda t: 2.0 * (t < 0.25)),
        "a step": liar(CappedL1(0.5), value=lambda t: 1.0 * (t >= 0.5), slope=lambda t: 0 * t),
        "too flat at 0": liar(L1(), slope=lambda t: np.where(t == 0, 0.5, 1)),
        "twice the slope of the square": liar(
            RIDGE,
            slope=lambda t: 2 * RIDGE.slope(t),
            slope_of_square=lambda t: 2 * RIDGE.slope_of_square(t),
        ),
    },
    r"slope\(0\) is 2, but 1 just above 0": {
        "too steep at 0": liar(L1(), slope=lambda t: np.where(t == 0, 2.0, 1)),
    },
    r"concave_in is 'w'; \"\|w\|\" or": {"an unknown variable": liar(L1(), concave_in="w")},
    r"slope_of_square\(.*\) is not slope / \(2 size\)": {
        "a slope of another square": liar(L1(), slope_of_square=lambda t: np.full(t.shape, 7.0)),
    },
    r"Liar.value returns shape \(\) for \(\d+,\); it has to": {
        "a sum": liar(L1(), value=lambda t: t.sum()),
    },
    "int has no value; derive it from Surrogate": {"a number": 5},
}


@pytest.mark.parametrize(("words", "lie"), [(w, lie) for w, lies in LIES.items() for lie in lies])
def test_check_surrogate_refuses(words, lie):
    with pytest.raises(ValueError, match=words):
        check_surrogate(LIES[words][lie])


def test_a_surrogate_of_ones_own_needs_value_and_slope_alone():
    class Ratio(Surrogate):
        def value(self, sizes):
            return sizes / (1 + sizes)

        def slope(self, sizes):
            return 1 / (1 + sizes) ** 2

    check_surrogate(Ratio())


# parameters


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Exponential, "alpha=.*pass a number from 0 to .*, 0 excluded"),
        (Log, "eps=.*pass a number from 0 to .*, 0 excluded"),
        (Power, "p=.*pass a number from 0 to 2, 0 excluded"),
        (CappedL1, "a=.*pass a number from 0 to .*, 0 excluded"),
        (MCP, "a=.*pass a number from 0 to .*, 0 excluded"),
        (SCAD, "b=.*pass a number from 0 to .*, 0 excluded"),
        (partial(SCAD, 0.3), "a=.*pass a number from 1 to .*, 1 excluded"),
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
    with pytest.raises(ValueError, match="p=2.01; pass a number from 0 to 2"):
        Power(2.01)
    with pytest.raises(ValueError, match="a=1; pass a number from 1 to .*, 1 excluded"):
        SCAD(0.3, 1)
    with pytest.raises(ValueError, match="eps=-0.1; pass a number from 0"):
        Power(0.5, -0.1)
    assert Power(2).p == 2 and Power(0.5, 0).eps == 0
