"""Tables of the papers, computed again: declarations, the engine, verdicts and their tables.

``python -m fsnotes.replication list`` names the tables; `run` computes one, `replication_table`
shows it beside what was printed. A chapter is a module of ``chapters``, which holds `CHAPTER`: what
the tables print, which methods and data they need, and each claim beside the rule that judges it.
It says so with the names of `declare`, ``rules`` and ``estimators``. ``engine`` computes cells,
``store`` keeps them in ``results``, ``judge`` compares them with what is printed, ``render`` shows
tables, ``verdicts`` what becomes of all that the papers say.
"""

from fsnotes.replication.declare import (
    Chapter,
    Claim,
    Dataset,
    ExperimentError,
    Method,
    Misprint,
    Printed,
    Protocol,
    RandomSplits,
    Table,
    TunedOnce,
    all_chapters,
    get_chapter,
    printed,
)
from fsnotes.replication.engine import Audit, audit, run
from fsnotes.replication.judge import Verdict, compare, holm, verdict
from fsnotes.replication.render import comparison_table, replication_table, supports
from fsnotes.replication.store import Cell, MissingResult, Results
from fsnotes.replication.verdicts import claims, rules_audit, verdict_list, word_table

__all__ = [
    "Audit",
    "Cell",
    "Chapter",
    "Claim",
    "Dataset",
    "ExperimentError",
    "Method",
    "Misprint",
    "MissingResult",
    "Printed",
    "Protocol",
    "RandomSplits",
    "Results",
    "Table",
    "TunedOnce",
    "Verdict",
    "all_chapters",
    "audit",
    "claims",
    "compare",
    "comparison_table",
    "get_chapter",
    "holm",
    "printed",
    "replication_table",
    "rules_audit",
    "run",
    "supports",
    "verdict",
    "verdict_list",
    "word_table",
]
