"""Twin planes and the features that both share, after Bai et al. (2014), in the order of the paper.

- `planes`: two planes, (2), (3), (7) and (8), and the classifier of the closer plane;
- `objective`: the objective (21) of a set of features, and the formulas (22) to (24);
- `search`: Algorithm 1, which sweeps through the features, and the search by single switches;
- `ftsvm`: the estimator `FTSVM`, and the ranking of features, Algorithm 2.
"""
