"""The progress bar of all that takes long."""

from tqdm import tqdm

__all__ = ["ProgressBar"]


class ProgressBar(tqdm):
    """A bar of tqdm that starts no thread: its monitor would outlive what the bar is about."""

    monitor_interval = 0
