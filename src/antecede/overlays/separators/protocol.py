"""The routed overlay: `routes` says which machine runs at a process.

Each machine is an overlay of its own, with its own stamps, state and traits; this one hands on.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from antecede.errors import Misuse
from antecede.message import Membership, Message, MessageId, ProcessSet
from antecede.order import Effect, Held, Options, Packet, Stamp, Traits
from antecede.overlays import Overlay
from antecede.overlays.separators.failover import Failover
from antecede.overlays.separators.flood import Flood
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.shortest import Shortest
from antecede.overlays.separators.tree import Hop, State, Tree

MACHINES: dict[str, type[Tree] | type[Flood] | type[Shortest]] = {
    "direct": Tree,
    "tree": Tree,
    "flood": Flood,
    "shortest": Shortest,
}
"""By what `routes` says."""


def _machine(options: SeparatorsOptions) -> type[Overlay]:
    """Where one router of a set forwards and somebody watches, others take its place."""
    machine: type[Overlay] = MACHINES[options.routes]
    if machine is Tree and options.suspect_after_s and options.forwarding == "one":
        return Failover
    return machine


USED = {
    Tree: {"zones", "forwarding", "filters", "own_implied", "gateways"},
    Flood: {"forwarding"},
    Shortest: {"regions", "write_ahead", "recovery"},
}
"""The options that are not for every way to route."""


def _check_used(options: SeparatorsOptions) -> None:
    """Refuse what the chosen way to route would pass over."""
    used = USED[MACHINES[options.routes]]
    for name in sorted(set().union(*USED.values()) - used):
        if getattr(options, name) != getattr(_DEFAULTS, name):
            fitting = [one for one, machine in MACHINES.items() if name in USED[machine]]
            raise Misuse(
                f"routes={options.routes} does not use {name}; leave it out, or set routes to "
                f"{' or '.join(fitting)}"
            )


_DEFAULTS = SeparatorsOptions()


class Separators(Overlay):
    traits = msgspec.structs.replace(
        Tree.traits,
        crashes_under=(
            "forwarding=all",
            "suspect_after_s=1",
            "routes=flood suspect_after_s=1",
            "routes=shortest write_ahead=true suspect_after_s=1",
        ),
    )
    options_type = SeparatorsOptions
    stamp_type: type[Stamp] = Hop
    state_type: type[msgspec.Struct] = State

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        chosen = self.options_type() if options is None else options
        if not isinstance(chosen, SeparatorsOptions):
            raise Misuse(f"{type(chosen).__name__} are no options of separators")
        _check_used(chosen)
        is_tree = MACHINES[chosen.routes] is Tree
        if (chosen.latecomers or chosen.later_links) and not (is_tree or chosen.suspect_after_s):
            raise Misuse("who comes later is let in by those who watch; set suspect_after_s")
        self.machine = _machine(chosen)(process, membership, chosen)
        self.stamp_type = self.machine.stamp_type
        self.state_type = self.machine.state_type
        super().__init__(process, membership, chosen)

    @classmethod
    def traits_under(cls, options: Options) -> Traits:
        known = options if isinstance(options, SeparatorsOptions) else SeparatorsOptions()
        return _machine(known).traits_under(options)

    @classmethod
    def check_loss(cls, options: Mapping[str, Any]) -> None:
        if options.get("routes") == "flood" and options.get("forwarding", "one") == "one":
            raise Misuse(
                "routes=flood with forwarding=one needs links that lose nothing, for a message "
                "must not come where its header is lost; drop the losses, or set forwarding=all"
            )

    @property
    def state(self) -> Any:
        return self.machine.state

    @state.setter
    def state(self, state: Any) -> None:
        self.machine.state = state

    def initial_state(self) -> Any:
        return self.machine.initial_state()

    def resume(self) -> None:
        self.machine.resume()

    @property
    def hosts(self) -> ProcessSet:
        return self.machine.hosts

    @property
    def hops(self) -> list[MessageId]:
        return self.machine.hops

    @hops.setter
    def hops(self, hops: list[MessageId]) -> None:
        self.machine.hops = hops

    def check_addressing(self, message: Message) -> None:
        self.machine.check_addressing(message)

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        return self.machine.send(message, now)

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        return self.machine.receive(packet, now)

    def wake(self, now: float) -> list[Effect]:
        return self.machine.wake(now)

    def join(self, now: float = 0.0, talks_with: ProcessSet = 0) -> list[Effect]:
        return self.machine.join(now, talks_with)

    def connect(self, other: int, now: float = 0.0) -> list[Effect]:
        return self.machine.connect(other, now)

    def remembered(self) -> bytes:
        return self.machine.remembered()

    def recall(self, memory: bytes) -> None:
        self.machine.recall(memory)

    def owes_despite(self, crashed: ProcessSet) -> bool:
        return self.machine.owes_despite(crashed)

    def lost_with(self, crashed: ProcessSet) -> ProcessSet:
        return self.machine.lost_with(crashed)

    def held(self) -> list[Held]:
        return self.machine.held()

    def entries(self) -> int:
        return self.machine.entries()

    def entries_bound(self) -> int | None:
        return self.machine.entries_bound()
