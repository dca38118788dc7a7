"""Planted bugs in the pure part: a piece of a file's text and what replaces it."""

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple


class Planted(NamedTuple):
    """One bug; `old` occurs exactly once in the module."""

    name: str
    case: str
    """Which of the named cases shows it."""
    module: str
    old: str
    new: str


LANES = [
    Planted(
        "head-never-waits",
        "two in flight",
        "holdback",
        "if reached(awaited, _UNREAD) < place and awaited != lane:",
        "if reached(awaited, _UNREAD) < place and awaited == lane:",
    ),
    Planted(
        "arrived-counts-as-delivered",
        "two in flight",
        "holdback",
        "if reached(awaited, _UNREAD) < place and awaited",
        "if awaited in self._reached and self.state.queues[awaited].last < place and awaited",
    ),
    Planted(
        "freed-too-late",
        "filtered and named",
        "holdback",
        "        if lane in self._waiting:\n            self._moved(lane, queue, now)\n"
        "        held_s",
        "        held_s",
    ),
    Planted(
        "own-publication-forgotten",
        "two in flight",
        "lanes",
        "        self.state.past[key] = max(place, self.state.past.get(key, 0))\n\n    def doubt",
        "        self.state.past.setdefault(key, 0)\n\n    def doubt",
    ),
    Planted(
        "changes-lanes-at-once",
        "two in flight",
        "lanes",
        "sorted({*state.flying, *state.doubtful} - {here})",
        "sorted({*state.doubtful} - {here})",
    ),
    Planted(
        "unread-lanes-not-passed-on",
        "through a lane nobody reads",
        "lanes",
        "if place > known(key, 0) and (key, place) not in taken.without:  # L2, L4",
        "if place > known(key, 0) and key in self.state.queues.queues:",
    ),
    Planted(
        "own-place-not-in-the-past",
        "answers",
        "lanes",
        "        if taken.place > known(lane, 0):\n            past[lane] = taken.place\n",
        "",
    ),
    Planted(
        "doubt-is-no",
        "unheard",
        "lanes",
        "self.state.doubtful.add(self._landed(lane))",
        "self._landed(lane)",
    ),
    Planted(
        "past-not-stored",
        "the publisher starts again",
        "lanes",
        "return Frontier(places, dict(self.state.past))",
        "return Frontier(places, {})",
    ),
    Planted(
        "arrivals-are-committed",
        "two in flight",
        "lanes",
        "        reached = self._holdback.reached\n",
        "        reached = lambda lane: self.state.queues.queues[lane].last\n",
    ),
    Planted(
        "filtered-places-waited-for",
        "filtered and named",
        "holdback",
        "            self._reached[lane] = queue.floor = place\n"
        "            self._moved(lane, queue, now)\n",
        "            pass\n",
    ),
]
NUMBERS = [
    Planted(
        "only-the-own-topic",
        "two topics",
        "numbers",
        "front = tuple([(*channel, last) for channel, last in sorted(state.front.items())])",
        "front = tuple([(*c, last) for c, last in sorted(state.front.items()) if c[0] == key])",
    ),
    Planted(
        "other-topics-not-passed-on",
        "through a topic",
        "numbers",
        "elif number > known.get(other, 0):",
        "elif named in self.state.topics and number > known.get(other, 0):",
    ),
    Planted(
        "front-emptied",
        "two fronts",
        "numbers",
        "                if front.get(other, number + 1) <= number:\n"
        "                    del front[other]\n",
        "                front.clear()\n",
    ),
    Planted(
        "delivery-not-learned",
        "answers",
        "numbers",
        "        if own > known.get(channel, 0):\n"
        "            front[channel] = known[channel] = own\n",
        "        if channel[1] == self.state.publisher:\n            front[channel] = own\n",
    ),
    Planted(
        "loss-is-not-told",
        "lost in between",
        "numbers",
        "        elif queue.last and stamp.number > queue.last + 1:",
        "        elif queue.last and stamp.number > queue.last + 99:",
    ),
    Planted(
        "patience-ends-nothing",
        "lost in between",
        "holdback",
        "                self._excuse(lane, lost, now)\n",
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
