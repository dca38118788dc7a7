"""How much travels: elements and bytes of ordering information per copy of a message, for each
protocol against `optimal`, from 8 to 512 processes.

All protocols of a column send the same messages; the first half of them is warm-up and is not
counted. Control packets (null messages, extra messages, acknowledgements) are shared out over the
copies, and shown apart as packets per message."""

from antecede.message import Membership
from antecede.order import Addressing
from antecede.orders import find, names
from bench.traffic import Choice, Measured, Traffic, group_broadcast, ring, unicast

SIZES = (8, 32, 128, 512)
MESSAGES = {
    Addressing.SETS: {8: 640, 32: 2_560, 128: 2_560, 512: 2_560},
    Addressing.ONE_GROUP: {8: 320, 32: 320, 128: 96, 512: 24},
    Addressing.GROUPS: {8: 640, 32: 1_280, 128: 1_280, 512: 1_280},
}
"""By traffic and size. At the larger sizes processes have sent a few messages each, and stamps that
grow with what a process has heard of are still growing: compare within a column."""
BUDGET_S = 20.0
"""CPU time for one cell; a protocol that needs more is not measured there."""
YARDSTICK = "optimal"
RING_GROUP = 4
WIDTH = 32


def main() -> None:
    for title, needs in (
        ("unicast", Addressing.SETS),
        ("one group", Addressing.ONE_GROUP),
        (f"a ring of groups of {RING_GROUP}", Addressing.GROUPS),
    ):
        protocols = [name for name in names() if find(name).traits.addressing >= needs]
        protocols = [YARDSTICK, *(name for name in protocols if name != YARDSTICK)]
        counts = ", ".join(f"{MESSAGES[needs][size]} at {size}" for size in SIZES)
        print(
            f"{title}: elements / bytes per copy, bytes against {YARDSTICK}, +control per message"
        )
        print(f"messages: {counts}")
        print(f"{'':18}" + "".join(f"{f'n = {size}':>{WIDTH}}" for size in SIZES))
        yardstick: dict[int, float] = {}
        for name in protocols:
            cells = [cell(name, size, needs, yardstick).rjust(WIDTH) for size in SIZES]
            print(f"{name:18}" + "".join(cells), flush=True)
        print()
    print(f"–: it would take more than {BUDGET_S:.0f} s of CPU time in the state machines.")


def cell(name: str, size: int, needs: Addressing, yardstick: dict[int, float]) -> str:
    measured = measure(name, size, needs)
    if measured is None:
        return "–"
    copies = measured.packets - measured.control_packets
    elements, total = measured.entries / copies, measured.stamp_bytes / copies
    if name == YARDSTICK:
        yardstick[size] = total
    ratio = f" ×{total / yardstick[size]:.2f}" if size in yardstick else ""
    return f"{elements:.1f} / {total:.0f}{ratio} +{measured.control_packets / measured.sends:.1f}"


def measure(name: str, size: int, needs: Addressing) -> Measured | None:
    """The second half of a run of this protocol; None if it takes too long."""
    membership = ring(size, RING_GROUP) if needs is Addressing.GROUPS else Membership(size)
    choose: Choice = (
        unicast(membership) if needs is Addressing.SETS else group_broadcast(membership)
    )
    messages = MESSAGES[needs][size]
    traffic = Traffic(name, membership, choose)
    traffic.advance(messages // 2, max(8, size // 4), BUDGET_S)
    if traffic.measured.sends < messages // 2:
        return None
    spent = traffic.measured.timed_s
    traffic.measured = Measured()
    measured = traffic.run(messages // 2, max(8, size // 4), BUDGET_S - spent)
    return measured if measured.timed_s + spent < BUDGET_S else None
