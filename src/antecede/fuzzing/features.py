"""What a run has reached, in a few hundred numbers: how two runs are told apart.

A run is watched from outside, the same for every protocol: what it tells (views, servers, stops,
gaps) in pairs and triples as they follow each other; which kinds of packets it sends how often
after which of these; who is hit by a fault, by the number of groups it is in, and what was told
last before that and first after; what is held in the end, and for what; how late deliveries were.
Counts go into buckets, as in AFL: only another order of magnitude is another thing.
"""

from bisect import bisect
from collections import Counter
from typing import Any
from zlib import crc32

import msgspec

from antecede.message import ProcessSet
from antecede.order import Event, Notice, Packet
from antecede.simulate import Scenario
from antecede.simulate.recorder import Recorder
from antecede.simulate.run import Simulation

MOST_MOMENTS = 24
_DIGITS = str.maketrans("", "", "0123456789'")

Features = frozenset[int]


class Reached(msgspec.Struct, frozen=True):
    """The features of a run, and the moments at which something was told."""

    features: Features
    moments: tuple[float, ...]


class Watcher:
    """Watches one run."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._phase = "start"
        self._sent: Counter[tuple[str, str]] = Counter()
        self._told: list[tuple[float, str]] = []
        """What was told, without repetitions, and when."""
        self._views: dict[str, ProcessSet] = {}
        self._struck: list[str] = []

    def sent(self, packet: Packet[Any]) -> None:
        self._sent[self._phase, _kind(packet)] += 1

    def noticed(self, notice: Notice, now: float) -> None:
        what = f"{notice.event} {notice.where.translate(_DIGITS).strip()}"
        if notice.event is Event.VIEW:
            before = self._views.get(notice.where, notice.members)
            if before != notice.members:
                what += " smaller" if notice.members & ~before == 0 else " other"
            self._views[notice.where] = notice.members
        if what != self._phase:
            self._phase = what
            self._told.append((now, what))

    def struck(self, process: int, fault: str) -> None:
        """A process crashes or comes."""
        groups = sum(members >> process & 1 for members in self._views.values())
        self._struck.append(f"{fault} of one in {groups} groups after {self._phase}")

    def reached(self, simulation: Simulation, recorder: Recorder) -> Reached:
        """All that the run has reached, when it is over."""
        found = {f"{phase}: {kind} {_size(n, 2)}" for (phase, kind), n in self._sent.items()}
        found |= set(self._struck)
        told = ["start", *(what for _, what in self._told), "end"]
        found |= {f"{what} {_size(count)}" for what, count in Counter(told).items()}
        found |= {
            " > ".join(told[at : at + length]) for length in (2, 3) for at in range(len(told))
        }
        found |= set(self._around_cuts())
        found |= self._outcome(simulation, recorder)
        times = [time_s for time_s, _ in self._told]
        times = times or [simulation.now * eighth / 8 for eighth in range(1, 8)]
        moments = times[:: 1 + len(times) // MOST_MOMENTS]
        return Reached(
            frozenset(crc32(one.encode()) for one in found),
            tuple(round(time_s, 3) for time_s in moments),
        )

    def _around_cuts(self) -> list[str]:
        """What was told last before a cut begins or ends, and first after that."""
        times = [time_s for time_s, _ in self._told]
        told = ["start", *(what for _, what in self._told), "end"]
        return [
            f"{word} between {told[place]} and {told[place + 1]}"
            for cut in self._scenario.network.partitions
            for word, time_s in (("cut", cut.start_s), ("heals", cut.end_s))
            for place in [bisect(times, time_s)]
        ]

    def _outcome(self, simulation: Simulation, recorder: Recorder) -> set[str]:
        found = {f"queue {_size(simulation.peak_queue)}"}
        spread = recorder.delay_s.spread()
        if recorder.deliveries_to_others:
            found.add(f"late {_size(int(10 * spread.maximum))}")
        found.add(f"most elements {_size(int(recorder.stamp_entries.spread().maximum))}")
        for order in simulation.orders:
            for held in order.held():
                found |= {f"holds for {one.scope}" for one in held.awaited}
        return found


def _size(count: int, base: int = 1) -> int:
    """The order of magnitude: of two, or of four where `base` is two."""
    return min(8, -(-count.bit_length() // base))


def _kind(packet: Packet[Any]) -> str:
    kind = _path(packet.stamp)
    return kind if packet.message is None else f"{kind} with a message"


def _path(value: Any) -> str:
    """The type of a stamp, and of the one inside of it."""
    name = type(value).__name__
    for field in value.__struct_fields__:
        inner = getattr(value, field)
        if isinstance(inner, msgspec.Struct):
            return f"{name}.{_path(inner)}"
    return name
