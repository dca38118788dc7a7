"""The protocol that a group runs: what all its members must have chosen alike."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from zlib import crc32

import msgspec

from antecede.errors import Misuse
from antecede.histories.labels import Labels
from antecede.live.ordering.incomplete import ContextOrder
from antecede.message import Membership
from antecede.order import Addressing, Options, Order, Stamp
from antecede.protocols import find, is_overlay, parse_options

_OPTIONS_SHOWN: Final = 100


class ProtocolChoice:
    """A protocol with its options, the named groups and the labels."""

    def __init__(
        self,
        protocol: str,
        options: Mapping[str, Any],
        named_groups: Mapping[str, Sequence[str]] | None = None,
        labels: Sequence[str] = (),
    ) -> None:
        if labels and (named_groups or protocol in (ContextOrder.name, "piggyback")):
            raise Misuse("labels go neither with named groups nor with contexts nor with piggyback")
        if protocol != ContextOrder.name and is_overlay(protocol):
            raise Misuse(
                f"{protocol} is an overlay: its processes are those of a scenario (join_overlay, "
                "or antecede node --scenario)"
            )
        self.protocol = protocol
        self.named_groups = dict(named_groups or {})
        self.labels = tuple(labels)
        self._options = (
            Options() if protocol == ContextOrder.name else parse_options(protocol, options)
        )
        if (
            protocol != ContextOrder.name
            and find(protocol).variant(self._options).traits.takes_back
        ):
            raise Misuse(
                "recovery=rollback takes deliveries back, which applications outside of the "
                "simulator cannot; live, views make up for who fails: leave the option out"
            )

    def check_durable(self) -> None:
        """Refuse what a log cannot keep: it remembers of each sender only the last message that was
        delivered, which stands for all before it as long as none overtakes another."""
        if self.labels or self.protocol == ContextOrder.name:
            what = "labels" if self.labels else f"protocol '{ContextOrder.name}'"
            raise Misuse(
                f"a log does not go with {what}: a message that was overtaken, and still waited "
                "when the member was killed, would be lost; join without a log, or in another order"
            )

    @property
    def is_in_contexts(self) -> bool:
        """Whether the application holds what messages follow."""
        return self.protocol == ContextOrder.name

    @property
    def addresses_sets(self) -> bool:
        """Whether a message may go to any members."""
        if self.labels or self.is_in_contexts:
            return False
        return find(self.protocol).variant(self._options).traits.addressing is Addressing.SETS

    @property
    def text(self) -> str:
        """All of it, for comparison and for people."""
        options = msgspec.to_builtins(self._options)
        chosen = ", ".join(f"{key}={value}" for key, value in sorted(options.items()))
        text = f"{self.protocol}({chosen[:_OPTIONS_SHOWN]})" if chosen else self.protocol
        if len(chosen) > _OPTIONS_SHOWN:
            text += f" and more {crc32(chosen.encode()):08x}"
        if self.named_groups:
            groups_text = repr([(name, sorted(of)) for name, of in self.named_groups.items()])
            text += f" with groups {crc32(groups_text.encode()):08x}"
        if self.labels:
            text += f" with labels {crc32(repr(self.labels).encode()):08x}"
        return text

    @property
    def stamp_type(self) -> type[Stamp]:
        """Of what the order puts on packets."""
        if self.labels:
            return Labels.stamp_type
        if self.protocol == ContextOrder.name:
            return ContextOrder.stamp_type
        return find(self.protocol).stamp_type

    def make_order(self, process: int, membership: Membership) -> Order:
        if self.labels:
            return Labels(process, membership, len(self.labels), self._make_one)
        return self._make_one(process, membership)

    def _make_one(self, process: int, membership: Membership) -> Order:
        if self.protocol == ContextOrder.name:
            return ContextOrder(process, membership)
        return find(self.protocol)(process, membership, self._options)
