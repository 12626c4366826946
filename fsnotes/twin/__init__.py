"""Twin planes and the features that both share."""
