"""What causal order costs a message on a network, and how long it takes, scheme by scheme.

Application processes live at the nodes of a network, one at each. A hop takes an exponential time,
50 ms on average, from a process to the server of its node as from node to node. What goes hop by
hop is routed by the overlay; what goes end to end takes a shortest way, all of whose hops are
counted, too. So all schemes carry the same messages over the same network, and what is counted is
comparable: the bytes of ordering information that a message causes on all links together, packets
of the protocol's own included, and its delay from the send to the delivery over that of a shortest
way without any waiting (the *stretch*).

The first half of a run is dropped, and so is what happens after the last send; where nothing grows
(`flood` has no stamps) all is counted.

On a tree of single routers with FIFO links no stamp is needed at all: whatever one process forwards
after another comes after it on the only way there is. So one run gives two schemes: the tree with
the stamps of R9, and the same tree without any (`FIFO tree`).
"""

import random
from collections.abc import Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

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
    """A protocol with options, on FIFO links or not; whether what it sends grows at first."""

    protocol: str
    options: Mapping[str, Any]
    fifo: bool = False
    grows: bool = True


SCHEMES = {
    "tree": Scheme("separators", {"routes": "tree"}, fifo=True),
    "shortest": Scheme("separators", {"routes": "shortest"}),
    "shortest, no R9": Scheme("separators", {"routes": "shortest", "regions": []}),
    "flood": Scheme("separators", {"routes": "flood"}, fifo=True, grows=False),
    "histories": Scheme("histories", {}),
    "optimal": Scheme("optimal", {}),
}


class Cost(NamedTuple):
    """Of a message, on average."""

    stamp_bytes: float
    hops: float
    stretch: float
    drift: float
    """By what part the bytes of the last quarter of a run exceed those of the third."""


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
        self._sent_s: dict[MessageId, tuple[float, int]] = {}
        self._is_counted = False
        self._bytes = [0, 0]
        """In the third quarter, and in the last."""
        self._quarter = 0
        self._hops = self._counted = 0
        self._delay_s = self._least_s = 0.0

    def finish(self) -> Cost:
        for place, send in enumerate(self._sends):
            self._run_until(send.time)
            self._is_counted = 2 * place >= self._messages or not self._scheme.grows
            self._quarter = int(4 * place >= 3 * self._messages)
            self._send(send)
        self._is_counted = not self._scheme.grows
        self._run_until(float("inf"))
        messages = self._counted
        return Cost(
            sum(self._bytes) / messages,
            self._hops / messages,
            self._delay_s / self._least_s,
            self._bytes[1] / max(1, self._bytes[0]) - 1 if self._scheme.grows else 0.0,
        )

    def _send(self, send: Send) -> None:
        process = send.process
        self._numbers[process] += 1
        message = Message(MessageId(process, self._numbers[process]), send.destinations)
        if self._is_counted:
            (to,) = members(send.destinations)
            self._sent_s[message.id] = send.time, self._far[process][to]
            self._counted += 1
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
                if effect.message.id in self._sent_s:
                    sent_s, far = self._sent_s.pop(effect.message.id)
                    self._delay_s += now - sent_s
                    self._least_s += far * HOP_S
            elif isinstance(effect, Wake):
                heappush(self._heap, (effect.at, next(self._sequence), process, None))

    def _transmit(self, process: int, effect: Transmit, now: float) -> None:
        stamp = effect.packet.stamp
        stamp_bytes = len(encode_stamp(stamp)) if self._is_counted else 0
        for to in members(effect.to):
            hops = 1 if self._is_routed else self._far[process][to]
            if self._is_counted:
                self._hops += hops
                self._bytes[self._quarter] += hops * stamp_bytes
            at = now + sum(self._random.expovariate(1 / HOP_S) for _ in range(hops))
            if self._scheme.fifo:
                at = self._last[process, to] = max(at, self._last.get((process, to), 0.0))
            heappush(self._heap, (at, next(self._sequence), to, effect.packet))
