"""A timer for a time of the day, and one that was set to a time and is over"""

import os
import select
import time

MUST = {"fires": False}


def program():
    day = os.timerfd_create(time.CLOCK_REALTIME, flags=os.TFD_NONBLOCK)
    # Where rounding to ten seconds does not depend on a moment.
    at = int(time.time()) // 10 * 10 + 21600
    os.timerfd_settime(day, flags=os.TFD_TIMER_ABSTIME, initial=at)
    over = os.timerfd_create(time.CLOCK_MONOTONIC, flags=os.TFD_NONBLOCK)
    os.timerfd_settime(over, flags=os.TFD_TIMER_ABSTIME, initial=time.monotonic() + 0.01)
    time.sleep(0.1)
    os.read(over, 8)
    return lambda: {
        "late": round((time.time() + os.timerfd_gettime(day)[0] - at) / 10) * 10,
        "fires": bool(select.select([over], [], [], 0)[0]),
    }
