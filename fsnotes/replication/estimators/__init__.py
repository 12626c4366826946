"""Estimators of the tables, a module for each paper that needs its own."""
