"""Sparse feature selection: the solvers behind Feature Selection Notes."""

from importlib import import_module

__version__ = "0.1.0"

# A name is imported when it is first used: data sets alone need not wait for scikit-learn.
_HOMES = {
    "errors": [
        "EqualMeansError",
        "InfeasibleBoundError",
        "NotSeparableError",
        "PromiseWarning",
        "SelectionWarning",
        "SubproblemError",
        "TrivialBoundWarning",
    ],
    "core.certify": ["exact_support"],
    "chebyshev": ["L1MPM", "MPM", "SMPM", "null_delta"],
    "data.datasets": ["available", "download", "load"],
    "dc": ["KernelL0MPM", "KernelMPM", "L0MPM"],
    "em.zero_norm": ["ZeroNormSVM"],
    "em.kernel": ["SparseKernelSVM"],
    "em.probit": ["ProbitEM"],
    "rivals.arom": ["AROM"],
    "rivals.filters": ["fisher_score", "mrmr", "relieff"],
    "data.generators": [
        "make_cross_planes",
        "make_instance",
        "make_moments",
        "make_twonorm",
        "make_wide",
    ],
    "l2p": ["DSO"],
    "mempm": ["FSMEMPM", "MEMPM", "frontier"],
    "core.moments": ["ClassMoments"],
    "rivals.fsv": ["FSV"],
    "rivals.greedy": ["GreedyMPM"],
    "rivals.l1svm": ["L1SVM"],
    "rivals.ranking": ["SVMRanking"],
    "rivals.rfs": ["RFS"],
    "rivals.rvm": ["RVM"],
    "twin.planes": ["L1TwinSVM", "TwinSVM"],
    "twin.ftsvm": ["FTSVM", "rank_features"],
    "core.surrogates": ["CappedL1", "Exponential", "L1", "Log", "MCP", "Power", "SCAD"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'fsnotes' has no attribute {name!r}")
    return getattr(import_module(f"fsnotes.{_HOME[name]}"), name)


def __dir__():
    return sorted([*globals(), *__all__])
