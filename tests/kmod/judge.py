"""What must hold after a run on the test machine."""

# As in memory.h and memory.c: pages of the first task; of these, pages shared with the second task, pages swapped out when they are
# recorded, and pages without a neighbour in memory or in the area.
PAGES, SHARED, SWAPPED, SINGLE = 13224, 2000, 600, 3000
# Case lazy: pages that the first task gets while it runs (lazy.c).
LATE = 3024


def problems(said, case, is_debug):
    """Yield what is wrong after a whole run, as sentences. SAID: what the machine said, by key."""
    yield from said["failed"]
    yield from said["warning"]
    if "end" not in said:
        yield "the last kernel did not come to its end"
        return
    numbers = {key: int(value) for key, value in said.items() if isinstance(value, str) and value.lstrip("-").isdigit()}
    expected = {"right0": PAGES, "wrong0": 0, "right1": SHARED, "wrong1": 0, "bound0": PAGES, "bound1": SHARED}
    # The first task that binds a shared frame gets it, the other a copy; in "twice" nothing is shared when the
    # second recording begins.
    expected |= {"copied": 0 if case == "twice" else SHARED, "oom": 0, "oom_recording": 0, "swap_after_kb": 0}
    if is_debug:
        # The debugging words have reached the last kernel's command line.
        expected["slab_poison"] = 1
    # Bound and freed frames are managed memory again.
    expected["gained_kb"] = 4 * (PAGES + SHARED - expected["copied"] + numbers.get("freed", 0))
    for key, value in expected.items():
        if numbers.get(key) != value:
            yield f"{key} is {said.get(key)}, expected {value}"
    for key, (low, high) in _bounds(case).items():
        if not low <= numbers.get(key, -1) <= high:
            yield f"{key} is {said.get(key)}, expected {low} to {high}"


def _bounds(case):
    """Return {key: (lowest, highest)}."""
    bounds = {
        # The process has a few pages of its own.
        "rss_kb": (4 * PAGES, 4 * PAGES + 400),
        "rss_after_kb": (0, 400),
        # After DROP the module's references are gone; some pages go to the kernel's caches.
        "lost_kb": (-20000, 5000),
        "fetched": (SWAPPED // 64, 2 * SWAPPED),
        "swapped": (SWAPPED // 2, SWAPPED),
        # Pages that were swapped in above the limit.
        "above_kb": (SWAPPED, 8 * SWAPPED),
        "paged_out": (1, SHARED),
        "moved": (2, 2 * PAGES),
        # Copies of moved frames lie side by side.
        "runs": (2, 2 * SINGLE),
        # More than one page of each list.
        "own": (1 + SINGLE // 170, PAGES),
        # Charged above the limit, and uncharged at the end.
        "charged_kb": (4 * PAGES, 4 * PAGES + 1000),
        "at_limit": (1, 1 << 30),
        "still_charged_kb": (0, 1000),
    }
    if case == "switch":
        bounds["damaged"] = (40, 1000)
    if case == "lazy":
        before = PAGES - LATE
        bounds |= {"rss_kb": (4 * before, 4 * PAGES + 400), "charged_kb": (4 * before, 4 * before + 1000)}
        bounds |= {"late": (LATE, LATE), "faults": (100, 2 * PAGES)}
    return bounds
