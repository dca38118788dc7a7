"""From a process to the arrivals of its packets: sizes of stamps, the fates of copies, and the hop
messages of overlays."""

from collections.abc import Iterable, Sequence
from heapq import heappush
from math import inf
from typing import Any

from antecede.message import Message, MessageId, ProcessSet, members
from antecede.order import Effect, Order, Packet, Stamp, Transmit
from antecede.overlays import Overlay
from antecede.simulate.agenda import Agenda
from antecede.simulate.attendance import Receiver
from antecede.simulate.clocks import Clocks
from antecede.simulate.flights import Flight
from antecede.simulate.links import Fate, Links
from antecede.simulate.observer import Observer
from antecede.simulate.recorder import Recorder
from antecede.simulate.records import HOP_DELIVER, HOP_RECEIVE, HOP_SEND, pack_record
from antecede.simulate.sampling import Carried as CarriedSoFar
from antecede.simulate.scenario import Scenario
from antecede.trace import NO_STAMP
from antecede.wire import encode_stamp

_MEMBER_LISTS = 1024
"""Destination sets whose members are remembered."""


class Carried:
    """What the network carried: packets and the bytes of their stamps."""

    __slots__ = ("packets", "stamp_bytes")

    def __init__(self) -> None:
        self.packets = 0
        self.stamp_bytes = 0

    def add(self, packets: int, stamp_bytes: int) -> None:
        self.packets += packets
        self.stamp_bytes += packets * stamp_bytes


class Transport:
    def __init__(
        self,
        scenario: Scenario,
        recorder: Recorder,
        agenda: Agenda,
        observer: Observer | None,
        is_overlay: bool,
        counts: bool = True,
    ) -> None:
        """`counts`: whether what packets carry is counted (`copies`, `control`)."""
        self._recorder, self._agenda, self._observer = recorder, agenda, observer
        self._is_overlay, self._counts = is_overlay, counts
        self._links = Links(scenario)
        self._is_plain = (
            self._links.application.is_plain and self._links.is_direct and not is_overlay
        )
        self._hops: dict[MessageId, ProcessSet] = {}
        """Of the hop messages on their way, who has not received them."""
        self._member_lists: dict[ProcessSet, tuple[int, ...]] = {}
        self._stamp: Stamp | None = None
        self._stamp_size = (NO_STAMP, NO_STAMP)
        self.copies = Carried()
        self.control = Carried()

    def so_far(self, now: float) -> CarriedSoFar:
        copies, control = self.copies, self.control
        return CarriedSoFar(
            now, copies.packets, copies.stamp_bytes, control.packets, control.stamp_bytes
        )

    def set_out(
        self, message: Message, flight: Flight, effects: list[Effect], now: float
    ) -> list[Effect]:
        """The network learns of a message with what its send has caused; what is left to do."""
        process = message.id.sender
        others = message.destinations & ~(1 << process)
        copies = self._members(others)
        lane = self._links.application
        first = effects[0] if self._is_plain and effects else None
        if type(first) is Transmit and first.to == others and first.packet.message is message:
            # One stamp for all, over links that only delay: the usual case, and worth a short cut.
            packet = first.packet
            size = self._measure(packet.stamp)
            self._recorder.sends.append((message.destinations, *size))
            self.copies.add(len(copies), size[1])
            heap, next_sequence = self._agenda.heap, self._agenda.sequence.__next__
            for destination, delay in zip(copies, lane.delays(process, len(copies)), strict=True):
                heappush(heap, (now + delay, next_sequence(), destination, packet, flight))
            return effects[1:]
        size = self._size_of_copies(message, effects)
        self._recorder.sends.append((message.destinations, *size))
        if not self._is_overlay:
            flight.fates = dict(zip(copies, lane.fates(process, copies), strict=True))
        return effects

    def transmit(
        self, source: int, packet: Packet[Any], to: ProcessSet, flight: Flight | None, now: float
    ) -> None:
        """A copy of an application message meets the fate that was drawn for it when the message
        was sent; every other packet draws a new one."""
        message = packet.message
        destinations = self._members(to)
        size = (NO_STAMP, NO_STAMP)
        if self._counts:
            is_control = message is None and not packet.stamp.messages()
            carried = self.control if is_control else self.copies
            size = self._measure(packet.stamp)
            carried.add(len(destinations), size[1])
        if self._observer is not None:
            self._observer.sent(packet)
        if self._is_overlay:
            self._send_hop(MessageId(source, packet.stamp.number), to, size, now)
            self._recorder.bare_hops += message is None
        links, heap, sequence = self._links, self._agenda.heap, self._agenda.sequence
        if flight is not None and flight.fates and message and message.id.sender == source:
            fates = self._mixed_fates(source, destinations, flight.fates)
        else:
            fates = links.control.fates(source, destinations)
        is_direct = links.is_direct
        for destination, fate in zip(destinations, fates, strict=True):
            for delay in fate:
                time = now + delay if is_direct else links.arrival(source, destination, now, delay)
                if time < inf:
                    heappush(heap, (time, next(sequence), destination, packet, flight))

    def receiver(self, order: Order, clocks: Clocks | None) -> Receiver:
        """How a process receives: what happens to the hop messages of an overlay is recorded."""
        take = order.receive if clocks is None else _by_the_clock(order, clocks)
        if not isinstance(order, Overlay):
            return take
        process, bit = order.process, 1 << order.process

        def receive(packet: Packet[Any], now: float) -> list[Effect]:
            hop = MessageId(packet.source, packet.stamp.number)
            missing = self._hops.get(hop, 0)
            if missing & bit:
                self._record_hop(HOP_RECEIVE, process, hop, now)
                self._recorder.bare_hops += packet.message is None
                if missing == bit:
                    del self._hops[hop]
                else:
                    self._hops[hop] = missing ^ bit
            effects = take(packet, now)
            for delivered in order.hops:
                self._record_hop(HOP_DELIVER, process, delivered, now)
            self._recorder.bare_hops += len(order.hops) if packet.message is None else 0
            return effects

        return receive

    def _mixed_fates(
        self, source: int, destinations: Sequence[int], drawn: dict[int, Fate]
    ) -> list[Fate]:
        """Of each destination the fate that was drawn for it, or a new one."""
        undrawn = [destination for destination in destinations if destination not in drawn]
        fates = iter(self._links.control.fates(source, undrawn) if undrawn else ())
        return [
            drawn.pop(destination) if destination in drawn else next(fates)
            for destination in destinations
        ]

    def _size_of_copies(self, message: Message, effects: Iterable[Effect]) -> tuple[int, int]:
        """Elements and bytes of the largest stamp that a message sets out with."""
        entries = stamp_bytes = NO_STAMP
        for effect in effects:
            if type(effect) is Transmit and (
                effect.packet.message is message or effect.packet.stamp.messages()
            ):
                size = self._measure(effect.packet.stamp)
                entries, stamp_bytes = max(entries, size[0]), max(stamp_bytes, size[1])
        return entries, stamp_bytes

    def _measure(self, stamp: Stamp) -> tuple[int, int]:
        """Elements and bytes of a stamp. The same one is often met several times in a row."""
        if stamp is not self._stamp:
            self._stamp = stamp
            size = len(encode_stamp(stamp)) - stamp.payload_bytes()
            self._stamp_size = (stamp.entries(), size)
        return self._stamp_size

    def _send_hop(self, hop: MessageId, to: ProcessSet, size: tuple[int, int], now: float) -> None:
        self._hops[hop] = to
        self._record_hop(HOP_SEND, hop.sender, hop, now)
        self._recorder.sends.append((to, *size))

    def _record_hop(self, kind: int, process: int, hop: MessageId, now: float) -> None:
        self._recorder.buffer += pack_record(kind, process, *hop, now, now, now)

    def _members(self, bits: ProcessSet) -> tuple[int, ...]:
        found = self._member_lists.get(bits)
        if found is None:
            if len(self._member_lists) == _MEMBER_LISTS:
                self._member_lists.clear()
            found = self._member_lists[bits] = tuple(members(bits))
        return found


def _by_the_clock(order: Order, clocks: Clocks) -> Receiver:
    """It is told what its own clock shows."""
    process, take, shown = order.process, order.receive, clocks.shown

    def receive(packet: Packet[Any], now: float) -> list[Effect]:
        return take(packet, shown(process, now))

    return receive
