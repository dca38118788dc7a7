"""Rodrigues, Verissimo: joins, fully delivered messages."""

from collections.abc import Callable
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from antecede.histories import Confirming
from antecede.message import Membership
from antecede.orders.histories import Entry, Timestamp
from antecede.protocols import create
from antecede.wire import encode_stamp
from tests.papers import test_separators_4_4_joins as section4_4
from tests.papers import test_separators_4_5_evidence as evidence_tests
from tests.papers import test_separators_4_5_time as time_tests
from tests.papers.harness import run, traffic
from tests.papers.joins_lab import Flush, Lab, Way

JOINS = 500


class _Join(NamedTuple):
    case: str
    histories: str
    first: str
    gateways: int
    witnesses: int
    fail: Callable[[Lab, Random], list[int]]
    way: Way
    flush: Flush = Flush.NOTHING


_NOBODY, _ONE, _ALL = section4_4.nobody, section4_4.one_gateway, section4_4.all_gateways
_OF_FAILED, _TO_MEMBERS = Flush.OF_FAILED, Flush.TO_MEMBERS
_SENT, _COMING = "what failed members sent", "what is on its way to them"
_JOINS = [
    _Join("(iii), two members, none fails", "of one", "–", 2, 0, _NOBODY, Way.ONE_MEMBER),
    _Join("", "of all", "–", 2, 0, _NOBODY, Way.MEMBERS),
    _Join("(iii), one of two fails", "of the survivor", "nothing", 2, 0, _ONE, Way.MEMBERS),
    _Join("", "", _SENT, 2, 0, _ONE, Way.MEMBERS, _OF_FAILED),
    _Join("", "", "what is on its way to it", 2, 0, _ONE, Way.MEMBERS, _TO_MEMBERS),
    _Join(
        "(iv), a gateway fails, two witnesses",
        "of one witness, as printed",
        "nothing",
        1,
        2,
        _ALL,
        Way.ONE_MEMBER,
    ),
    _Join("", "of both", "nothing", 1, 2, _ALL, Way.MEMBERS),
    _Join("", "of both", _SENT, 1, 2, _ALL, Way.MEMBERS, _OF_FAILED),
    _Join("", "of both", _COMING, 1, 2, _ALL, Way.MEMBERS, _TO_MEMBERS),
    _Join("(iv), two members, both fail", "of nobody", "–", 2, 0, _ALL, Way.NOBODY),
    _Join("", "of all of F and B (checkpoint), as printed", "nothing", 2, 0, _ALL, Way.CHECKPOINT),
    _Join("", "of all of F and B", _SENT, 2, 0, _ALL, Way.CHECKPOINT, _OF_FAILED),
    _Join("", "the memory of the last one, as printed", "–", 2, 0, _ALL, Way.LAST_STABLE),
    _Join("", "both memories", "–", 2, 0, _ALL, Way.STABLE),
]


def joins() -> list[str]:
    """4.4: reported is not delivered"""
    rows = []
    for case, histories, first, gateways, witnesses, fail, way, flush in _JOINS:
        wrong = 0
        for seed in range(JOINS):
            lab = Lab(1, gateways, 2, witnesses)
            wrong += bool(section4_4.campaign(seed, lab, fail, way, flush).overtaken())
        rows.append(f"| {case} | {histories} | {first} | {wrong} |".replace("  ", " "))
    return rows


def late_copies() -> list[str]:
    """4.5: forgetting after Δ is silent about what comes later"""
    rows = []
    for share in (0.02, 0.2):
        reported = late = misordered = silently = 0
        for seed in range(100):
            net, copies = time_tests.traffic(seed, share)
            blamed = {(process, report.id) for process, report in net.late}
            assert blamed <= copies
            late += len(copies)
            reported += len(blamed)
            misordered += bool(net.silently_misordered())
            printed, _ = time_tests.traffic(seed, share, order=time_tests.Silent)
            silently += bool(printed.silently_misordered())
        rows.append(
            f"| {share:.0%} | {reported:,} of {late:,} | {misordered} | {silently} |".replace(
                "%", " %"
            )
        )
    return rows


def dates() -> list[str]:
    """4.5: forgetting after Δ is silent about what comes later"""
    stamps = {}
    for delta_s in (1.0, 1e9):
        nets = [time_tests.traffic(seed, 0.0, delta_s=delta_s)[0] for seed in range(10)]
        stamps[delta_s] = [f.packet.stamp for net in nets for f in net.history.flights]
    cited = {delta_s: fmean(len(stamp.H) for stamp in found) for delta_s, found in stamps.items()}
    more = {
        len(encode_stamp(stamp)) - len(encode_stamp(Timestamp(stamp.H, *_carbon(stamp))))
        for stamp in stamps[1.0]
    }
    return [
        f"{' or '.join(map(str, sorted(more)))} bytes a message",
        f"{cited[1.0]:.2f} identifiers on a copy instead of {cited[1e9]:.2f}",
    ]


def _carbon(stamp: Any) -> list[Any]:
    return [getattr(stamp, name) for name in Timestamp.__struct_fields__[1:]]


class _WithoutR7(Confirming):
    def _unreported(self, destinations: int) -> list[tuple[int, int, Entry]]:
        return super()._unreported(-1)  # more than anybody is ever told


def evidence() -> list[str]:
    """4.5: R7 and R8 starve the sender of evidence"""
    rows = []
    for to, fanout in (("one", 1), ("two", 2), ("any set", None)):
        kinds: list[tuple[str, type[Confirming] | None, str, int]] = [
            ("(`histories`)", None, "", 300),
            ("as printed", Confirming, "timestamps", 300),
            ("as printed, without R7", _WithoutR7, "timestamps", 300),
            ("as printed, without R7 and R8", evidence_tests.Talkative, "timestamps", 100),
            ("exempt", Confirming, "exempt", 300),
            ("acknowledge", Confirming, "acknowledge", 300),
        ]
        for index, (name, order, kind, messages) in enumerate(kinds):
            cells = _evidence(order, kind, fanout, messages)
            rows.append(f"| {'' if index else to} | {name} | {cells} |".replace("  ", " "))
    return rows


def _evidence(order: type[Confirming] | None, kind: str, fanout: int | None, messages: int) -> str:
    """Known to the sender, elements, bytes, and H at the end."""
    unknown, remembered, stamps = 0, [], []
    for seed in range(5):
        team: list[Any] = (
            evidence_tests.team(6, kind, order)
            if order
            else [create("histories", process, Membership(6)) for process in range(6)]
        )
        history = run(team, traffic(6, messages, seed, fanout), seed)
        stamps += [flight.packet.stamp for flight in history.flights]
        remembered += [one.entries() for one in team]
        unknown += sum(len(one.unconfirmed()) for one in team) if order else 0
    known = f"{5 * messages - unknown:,} of {5 * messages:,}" if order else "–"
    entries = fmean(stamp.entries() for stamp in stamps)
    length = fmean(len(encode_stamp(stamp)) for stamp in stamps)
    return f"{known} | {entries:.2f} | {length:.1f} | {fmean(remembered):.1f}"
