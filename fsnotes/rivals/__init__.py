"""Published methods that the papers compare with."""
