"""How much a local group carries, as its server measures it: messages a second, over windows.

A group is busy (or quiet) when two windows in a row were; one that has not been measured is
neither. Above `split_rate` it is busy, below a quarter of that quiet: two quiet groups together
carry at most half of what would split them again.
"""

from antecede.overlays.daisy.layer import Layer

QUIET, USUAL, BUSY = 0, 1, 2
"""What the servers are told of a group."""
_ENOUGH = 2
"""Windows in a row that say the same."""


def measure(layer: Layer, now: float) -> int:
    """Look whether a window has ended; what the group carries, as far as is known. Without a limit
    every group is quiet."""
    load, window_s = layer.state.load, layer.options.load_window_s
    if not layer.options.split_rate:
        return QUIET
    places = layer.memory.places
    if load.since < 0 or places < load.places:
        load.since, load.places = now, places
    elapsed_s = now - load.since
    if elapsed_s >= window_s:
        was, load.last_window = load.last_window, _word((places - load.places) / elapsed_s, layer)
        load.windows = int(elapsed_s / window_s) + (load.windows if load.last_window == was else 0)
        load.since, load.places = now, places
        if load.windows >= _ENOUGH:
            load.told = load.last_window
    return load.told


def _word(rate: float, layer: Layer) -> int:
    limit = layer.options.split_rate
    return BUSY if rate > limit else QUIET if rate < limit / 4 else USUAL
