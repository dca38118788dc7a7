"""What causal order costs a message on a network, and how long it takes, scheme by scheme.

Application processes live at the nodes of a network, one at each. A hop takes an exponential time,
50 ms on average, from a process to the server of its node as from node to node. What goes hop by
hop is routed by the overlay; what goes end to end takes a shortest way, all of whose hops are
counted, too. So all schemes carry the same messages over the same network, and what is counted is
comparable: the bytes of ordering information that a message causes on all links together, packets
of the protocol's own included, and its delay from the send to the delivery over that of a shortest
way without any waiting (the *stretch*).

A run starts with empty states, so its first half is dropped. What is sent between two sends makes
an observation, and the second half is held to the laboratory's rule of drift
(`antecede.campaigns.steady`); MSER-5 would drop less, because word that goes to everybody now and
then makes the observations uneven. What happens after the last send is not counted, but for delays.

On a tree of single routers with FIFO links no stamp is needed at all: whatever one process forwards
after another comes after it on the only way there is. So one run gives two schemes: the tree with
the stamps of R9, and the same tree without any (`FIFO tree`).
"""

import random
from collections.abc import Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from antecede.campaigns.steady import drift
from antecede.message import Message, MessageId, members
from antecede.order import Deliver, Effect, Packet, Transmit, Wake
from antecede.simulate import make_scenario
from antecede.simulate.workload import Send, traffic_of
from antecede.topology import Topology
from antecede.wire import encode_stamp

HOP_S = 0.05
RATE = 10.0
LOCAL = {"local": 0.9, "global": None}
"""How likely a message stays near, by the name of the traffic."""


class Scheme(NamedTuple):
    """A protocol with options, on FIFO links or not."""

    protocol: str
    options: Mapping[str, Any]
    fifo: bool = False


SCHEMES = {
    "tree": Scheme("separators", {"routes": "tree"}, fifo=True),
    "shortest": Scheme("separators", {"routes": "shortest"}),
    "shortest, no R9": Scheme("separators", {"routes": "shortest", "regions": []}),
    "flood": Scheme("separators", {"routes": "flood"}, fifo=True),
    "histories": Scheme("histories", {}),
    "optimal": Scheme("optimal", {}),
}


class Cost(NamedTuple):
    """Of a message, on average, in the second half of a run."""

    stamp_bytes: float
    stretch: float
    drift: float | None
    """By what part of the mean the bytes of the last quarter of the run exceed those of the third;
    None where there is too little to tell."""
    is_drifting: bool
    """Whether that is more than the tolerance, and more than chance."""


def cost(name: str, scheme: str, traffic: str, messages: int, seed: int = 1) -> Cost:
    """So many messages on a network that ships, to one process each."""
    return _Run(name, SCHEMES[scheme], LOCAL[traffic], messages, seed).finish()


def distances(topology: Topology, count: int) -> list[list[int]]:
    """How many links lie between each of the first `count` nodes and any other."""
    found = []
    for node in range(count):
        row = [0] * topology.size
        seen = wave = 1 << node
        hops = 0
        while wave:
            for one in members(wave):
                row[one] = hops
            reached = 0
            for one in members(wave):
                reached |= topology.neighbours[one]
            wave = reached & ~seen
            seen |= wave
            hops += 1
        found.append(row)
    return found


class _Run:
    def __init__(
        self, name: str, scheme: Scheme, local: float | None, messages: int, seed: int
    ) -> None:
        self._messages = messages
        scenario = make_scenario(
            {
                "protocol": scheme.protocol,
                "options": dict(scheme.options),
                "topology": f"largest:{name}",
                "workload": {"kind": "unicast"} | ({} if local is None else {"local": local}),
                "messages": messages,
                "rate": RATE,
                "seed": seed,
            }
        )
        deployment = scenario.deployment
        if deployment is None:
            raise LookupError(f"{name} has no deployment")
        self._far = distances(deployment.topology, deployment.applications)
        self._scheme = scheme
        self._is_routed = scenario.is_routed
        self._orders = [
            scenario.order(process, scenario.membership, scenario.order_options)
            for process in range(scenario.membership.size)
        ]
        self._sends = traffic_of(scenario).opening()
        self._random = random.Random(seed)
        self._heap: list[tuple[float, int, int, Packet[Any] | None]] = []
        self._sequence = count()
        self._last: dict[tuple[int, int], float] = {}
        self._numbers = [0] * len(self._orders)
        self._sent_s: dict[MessageId, tuple[int, float]] = {}
        """The place of a message in the run, and when it was sent."""
        self._bytes = [0] * messages
        """What was sent after each send, and before the next."""
        self._delays_s = [0.0] * messages
        self._least_s = [0.0] * messages
        self._place = 0
        self._is_counted = True

    def finish(self) -> Cost:
        for place, send in enumerate(self._sends):
            self._run_until(send.time)
            self._place = place
            self._send(send)
        self._is_counted = False
        self._run_until(float("inf"))
        half = self._messages // 2
        values = np.array(self._bytes[half:], dtype=np.float64)
        stretch = sum(self._delays_s[half:]) / sum(self._least_s[half:])
        found = drift(values)
        return Cost(float(values.mean()), stretch, found.share, found.is_drifting)

    def _send(self, send: Send) -> None:
        process = send.process
        self._numbers[process] += 1
        message = Message(MessageId(process, self._numbers[process]), send.destinations)
        (to,) = members(send.destinations)
        self._sent_s[message.id] = self._place, send.time
        self._least_s[self._place] = self._far[process][to] * HOP_S
        effects = self._orders[process].send(message, send.time)
        self._carry_out(process, effects, send.time)

    def _run_until(self, time: float) -> None:
        heap = self._heap
        while heap and heap[0][0] <= time:
            now, _, process, packet = heappop(heap)
            order = self._orders[process]
            effects = order.wake(now) if packet is None else order.receive(packet, now)
            self._carry_out(process, effects, now)

    def _carry_out(self, process: int, effects: list[Effect], now: float) -> None:
        for effect in effects:
            if isinstance(effect, Transmit):
                self._transmit(process, effect, now)
            elif isinstance(effect, Deliver):
                place, sent_s = self._sent_s.pop(effect.message.id)
                self._delays_s[place] = now - sent_s
            elif isinstance(effect, Wake):
                heappush(self._heap, (effect.at, next(self._sequence), process, None))

    def _transmit(self, process: int, effect: Transmit, now: float) -> None:
        stamp = effect.packet.stamp
        stamp_bytes = len(encode_stamp(stamp)) if self._is_counted else 0
        for to in members(effect.to):
            hops = 1 if self._is_routed else self._far[process][to]
            if self._is_counted:
                self._bytes[self._place] += hops * stamp_bytes
            at = now + sum(self._random.expovariate(1 / HOP_S) for _ in range(hops))
            if self._scheme.fifo:
                at = self._last[process, to] = max(at, self._last.get((process, to), 0.0))
            heappush(self._heap, (at, next(self._sequence), to, effect.packet))
