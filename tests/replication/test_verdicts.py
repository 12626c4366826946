"""What becomes of what the papers say: all numbered items have lines, and these their reasons."""

import re

import numpy as np
import pytest
from scipy import stats
from tiny import entry

from fsnotes.replication import Claim, Results, all_chapters, claims, compare, rules_audit
from fsnotes.replication.chapters import dc, em_titanic
from fsnotes.replication.judge import WORDS, Verdict, replication_interval, verdict
from fsnotes.replication.verdicts import COVERED, papers

EQUATIONS = {"yang2014": 60, "xu2007": 6, "huang2008": 10, "bai2014": 24, "peng2016": 31}
OTHERS = {
    "yang2014": {"Lemma": 1, "Theorem": 1, "Algorithm": 1, "Table": 7, "Figure": 9},
    "xu2007": {"Algorithm": 1, "Criterion": 2, "Table": 4, "Figure": 1},
    "huang2008": {"Proposition": 3, "Table": 3, "Figure": 1},
    "bai2014": {"Algorithm": 2, "Table": 1},
    "peng2016": {
        **{"Lemma": 2, "Theorem": 2, "Algorithm": 1, "Table": 1, "Figure": 2, "footnote": 2},
    },
}


@pytest.fixture(scope="module")
def lines():
    return claims()


def equations_of(place):
    """The numbers of the equations that a place names, as in "(3)-(5), (7)"."""
    found = set()
    for first, last in re.findall(r"\((\d+)\)(?:-\((\d+)\))?", place):
        found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.parametrize("paper", EQUATIONS)
def test_every_numbered_item_has_a_line(lines, paper):
    mine = [line for line in lines if line.paper == paper]
    named = set().union(*(equations_of(line.place) for line in mine))
    assert named >= set(range(1, EQUATIONS[paper] + 1))
    places = " ".join(line.place for line in mine)
    missing = [
        f"{kind} {number}"
        for kind, most in OTHERS[paper].items()
        for number in range(1, most + 1)
        if not re.search(rf"{kind} {number}\b", places)
    ]
    assert not missing


def test_every_line_has_a_verdict_and_says_what_it_rests_on(lines):
    for line in lines:
        agreement = re.fullmatch(r"\d+ of \d+ agree", line.verdict)
        assert agreement or line.verdict in (*WORDS, COVERED), line
        assert line.place and line.text and line.paper in papers()
        is_quote = line.text.startswith("\u201c")
        if is_quote or line.text.startswith("["):
            assert line.rule and is_quote == line.text.endswith("\u201d")
    # the papers are not quoted at length
    quotes = [line.text for line in lines if line.text.startswith("\u201c")]
    assert max(len(quote.split()) for quote in quotes) <= 60


def test_what_a_proof_refutes_is_false_and_what_it_does_not_is_judged():
    for chapter in all_chapters().values():
        for claim in chapter.claims:
            if isinstance(claim, Claim) and claim.proof:
                answer = claim.check(None)
                word = answer.word if isinstance(answer, Verdict) else answer
                assert word in (True, False, "agrees", "false"), claim.place


# ---------------------------------------------------------------- how sure numbers are


def replications(seed, shift=0.0, repeats=10):
    """Means of the repeats of two replications of one protocol, the second moved."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(75, 1, size=(2, repeats))
    return first, second + shift


def test_a_replication_agrees_as_often_as_it_should():
    agreed = 0
    for seed in range(400):
        ours, theirs = replications(seed)
        printed = entry(f"{theirs.mean():.1f}")
        agreed += verdict(printed, replication_interval(ours, len(theirs))).word == "agrees"
    assert stats.binomtest(agreed, 400, 0.99, alternative="less").pvalue > 0.01
    assert agreed >= 0.95 * 400


def test_a_shift_of_three_points_is_found():
    differ = 0
    for seed in range(200):
        ours, theirs = replications(seed, shift=3.0)
        printed = entry(f"{theirs.mean():.1f}")
        differ += verdict(printed, replication_interval(ours, len(theirs))).word == "differs"
    assert differ >= 0.95 * 200


def test_one_repeat_of_the_other_widens_the_interval():
    ours, _ = replications(0)
    many, one = (replication_interval(ours, again) for again in (10, 1))
    widths = [found.high - found.low for found in (many, one)]
    assert np.isclose(widths[1] / widths[0], np.sqrt(1.1 / 0.2))
    assert many.value == one.value == pytest.approx(ours.mean())
    equal = replication_interval(np.full(10, 3.0), 10)
    assert equal.low == equal.high == 3


def test_identical_methods_are_seldom_called_different():
    """Five methods whose scores have the same distribution, over splits that do not overlap."""
    alarms = 0
    for seed in range(200):
        scores = np.random.default_rng(seed).normal(80, 2, size=(5, 10))
        pairs = compare(dict(enumerate(scores)), test_fraction=1e-12)
        alarms += any(pair.is_different for pair in pairs)
    assert alarms <= stats.binom.ppf(0.99, 200, 0.05)


def test_the_audit_of_the_rules_passes_and_asks_what_is_there(tmp_path):
    [grid] = rules_audit().grids
    agree, moved, alarms = (float(row[2].rstrip("%")) for row in grid.rows)
    assert agree >= 95 and moved >= 95 and alarms <= 5
    assert all(int(row[1]) >= 100 for row in grid.rows)
    [grid] = rules_audit(folder=tmp_path).grids
    assert grid.rows == ()


# ---------------------------------------------------------------- the page


def test_numbers_among_the_ten_findings_are_those_of_results(lines):
    """The bound out of reach, the correlations, what unequal bounds gain, and distinct points."""
    results = Results("dc")
    largest = {d: results.cell(d, "mpm").scores("largest_delta").max() for d in dc.REAL}
    assert sum(bound < 0.9 for bound in largest.values()) == 7 and len(largest) == 8
    table = [p for p in dc.TABLE_3.printed if p.measure == "mcc_percent"]
    mine = [line for line in lines if (line.paper, line.place) == ("yang2014", "Table 3")]
    impossible = [line for line in mine if line.kind == "number"]
    assert len(table) == 24 and len(impossible) == 8
    [tighter] = [line for line in lines if "much tighter" in line.text]
    gains = [float(number) for number in re.findall(r"\d+\.\d", tighter.evidence)]
    assert (min(gains), max(gains)) == (0.2, 4.8)
    titanic = Results("em_titanic")
    kept = [titanic.cell("titanic", m).estimate("n_distinct").value for m in em_titanic.METHODS]
    assert max(kept) <= 14
