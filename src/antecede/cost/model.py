"""Estimates: closed forms first, fitted laws for the rest."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from antecede.cost import wire
from antecede.cost.closed import Form, closed
from antecede.cost.fitted import Law, key, laws
from antecede.cost.traffic import Kind, Traffic

__all__ = ["FITTED", "MEASURES", "Figure", "estimate", "variant_of"]

MEASURES: Final = ("entries", "bytes", "state", "memory", "packets", "ordering", "delay")
"""Elements and bytes of a stamp; elements and bytes of a state; packets and bytes of ordering
information for one message; seconds from send to delivery."""
FITTED: Final = ("entries", "bytes", "state", "memory", "copies", "control", "ordering", "wait")
"""What laws are fitted for, where there is no closed form; and `pace`, of the blocks."""


_FIELD_HELD: Final = 64
"""Among more processes the mean field is not claimed: it was not held there."""


_BYTE_LAWS: Final = ("bytes", "memory", "ordering")
_NUMBERS_HELD: Final = 128
"""Messages of a process beyond which no law in bytes is claimed: in the runs that it was fitted to,
numbers took one byte, and they take more then."""


class Figure(msgspec.Struct, frozen=True):
    """An estimate. Claimed is what was held to the simulator within the tolerance."""

    value: float
    claimed: bool
    how: str
    """`closed` or `fitted`."""


def variant_of(protocol: str, options: Mapping[str, Any]) -> str:
    """A protocol with its options, as people write them; a choice of group sizes is none."""
    given = [f"{name}={value}" for name, value in options.items() if name != "sizes"]
    return " ".join([protocol, *given])


class _Parts:
    """The parts of an estimate: each from its closed form, or from its law."""

    def __init__(
        self, variant: str, form: Form, traffic: Traffic, known: Mapping[str, Law]
    ) -> None:
        self._variant, self._form, self._traffic, self._known = variant, form, traffic, known

    def law(self, measure: str, variant: str = "") -> Figure | None:
        law = self._known.get(key(variant or self._variant, self._traffic.kind, measure))
        if law is None:
            return None
        place = placed(self._form, measure, self._traffic)
        value = law.at(place) * self._form.bases.get(measure, 1.0)
        is_narrow = measure not in _BYTE_LAWS or self._traffic.sent[1] <= _NUMBERS_HELD
        return Figure(value, law.claims(place) and is_narrow, "fitted")

    def part(self, measure: str) -> Figure | None:
        value = getattr(self._form, measure, None)
        if value is None:
            return self.law(measure)
        return Figure(value, measure not in self._form.doubted, "closed")


def placed(form: Form, measure: str, traffic: Traffic) -> Traffic:
    """Where the law of a measure is taken."""
    processes = round(form.places.get(measure, traffic.processes))
    return msgspec.structs.replace(traffic, processes=processes)


def estimate(
    protocol: str,
    options: Mapping[str, Any],
    traffic: Traffic,
    known: Mapping[str, Law] | None = None,
) -> dict[str, Figure]:
    """What a protocol would cost on some traffic, by measure (`MEASURES`); what is not known at all
    is left out, so an unknown protocol gives nothing. `known`: laws in the place of those that are
    shipped. Raises nothing for the traffic that `traffic_of` gives.

        scenario = make_scenario({"protocol": "vector", "processes": 200})
        figures = estimate("vector", {}, traffic_of(scenario))
        print(figures["bytes"].value, figures["bytes"].claimed)
    """
    known = laws() if known is None else known
    if protocol == "separators" and traffic.tree is None and not options:
        protocol = "histories"  # all are in one zone, where it does the same
    form = closed(protocol, options, traffic)
    parts = _Parts(variant_of(protocol, options), form, traffic, known)
    _derive(protocol, form, parts, traffic)
    if traffic.processes > _FIELD_HELD:
        form.doubted |= {"wait"} | ({"entries", "bytes"} if protocol == "optimal" else set())
    found = {name: parts.part(name) for name in ("entries", "bytes", "state")}
    copies, control = parts.part("copies"), parts.part("control")
    found["packets"] = _sum(copies, control)
    wait = parts.part("wait")
    is_known = traffic.is_exponential and (traffic.kind is not Kind.GROUPS or traffic.groups > 2)
    claims = bool(wait and wait.claimed and is_known)
    found["delay"] = wait and Figure(wait.value * traffic.delay_s, claims, wait.how)
    found["memory"] = _memory(form, found, traffic) or parts.law("memory")
    found["ordering"] = _ordering(form, found["bytes"], copies, control) or parts.law("ordering")
    return {name: figure for name in MEASURES if (figure := found[name]) is not None}


def _derive(protocol: str, form: Form, parts: _Parts, traffic: Traffic) -> None:
    """What closed forms take from laws: the pace of block numbers, what histories cite, and the
    extra messages that a matrix counts."""
    first, last = traffic.sent
    n = traffic.processes
    is_to_all = protocol == "optimal" and traffic.kind is Kind.BROADCAST
    if is_to_all and (cited := parts.law("entries", "histories")):
        form.entries = 2 * n + cited.value
        form.doubted |= set() if cited.claimed else {"entries", "bytes"}
        each = 3 + wire.counts(first, last)
        form.bytes = 1 + wire.array(n) + n * each + cited.value * wire.count(n)
    if form.entries and protocol == "bounded" and (extra := parts.law("control")):
        share = (traffic.copies + extra.value) / (n - 1)
        width = wire.counts(share * first, share * last)
        form.doubted |= set() if extra.claimed or width == 1 else {"bytes"}
        form.bytes = 1 + wire.array(form.entries) + form.entries * (1 + 2 * wire.count(n) + width)
    if protocol.startswith("blocks") and (pace := parts.law("pace")):
        number = wire.counts(pace.value * first, pace.value * last)
        form.doubted |= set() if pace.claimed else {"bytes"}
        if protocol == "blocks-slow":
            form.bytes, form.control_bytes = 2 + number, 2 + number
        elif protocol == "blocks-fast":
            form.bytes = 1 + number + wire.bits(n) + wire.array(n) + n * number
            form.control_bytes = 4 + number
        else:
            size, others = traffic.group_size, traffic.groups - 1
            form.bytes = 2 + number + wire.array(size) + size * number
            form.bytes += wire.array(others) + others * (2 + number)
            form.control_bytes = 4 + number


def _sum(copies: Figure | None, control: Figure | None) -> Figure | None:
    if copies is None or control is None:
        return None
    how = copies.how if control.value == 0 else control.how
    claimed = copies.claimed and control.claimed
    return Figure(copies.value + control.value, claimed, how)


def _memory(form: Form, found: Mapping[str, Figure | None], traffic: Traffic) -> Figure | None:
    """The own state, and the messages that are held: as many as arrive while one waits."""
    size = found["bytes"]
    if form.kept is None or form.wait is None or size is None:
        return None
    held = traffic.load * traffic.copies * (form.wait - form.travel)
    waiting = held * (size.value + _frame(traffic))
    return Figure(form.kept + waiting, waiting < form.kept / 4, "closed")


def _frame(traffic: Traffic) -> float:
    """Bytes of a held message besides its stamp: its key, its header, its destinations."""
    named = traffic.processes / 2 if traffic.kind is Kind.UNICAST else traffic.processes
    return 12 + wire.bits(named) + 2 * wire.counts(*traffic.sent)


def _ordering(
    form: Form, size: Figure | None, copies: Figure | None, control: Figure | None
) -> Figure | None:
    """Stamps on all copies, and what is on packets of its own."""
    if size is None or copies is None or control is None or form.control_bytes is None:
        return None
    own = control.value * form.control_bytes
    claimed = size.claimed and copies.claimed and control.claimed
    how = size.how if control.value == 0 else control.how
    return Figure(copies.value * size.value + own, claimed, how)
