"""How much travels: elements and bytes of ordering information per copy of a message, for each
protocol against `optimal`, from 8 to 512 processes.

Control packets (null messages, extra messages, acknowledgements) are shared out over the copies
they serve, and shown apart as packets per message."""

from antecede.message import Membership
from antecede.order import Addressing
from antecede.protocols import find, names
from bench.traffic import Choice, Measured, Traffic, group_broadcast, ring, unicast

SIZES = (8, 32, 128, 512)
BUDGET_S = 3.0
YARDSTICK = "optimal"
RING_GROUP = 4


def main() -> None:
    for title, needs in (
        ("unicast", Addressing.SETS),
        ("one group", Addressing.ONE_GROUP),
        (f"a ring of groups of {RING_GROUP}", Addressing.GROUPS),
    ):
        protocols = [name for name in names() if find(name).traits.addressing >= needs]
        protocols = [YARDSTICK, *(name for name in protocols if name != YARDSTICK)]
        print(f"{title}: elements / bytes per copy; bytes against {YARDSTICK}; control per message")
        print(f"{'':18}" + "".join(f"{f'n = {size}':>30}" for size in SIZES))
        yardstick: dict[int, float] = {}
        for name in protocols:
            cells = []
            for size in SIZES:
                measured, cut = measure(name, size, needs)
                if not measured.packets:
                    cells.append(f"{'–':>30}")
                    continue
                copies = measured.packets - measured.control_packets
                elements, total = measured.entries / copies, measured.stamp_bytes / copies
                if name == YARDSTICK:
                    yardstick[size] = total
                ratio = total / yardstick[size]
                extra = measured.control_packets / measured.sends
                cells.append(
                    f"{elements:.1f} / {total:.0f} ×{ratio:.2f} +{extra:.1f}{cut}".rjust(30)
                )
            print(f"{name:18}" + "".join(cells))
        print()
    print(f"* fewer messages: cut off after {BUDGET_S:.0f} s of CPU time in the state machines.")


def measure(name: str, size: int, needs: Addressing) -> tuple[Measured, str]:
    """A run of this protocol, and '*' if it was cut short."""
    membership = ring(size, RING_GROUP) if needs is Addressing.GROUPS else Membership(size)
    choose: Choice
    if needs is Addressing.SETS:
        choose, messages = unicast(membership), 40 * size
    else:
        choose, messages = group_broadcast(membership), 10 * size
    measured = Traffic(name, membership, choose).run(messages, 4 * size, BUDGET_S)
    return measured, "" if measured.sends == messages else "*"
