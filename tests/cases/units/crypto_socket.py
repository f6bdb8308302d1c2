"""A socket of the kernel's cryptography"""

import socket

REFUSAL = "AF_ALG|cryptography|family"
UNSEEN = True


def program():
    digest = socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)
    digest.bind(("hash", "sha256"))
    return lambda: {"family": digest.family.name}
