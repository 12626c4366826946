"""One thread for linear algebra, where more would change digits or take longer."""

import contextlib
import threading

__all__ = ["one_thread"]

_TURN = threading.RLock()


@contextlib.contextmanager
def one_thread(wait=True):
    """Give linear algebra one thread inside ``with``; those who ask for it take turns.

    How many threads it takes is a property of the process. If two set it at a time, the one that
    ends last would put back the limit of the other, for good; so the next waits until the one
    before has put back what was there. Without `wait` it goes on at once, under the limit of the
    one who has the turn: a thread that works for that one would otherwise wait for ever. That limit
    may end before this block does.
    """
    # what is loaded later would not be limited
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    if not _TURN.acquire(blocking=wait):
        yield
        return
    try:
        with threadpool_limits(1):
            yield
    finally:
        _TURN.release()
