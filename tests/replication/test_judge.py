"""Verdicts by rule: on printed values, on differences between methods, on claims."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.model_selection import RepeatedStratifiedKFold
from tiny import AROUND_80, L1MPM, MPM, entry, of_pima, quietly

from fsnotes.metrics import Estimate, compare_paired
from fsnotes.replication import ExperimentError, Method, Protocol, Results, compare, holm, verdict
from fsnotes.replication.rules import is_above, is_no_less, is_positive, signs_of, together


@pytest.mark.parametrize(
    ("text", "word"),
    [
        *((text, "agrees") for text in ("80.1", "82.0", "82", "78")),  # 82 is from 81.5
        *((text, "differs") for text in ("82.05", "82.1", "82.04", "82.005", "82.004")),
        *((text, "differs") for text in ("83", "77", "77.9")),
    ],
)
def test_a_printed_value_agrees_up_to_its_rounding(text, word):
    assert verdict(entry(text), AROUND_80).word == word


def test_a_lost_digit_is_a_matter_of_percentages():
    estimate = Estimate(17.0, 0.5, 16.0, 18.0)
    assert verdict(entry("7.1", "n_selected"), estimate).word == "differs"
    found = verdict(entry("7.1"), estimate)
    assert found.word == "misprint" and "17.1" in found.reason
    assert verdict(entry("70.1"), estimate).word == "differs"
    reason = "a digit may be missing: 78.1 or 79.1 would agree"
    assert verdict(entry("7.1"), AROUND_80) == ("misprint", reason)
    assert verdict(entry("7.1"), Estimate(75.0, 0.1, 74.5, 75.0)).word == "differs"


def test_a_value_against_another_of_the_same_quantity():
    def of(text, other):
        return verdict(entry(text), AROUND_80, rivals=[("Table 3", entry(other))])

    assert of("5.7", "80.6").word == "misprint" and "Table 3 prints 80.6" in of("5.7", "80.6")[1]
    assert of("80.6", "5.7").word == "agrees"
    assert of("60.1", "80.0").word == "misprint" and of("80.0", "60.1").word == "agrees"
    # nobody can say which of two is right
    assert of("80.0", "80.1").word == of("80.1", "80.0").word == "misprint"
    assert "one of them is wrong" in of("80.0", "80.1").reason
    assert of("90.0", "90.1").word == of("90.1", "90.0").word == "differs"
    # a number can round to both
    assert of("80", "80.4").word == "agrees" and of("80.0", "80.0").word == "agrees"


def test_what_needs_no_result_is_said_first():
    above = entry("80.0", proof=lambda value: "above 79" if value > 79 else None)
    below = entry("78.0", proof=above.proof)
    assert verdict(above, None, state="not run") == ("impossible", "above 79")
    assert verdict(below, AROUND_80).word == "agrees"
    unknown = entry("80.0", incomparable="no split is given")
    assert verdict(unknown, AROUND_80) == ("not comparable", "no split is given")
    assert verdict(entry("80.0"), None).word == "not run"
    assert verdict(entry("80.0"), AROUND_80, state="stale").word == "stale"


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """One small table by 21 seeds."""
    folder = tmp_path_factory.mktemp("seeds")
    found = []
    methods = {"mpm": Method(MPM), "l1": Method(L1MPM, {"retain": 0.8})}
    for seed in range(21):
        chapter = of_pima(methods, protocol=Protocol(repeats=2, folds=10, seed=seed))
        quietly(chapter, folder=folder / str(seed))
        found.append(Results(chapter, folder / str(seed)))
    return found


@pytest.mark.parametrize("measure", ["accuracy", "mcc", "n_selected"])
@pytest.mark.parametrize("method", ["mpm", "l1"])
def test_our_own_tables_agree_with_fresh_seeds(seeds, method, measure):
    found = [results.cell("pima", method).estimate(measure) for results in seeds]
    texts = [f"{estimate.value:.3f}" for estimate in found[1:]]
    words = [verdict(entry(text, measure), found[0]).word for text in texts]
    assert words.count("agrees") >= 19
    if not (method == "mpm" and measure == "n_selected"):
        assert len(set(texts)) >= 5


def test_a_planted_value_differs(seeds):
    accuracy = seeds[0].cell("pima", "mpm").estimate("accuracy")
    for wrong in (5, -5):
        assert verdict(entry(f"{accuracy.value + wrong:.1f}"), accuracy).word == "differs"
    count = seeds[0].cell("pima", "l1").estimate("n_selected")
    assert verdict(entry(f"{count.value + 1:.2f}", "n_selected"), count).word == "differs"


@given(st.lists(st.sampled_from([0.001, 0.01, 0.0125, 0.02, 0.03, 0.04, 0.05, 0.5]), min_size=1))
@settings(deadline=None)
def test_holm_rejects_what_its_steps_reject(p_values):
    level, rejected, remaining = 0.05, set(), sorted(range(len(p_values)), key=p_values.__getitem__)
    while remaining and p_values[remaining[0]] * len(remaining) <= level:
        rejected.add(remaining.pop(0))
    adjusted = holm(p_values)
    assert set(np.flatnonzero(adjusted <= level)) == rejected
    assert (adjusted >= p_values).all() and (adjusted <= 1).all()


def test_holm_refuses_what_is_no_p_value():
    for wrong in ([1.1], [np.nan], [[0.5]], [0.1, [1, 2]], "0.5", 10**400, [0.1, True, b"1"]):
        with pytest.raises((TypeError, ValueError), match="^p_values"):
            holm(wrong)


def simulated(seed, gains):
    """Accuracies of methods that see features of their own, equally informative but for `gains`.

    Each takes the nearer class mean; all folds of 3 times 10-fold cross-validation of 60 rows.
    """
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 30)
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=3, random_state=seed).split(y, y)
    inside = np.array([np.isin(np.arange(60), test) for _, test in folds])
    scores = {}
    for name, gain in gains.items():
        X = rng.normal(size=(60, 4)) + y[:, None] * (0.5 + gain)
        means = [(~inside * (y == c)) @ X / 27 for c in (0, 1)]
        mean_diff = means[1] - means[0]
        decisions = mean_diff @ X.T - (mean_diff * (means[0] + means[1]) / 2).sum(axis=1)[:, None]
        scores[name] = (((decisions > 0) == y) * inside).sum(axis=1) / 6
    return scores


def family_errors(test_fraction):
    """In how many of 200 simulations some of four equal methods are called different."""
    gains = dict.fromkeys("abcd", 0.0)
    found = (compare(simulated(seed, gains), test_fraction=test_fraction) for seed in range(200))
    return sum(any(pair.is_different for pair in pairs) for pairs in found)


def test_equal_methods_are_seldom_called_different():
    most = stats.binom.ppf(0.95, 200, 0.05)
    assert family_errors(0.1) <= most
    # without the correction for overlap the same scores raise many more alarms
    assert family_errors(1e-12) > most


def test_unequal_methods_are_called_different():
    gains = {"a": 0.0, "b": 1.5}
    found = [compare(simulated(seed, gains), test_fraction=0.1)[0] for seed in range(20)]
    assert sum(pair.is_different for pair in found) >= 18
    assert all(pair.comparison.value < 0 for pair in found)


def test_comparing_a_method_with_itself():
    scores = [0.8, 0.9, 0.7]
    [pair] = compare({"a": scores, "b": scores}, test_fraction=0.1)
    assert pair.p_adjusted == 1 and not pair.is_different
    three = {"a": scores, "b": scores, "c": scores}
    assert len(compare(three, test_fraction=0.1)) == 3
    against = compare(three, test_fraction=0.1, against="b")
    assert [(p.first, p.second) for p in against] == [("b", "a"), ("b", "c")]
    with pytest.raises(ExperimentError, match="nothing to compare"):
        compare({"a": scores}, test_fraction=0.1)
    with pytest.raises(ExperimentError, match="nothing to compare"):
        compare(three, test_fraction=0.1, against="d")
    with pytest.raises(ExperimentError, match="scores=\\[1, 2\\]; pass a dict of scores by method"):
        compare([1, 2], test_fraction=0.1)


def around(value):
    """A difference of two methods over ten folds, of standard deviation 1."""
    noise = np.random.default_rng(0).normal(size=10)
    scores = value + (noise - noise.mean()) / noise.std()
    return compare_paired(scores, np.zeros(10), test_fraction=0.1)


def test_rules_answer_yes_no_or_nothing():
    assert together([True, None, False]) is False
    assert together([True, None]) is None and together([True, True]) is True
    assert [is_above(around(value)) for value in (-9, 0, 9)] == [False, None, True]
    assert [is_no_less(around(value)) for value in (-9, -1, 0.5, 9)] == [False, None, True, True]
    assert is_no_less(around(-5), margin=9) is True
    assert [is_positive(found) for found in ([1, 0], [1, -1], [-1])] == [True, None, False]


def test_signs_are_corrected_for_the_number_of_differences():
    nearly = around(1.2)
    assert 0.01 < nearly.p_value < 0.05
    assert signs_of([nearly]) == [1] and signs_of([nearly, *(5 * [around(0)])]) == 6 * [0]
    assert signs_of([around(9), around(0), around(-9)]) == [1, 0, -1]
