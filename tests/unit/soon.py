"""What becomes true within the time that a busy machine may need."""

import time


def soon(question, *words, patience=30):
    """Whether ``question(*words)`` comes true within ``patience`` seconds."""
    give_up = time.monotonic() + patience
    while not question(*words) and time.monotonic() < give_up:
        time.sleep(0.01)
    return question(*words)
