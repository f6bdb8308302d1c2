"""The time of day is far from that of the machine's clock, and a time daemon has told the kernel of TAI and of the clock's rate"""

import ctypes
import pathlib
import struct
import time

SETUP = """
date --set=+100sec
python3 - <<'END'
import ctypes, struct
ADJ_FREQUENCY, ADJ_TAI = 0x2, 0x80
timex = bytearray(208)
struct.pack_into("I8xq24xq", timex, 0, ADJ_FREQUENCY | ADJ_TAI, 12 << 16, 37)
assert ctypes.CDLL(None).adjtimex((ctypes.c_char * 208).from_buffer(timex)) >= 0
END
"""
MUST = {"ahead": 10, "tai": 37, "frequency": 12}
_RTC = pathlib.Path("/sys/class/rtc/rtc0/since_epoch")


def program():
    libc = ctypes.CDLL(None)

    def observe():
        timex = bytearray(208)
        libc.adjtimex((ctypes.c_char * 208).from_buffer(timex))
        return {
            # The machine's clock has whole seconds.
            "ahead": round((time.time() - int(_RTC.read_text(encoding="ascii"))) / 10),
            "tai": round(time.clock_gettime(time.CLOCK_TAI) - time.time()),
            "frequency": struct.unpack_from("q", timex, 16)[0] >> 16,
        }

    return observe
