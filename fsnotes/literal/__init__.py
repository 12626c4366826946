"""The problems of the papers as printed, in CVXPY: slow on purpose, and independent of the rest.

A module holds one paper and has its key in the bibliography. Class 1 comes first, as in the papers.
Every function asserts that the solver calls its answer optimal at a tolerance of 1e-9, and returns
what the paper asks for.
"""

from fsnotes.literal.bai2014 import (
    ftsvm,
    ftsvm_exact,
    ftsvm_scores,
    ftsvm_value,
    l1_twin_svm,
    rtsvm,
    twin_svm,
)
from fsnotes.literal.huang2008 import probit_em, sparse_kernel_step, zero_norm_step, zero_norm_svm
from fsnotes.literal.peng2016 import dso, dso_algorithm1, dso_step
from fsnotes.literal.rivals import arom, arom_step, fsv, fsv_step, rfs
from fsnotes.literal.xu2007 import algorithm1, fsmempm, l1svm, mempm
from fsnotes.literal.yang2014 import l0mpm, l1mpm, mpm, smpm

__all__ = [
    "algorithm1",
    "arom",
    "arom_step",
    "dso",
    "dso_algorithm1",
    "dso_step",
    "fsmempm",
    "fsv",
    "fsv_step",
    "ftsvm",
    "ftsvm_exact",
    "ftsvm_scores",
    "ftsvm_value",
    "l0mpm",
    "l1_twin_svm",
    "l1mpm",
    "l1svm",
    "mempm",
    "mpm",
    "probit_em",
    "rfs",
    "rtsvm",
    "smpm",
    "sparse_kernel_step",
    "twin_svm",
    "zero_norm_step",
    "zero_norm_svm",
]
