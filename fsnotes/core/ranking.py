"""What a method that ranks features returns."""

from typing import NamedTuple

import numpy as np

__all__ = ["Ranking"]


class Ranking(NamedTuple):
    """Features by importance.

    Attributes
    ----------
    scores : ndarray of shape (n_features,)
        The larger the more important.
    order : ndarray of int
        Features that were ranked, the most important first.
    """

    scores: np.ndarray
    order: np.ndarray
