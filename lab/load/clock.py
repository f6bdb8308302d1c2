"""Time in the load client: measured on the monotonic clock, shown on the wall clock."""

import time

# One offset for the whole process: a clock step in the middle of a run must not stretch or shrink an outage, nor put
# two events of one run in the wrong order.
_OFFSET = time.time() - time.monotonic()


def now():
    """Return seconds on the monotonic clock (float)."""
    return time.monotonic()


def wall(monotonic):
    """Return the epoch seconds of an instant of `now()`; None stays None."""
    return None if monotonic is None else round(monotonic + _OFFSET, 6)
