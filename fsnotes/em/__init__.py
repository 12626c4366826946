"""Zero-norm machines by reweighted ridges, after the hierarchical Bayes EM."""
