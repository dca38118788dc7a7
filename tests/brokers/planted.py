"""Planted bugs in the pure part: a piece of a file's text and what replaces it."""

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple


class Planted(NamedTuple):
    """One bug; `old` occurs exactly once in the module."""

    name: str
    module: str
    old: str
    new: str


LANES = [
    Planted("head-never-waits", "holdback", "if other is None:", "if other is not queue:"),
    Planted(
        "arrived-counts-as-delivered",
        "holdback",
        "if (other.items[0].place - 1 if other.items else other.floor) < place:",
        "if other.last < place:",
    ),
    Planted(
        "freed-too-late",
        "holdback",
        "        if lane in self._waiting:\n            self._moved(lane, queue, now)\n"
        "        held_s",
        "        held_s",
    ),
    Planted(
        "own-publication-forgotten",
        "lanes",
        "        self.state.past[key] = max(place, self.state.past.get(key, 0))\n\n    def doubt",
        "        self.state.past.setdefault(key, 0)\n\n    def doubt",
    ),
    Planted(
        "changes-lanes-at-once",
        "lanes",
        "sorted({*state.flying, *state.doubtful} - {here})",
        "sorted({*state.doubtful} - {here})",
    ),
    Planted(
        "unread-lanes-not-passed-on",
        "lanes",
        "if place > past.get(key, 0) and need not in given_up:  # L2, L4",
        "if place > past.get(key, 0) and key in self.state.queues.queues:",
    ),
    Planted(
        "own-place-not-in-the-past",
        "lanes",
        "        if taken.place > past.get(lane, 0):\n            past[lane] = taken.place\n",
        "",
    ),
    Planted(
        "doubt-is-no",
        "lanes",
        "self.state.doubtful.add(self._landed(lane))",
        "self._landed(lane)",
    ),
    Planted(
        "past-not-stored",
        "lanes",
        "return Frontier(places, dict(self.state.past))",
        "return Frontier(places, {})",
    ),
    Planted(
        "arrivals-are-committed",
        "lanes",
        "        reached = self._holdback.reached\n",
        "        reached = lambda lane: self.state.queues.queues[lane].last\n",
    ),
    Planted(
        "filtered-places-waited-for",
        "holdback",
        "            queue.floor = place\n            self._moved(lane, queue, now)\n",
        "            pass\n",
    ),
]
NUMBERS = [
    Planted(
        "only-the-own-topic",
        "numbers",
        "front = tuple([(*channel, last) for channel, last in sorted(state.front.items())])",
        "front = tuple([(*c, last) for c, last in sorted(state.front.items()) if c[0] == key])",
    ),
    Planted(
        "other-topics-not-passed-on",
        "numbers",
        "elif number > known.get(other, 0):",
        "elif named in self.state.topics and number > known.get(other, 0):",
    ),
    Planted(
        "front-emptied",
        "numbers",
        "                if front.get(other, number + 1) <= number:\n"
        "                    del front[other]\n",
        "                front.clear()\n",
    ),
    Planted(
        "delivery-not-learned",
        "numbers",
        "        if own > known.get(channel, 0):\n"
        "            front[channel] = known[channel] = own\n",
        "        if channel[1] == self.state.publisher:\n            front[channel] = own\n",
    ),
    Planted(
        "loss-is-not-told",
        "numbers",
        "        elif queue.last and stamp.number > queue.last + 1:",
        "        elif queue.last and stamp.number > queue.last + 99:",
    ),
    Planted(
        "patience-ends-nothing",
        "holdback",
        "                self._excuse(awaited, lost)\n",
        "                pass\n",
    ),
]
ORDER = ("stamps", "holdback", "lanes", "numbers")


def plant(bug: Planted, wanted: str) -> Any:
    """The module `wanted` of `antecede.brokers` with this bug in it or in what it imports."""
    renamed: dict[str, str] = {}
    found: Any = None
    for name in ORDER[ORDER.index(bug.module) :]:
        original = import_module(f"antecede.brokers.{name}")
        source = inspect.getsource(original)
        if name == bug.module:
            if source.count(bug.old) != 1 or bug.old == bug.new:
                raise LookupError(f"{bug.name}: its text must occur once and change")
            source = source.replace(bug.old, bug.new)
        for old, new in renamed.items():
            source = source.replace(f"from {old} import", f"from {new} import")
        module = ModuleType(f"{__name__}.{bug.name.replace('-', '_')}.{name}")
        module.__file__ = original.__file__
        sys.modules[module.__name__] = module
        exec(compile(source, module.__name__, "exec"), vars(module))
        renamed[original.__name__] = module.__name__
        if name == wanted:
            found = module
    return found
