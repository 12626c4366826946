"""Sparse feature selection: the solvers behind Feature Selection Notes."""

__version__ = "0.1.0"
