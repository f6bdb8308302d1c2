"""A key that the kernel keeps for a process, in its session (keyrings(7))"""

from service import libc

ADD_KEY, KEYCTL, READ, SESSION = 248, 250, 11, -3
REFUSAL = "keys .* in the kernel's keyrings"


def program():
    libc.syscall(ADD_KEY, b"user", b"case", b"secret", 6, SESSION)
    return lambda: {"keys": libc.syscall(KEYCTL, READ, SESSION, None, 0)}
