"""A process that is registered for expedited memory barriers, as liburcu and .NET do"""

from service import libc, result

MEMBARRIER = 324
#: Commands of membarrier(2): to register, and to use.
REGISTER, USE = 1 << 4, 1 << 3
MUST = {"barrier": 0}


def program():
    libc.syscall(MEMBARRIER, REGISTER, 0, 0)

    def observe():
        return {"barrier": result(libc.syscall(MEMBARRIER, USE, 0, 0))}

    return observe
