"""Sparse feature selection: the solvers behind Feature Selection Notes."""

from fsnotes.datasets import available, download, load
from fsnotes.generators import (
    make_cross_planes,
    make_instance,
    make_moments,
    make_twonorm,
    make_wide,
)
from fsnotes.moments import ClassMoments

__version__ = "0.1.0"

__all__ = [
    "ClassMoments",
    "available",
    "download",
    "load",
    "make_cross_planes",
    "make_instance",
    "make_moments",
    "make_twonorm",
    "make_wide",
]
