"""Convex solvers: arrays in, arrays and a certificate out."""
