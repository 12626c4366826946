"""Tables of the papers, computed again: declarations, the engine, verdicts and their tables.

``python -m fsnotes.replication list`` names the tables; `run` computes one, `replication_table`
shows it beside what was printed. A chapter is a module of ``fsnotes.replication.chapters`` that
holds `CHAPTER`.
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
from fsnotes.replication.render import (
    claims,
    comparison_table,
    replication_table,
    supports,
    verdict_table,
)
from fsnotes.replication.store import Cell, MissingResult, Results

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
    "run",
    "supports",
    "verdict",
    "verdict_table",
]
