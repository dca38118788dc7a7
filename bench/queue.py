"""What ten thousand held messages do to the speed of a delivery.

Process 1 sends x to process 0, and then y to process 2; x is on its way for long. Process 2, which
knows y, sends so many messages to process 0: all depend on x and are held. Then process 3, which
knows nothing of this, sends to process 0 and is delivered at once; these receipts are timed."""

from statistics import median
from time import process_time
from typing import Any

from antecede.message import Membership, Message, MessageId
from antecede.order import Addressing, Deliver, Packet, Transmit
from antecede.protocols import create, find, names

LENGTHS = (0, 100, 10_000)
TIMED = 2_000
REPEATS = 5
MEMBERSHIP = Membership(4)


def main() -> None:
    heads = "".join(f"{f'{length:,} held':>14}" for length in LENGTHS)
    print(f"{'protocol':18}{heads}{'slower by':>12}   (µs per delivery)")
    for name in names():
        if cost_us(name, min(filter(None, LENGTHS))) is None:
            print(f"{name:18}  does not hold these, or holds the others, too: not measured")
            continue
        costs = [cost_us(name, length) for length in LENGTHS]
        cells = "".join(f"{cost:>14.2f}" for cost in costs)
        print(f"{name:18}{cells}{costs[-1] / costs[0]:>11.2f}x")  # type: ignore[operator]


def cost_us(name: str, length: int) -> float | None:
    """Microseconds per delivery at process 0 with so many messages held there; None where the
    protocol does not hold them, or holds what it should deliver."""
    sender = Sender(name)
    orders = sender.orders
    for packet in [*sender.packets(1, 0, arrive_at=2), *sender.packets(1, 2, arrive_at=2)]:
        orders[2].receive(packet)
    for _ in range(length):
        for packet in sender.packets(2, 0, arrive_at=0):
            orders[0].receive(packet)
    if len(orders[0].held()) != length:
        return None
    times = []
    for _ in range(REPEATS):
        packets = [packet for _ in range(TIMED) for packet in sender.packets(3, 0, arrive_at=0)]
        start = process_time()
        outcomes = [orders[0].receive(packet) for packet in packets]
        times.append((process_time() - start) / TIMED * 1e6)
        if not all(any(type(effect) is Deliver for effect in effects) for effects in outcomes):
            return None
    return median(times)


class Sender:
    """Four processes, and what they send to one another."""

    def __init__(self, name: str) -> None:
        self.orders = [create(name, process, MEMBERSHIP) for process in range(MEMBERSHIP.size)]
        self.is_broadcast = find(name).traits.addressing is not Addressing.SETS
        self.numbers = [0] * MEMBERSHIP.size

    def packets(self, source: int, destination: int, arrive_at: int) -> list[Packet[Any]]:
        """Send to this destination (to everybody where the protocol addresses groups): the packets
        that one process would get."""
        self.numbers[source] += 1
        to = MEMBERSHIP.everybody if self.is_broadcast else 1 << destination
        message = Message(MessageId(source, self.numbers[source]), to, 0)
        return [
            effect.packet
            for effect in self.orders[source].send(message)
            if type(effect) is Transmit and effect.to >> arrive_at & 1
        ]
