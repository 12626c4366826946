"""The small data sets that travel with the package; read them with `fsnotes.data.datasets.load`."""
