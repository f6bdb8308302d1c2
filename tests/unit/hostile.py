"""Names as an application can choose them, made from a seed: what a reader of them must not stumble over."""

import random

#: What has another meaning somewhere: ends of lines and words, quotes, escapes, what is no UTF-8, what looks like a row.
PIECES = [
    *(bytes([byte]) for byte in b" \t\n\r\v\f\x1c\x1d\x1e\x1f\x7f\x80\xa0\xe9\xff'\"\\#$`;%*()[]{}<>|&=:-@/"),
    *(text.encode() for text in ("\u0085", "\u00a0", "\u2028", "\u2029", "\u202e", "\u3000", "²", "٣")),
    *(
        b" - ",
        b"->",
        b"::",
        b" (deleted)",
        b"0::",
        b"socket:[1]",
        b"\\040",
        b"\\012",
        b"\rVmSwap:x",
        b"\nVmSwap:\t",
        b"io_uring",
    ),
    *(b"a", b"0", b"1", b"7f00-7f01 rw-p", b"None", b"Error", b"\x1b[2J"),
]


def names(seed, count=400, longest=12):
    """``count`` names (bytes without NUL), the same for the same ``seed``."""
    chance = random.Random(seed)
    return [b"".join(chance.choices(PIECES, k=chance.randint(1, longest))) for _number in range(count)]


def escaped(name, characters=b" \t\n\\"):
    """``name`` as the kernel prints it where it escapes these characters (fs/seq_file.c, mangle_path())."""
    return b"".join(b"\\%03o" % byte if byte in characters else bytes([byte]) for byte in name)
