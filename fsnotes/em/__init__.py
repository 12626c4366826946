"""Machines of few features, or of few training points, after Huang, King and Lyu (2008).

- `zero_norm`: `ZeroNormSVM`, few features by reweighted soft margins;
- `kernel`: `SparseKernelSVM`, the same steps in the columns of a kernel matrix;
- `refit`: machines of least loss on some features, and the search for the best set of them;
- `posterior`: the posterior of a probit model, and the steps that maximise it;
- `probit`: `ProbitEM`, the hierarchical Bayes EM from which the method comes.
"""
