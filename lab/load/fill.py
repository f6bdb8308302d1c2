"""`lab.load fill`: give every key its value of generation 0, each write acknowledged, nothing evicted."""

from . import clock, meta, values
from .errors import LoadError
from .pipeline import Pipeline

# memcached's item header (48 bytes with CAS), the terminator and a margin for short keys; only for the refusal of what
# cannot fit, so it must not be more than what an item really takes.
_ITEM_OVERHEAD = 56


def fill(address, keys, size, timeout):
    """Write `keys` values of `size` bytes.

    Return {"host", "port", "keys", "size", "seconds", "curr_items", "evictions"}. LoadError when memcached is too
    small, refused a write, evicted a key or holds fewer items afterwards.
    """
    begin = clock.now()
    with Pipeline(address, timeout) as pipeline:
        before = pipeline.stats()
        _refuse_too_small(address, before, keys, size)
        numbers = range(keys)
        requests = (meta.write_request(values.key_name(n), values.value(n, 0, size)) for n in numbers)
        refused = [
            (values.key_name(number), line)
            for number, (line, _value) in zip(numbers, pipeline.exchange(requests, size), strict=True)
            if line != meta.STORED
        ]
        after = pipeline.stats()
    if refused:
        key, line = refused[0]
        raise LoadError(
            f"{address.text} refused {len(refused)} of {keys} writes, the first for {key} with "
            f"{line.decode('ascii', 'replace')!r} instead of 'HD'; give memcached more memory (-m) or smaller values"
        )
    evictions = int(after["evictions"]) - int(before["evictions"])
    if evictions > 0:
        raise LoadError(
            f"{address.text} evicted {evictions} keys while it was filled with {keys} of {size} bytes, expected none; "
            f"give memcached more memory than its {int(after['limit_maxbytes']) >> 20} MiB (-m)"
        )
    items = int(after["curr_items"])
    if items < keys:
        raise LoadError(f"{address.text} holds {items} items after {keys} writes; is something else deleting keys?")
    return {
        "host": address.host,
        "port": address.port,
        "keys": keys,
        "size": size,
        "seconds": round(clock.now() - begin, 3),
        "curr_items": items,
        "evictions": evictions,
    }


def _refuse_too_small(address, stats, keys, size):
    limit = int(stats["limit_maxbytes"])
    needed = keys * (size + _ITEM_OVERHEAD)
    if limit < needed:
        raise LoadError(
            f"{address.text} has {limit >> 20} MiB for items, {keys} keys of {size} bytes need at least "
            f"{(needed >> 20) + 1} MiB; start memcached with a larger -m"
        )
