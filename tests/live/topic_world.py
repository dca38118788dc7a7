"""Topics over an order, in every interleaving of small programs.

Each of three processes does a few things: `S` comes to topic x, `U` leaves it, `x` and `y` send to
these topics; everybody is in y. Packets arrive in any order, each once. The judge computes what
happened before what from sends and deliveries alone.

`python -m tests.live.topic_world` runs every program of three actions, in minutes; the test a few.
"""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

from antecede.live import Delivery, Message
from antecede.live.conversation import Conversation
from antecede.message import Membership, MessageId
from antecede.message import Message as Carried
from antecede.order import Deliver, Order, Packet, Transmit
from antecede.protocols import find, parse_options

NAMES = ("a", "b", "c")
Program = tuple[str, ...]


class Sent(NamedTuple):
    """A message, as the judge knows it."""

    sender: int
    number: int
    action: str


class Process:
    """An order, what the application makes of its deliveries, and notes for the judge."""

    def __init__(self, process: int, protocol: str, make: Callable[[int], Conversation]) -> None:
        self.me = process
        kind: type[Order] = find(protocol)
        self.order = kind(process, Membership(len(NAMES)), parse_options(protocol, {}))
        self.conversation = make(process)
        self.past: frozenset[Sent] = frozenset()
        self.done = 0
        self.log: tuple[Any, ...] = ()
        self.given: tuple[Sent, ...] = ()


class World:
    """Three processes and what is on its way between them."""

    def __init__(
        self, program: Program, protocol: str, make: Callable[[int], Conversation]
    ) -> None:
        self.program = program
        self.processes = [Process(one, protocol, make) for one in range(len(NAMES))]
        self.flying: list[tuple[int, Packet[Any]]] = []
        self.sent: dict[MessageId, Sent] = {}
        self.pasts: dict[Sent, frozenset[Sent]] = {}
        """What happened before each message was sent."""

    def choices(self) -> list[int]:
        """What may happen next: a process acts (-1 and below), or a packet arrives."""
        able = [one.me for one in self.processes if one.done < len(self.program[one.me])]
        return [*(-1 - process for process in able), *range(len(self.flying))]

    def take(self, choice: int) -> None:
        if choice < 0:
            self._act(self.processes[-1 - choice])
        else:
            self._arrive(choice)

    def _act(self, process: Process) -> None:
        action = self.program[process.me][process.done]
        process.done += 1
        payload = _payload(process.conversation, action)
        message = Carried(MessageId(process.me, process.done), 7, 0, payload)
        sent = Sent(process.me, process.done, action)
        self.sent[message.id] = sent
        self.pasts[sent] = process.past
        process.log += (("send", action),)
        self._carry_out(process, process.order.send(message))

    def _arrive(self, index: int) -> None:
        to, packet = self.flying.pop(index)
        process = self.processes[to]
        process.log += (("arrive", packet.source, packet.message and packet.message.id),)
        self._carry_out(process, process.order.receive(packet))

    def _carry_out(self, process: Process, effects: list[Any]) -> None:
        for effect in effects:
            if isinstance(effect, Transmit):
                others = [to for to in range(len(NAMES)) if effect.to >> to & 1]
                self.flying += [(to, effect.packet) for to in others]
            elif isinstance(effect, Deliver):
                self._deliver(process, effect.message)

    def _deliver(self, process: Process, message: Carried) -> None:
        sent = self.sent[message.id]
        process.past |= {sent} | self.pasts[sent]
        delivery = Delivery(NAMES[sent.sender], message.payload)
        event = process.conversation.understand(delivery)
        is_given = isinstance(event, Message)
        _judge_one(process, sent, self.pasts[sent], is_given)
        if is_given:
            early = [one for one in process.given if sent in self.pasts[one]]
            assert not early, f"{process.me} was given {early} before {sent}"
            process.given += (sent,)

    def key(self) -> Any:
        return tuple(process.log for process in self.processes)


def _payload(conversation: Conversation, action: str) -> bytes:
    match action:
        case "S":
            return conversation.subscription(came="x")
        case "U":
            return conversation.subscription(left="x")
        case _:
            return conversation.in_topic(action, b"")


def _judge_one(process: Process, sent: Sent, past: frozenset[Sent], is_given: bool) -> None:
    """Who is in a topic is given what is sent to it, and nobody else."""
    own = sorted(one for one in process.past if one.sender == process.me and one.action in "SU")
    is_in = bool(own) and own[-1].action == "S"
    if sent.action in "SU":
        assert not is_given, f"{process.me} was given {sent}"
        return
    expected = sent.action == "y" or is_in
    assert is_given == expected, f"{process.me} was given {sent}: {is_given}"
    # In particular: whoever has seen it come reaches it, as long as it stays.
    known = [one for one in past if one.sender == process.me and one.action == "S"]
    has_left = any(one.action == "U" for one in own)
    assert is_given or sent.action == "y" or not known or has_left


def _judge_end(world: World) -> None:
    """In the end all know the same of everybody who has said anything, and that is the last."""
    said = {
        NAMES[number]: [one for one in actions if one in "SU"]
        for number, actions in enumerate(world.program)
    }
    for process in world.processes:
        topics = process.conversation.topics
        speakers = {name for name, words in said.items() if words} | {NAMES[process.me]}
        assert topics.members("y") == tuple(sorted(speakers))
        assert topics.members("x") == tuple(name for name in NAMES if said[name][-1:] == ["S"])


def conversation(process: int) -> Conversation:
    async def nobody_asks(*_: Any) -> bool:
        raise AssertionError

    return Conversation(NAMES[process], 1, None, ["y"], nobody_asks)


def explore(
    program: Program,
    protocol: str = "vector",
    make: Callable[[int], Conversation] = conversation,
) -> int:
    """Every interleaving; how many ends there are. Two that look the same to every process are
    one."""
    seen = set()
    ends = 0
    schedules: list[tuple[int, ...]] = [()]
    while schedules:
        schedule = schedules.pop()
        world = World(program, protocol, make)
        for choice in schedule:
            world.take(choice)
        if world.key() in seen:
            continue
        seen.add(world.key())
        choices = world.choices()
        schedules += [(*schedule, choice) for choice in choices]
        if not choices:
            ends += 1
            _judge_end(world)
    return ends


def programs() -> list[Program]:
    """All of three actions, at three processes or at two."""
    apart = [tuple(three) for three in product("SUxy", repeat=3)]
    pairs = ["".join(pair) for pair in product("SUxy", repeat=2)]
    return [*apart, *((pair, other, "") for pair, other in product(pairs, "SUxy"))]


if __name__ == "__main__":
    total = 0
    for count, one in enumerate(programs(), start=1):
        total += explore(one)
        print(
            f"\r{count} of {len(programs())} programs, {total:,} interleavings", end="", flush=True
        )
    print()
