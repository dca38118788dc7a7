"""A large group whose members find their ways to each other one by one, while they join: the pure
substrate on a clock of our own. Everybody can talk to the founder at once, and to each of the
others only after a while; until then what they say to each other is lost."""

import heapq
import random
from itertools import count
from typing import Any

from antecede import groups as real_groups
from antecede.message import members


def exclusions(seed: int, size: int = 16, late_s: float = 10.0, groups: Any = real_groups) -> str:
    """What went wrong: who was taken for dead though it lives, or that there is no one view."""
    chance = random.Random(seed)
    config = groups.GroupConfig(
        tick_s=0.1, suspect_after_s=2.0, flush_timeout_s=2.0, patience=5.0, heartbeats=4.0,
        join_pause_s=0.1, fanout=3, transfers_state=True, detours=False, trusts=False,
    )  # fmt: skip
    stands_at = {
        (one, other): 0.0 if 0 in (one, other) else chance.uniform(0.0, late_s)
        for one in range(size)
        for other in range(size)
    }
    everybody = (1 << size) - 1
    founding = groups.founding_view((0,))
    processes = [
        groups.GroupMember(config, groups.MemberId(0, 0), founding=founding),
        *(
            groups.GroupMember(
                config, groups.MemberId(number, 0), contacts=everybody & ~(1 << number)
            )
            for number in range(1, size)
        ),
    ]
    heap: list[tuple[float, int, int, Any]] = []
    serial = count()

    def carry_out(number: int, effects: list[Any], now: float) -> str:
        for effect in effects:
            match type(effect).__name__:
                case "Transmit":
                    for to in members(effect.to):
                        if to < size and now >= stands_at[number, to]:
                            at = now + chance.uniform(0.001, 0.05)
                            heapq.heappush(heap, (at, next(serial), to, effect.packet))
                case "Wake":
                    heapq.heappush(heap, (effect.at, next(serial), number, None))
                case "StateWanted":
                    answer = processes[number].provide_state(effect.view, b"", now)
                    wrong = carry_out(number, answer, now)
                    if wrong:
                        return wrong
                case "Stopped":
                    return f"{number} is excluded after {now:.1f} s"
        return ""

    for number in range(size):
        heapq.heappush(
            heap, (chance.uniform(0.0, 1.0) if number else 0.0, -size + number, number, 0)
        )
    while heap and heap[0][0] < 2 * late_s + 5.0:
        now, _, number, what = heapq.heappop(heap)
        process = processes[number]
        if what == 0:
            effects = process.start(now)
        else:
            effects = process.wake(now) if what is None else process.receive(what, now)
        wrong = carry_out(number, effects, now)
        if wrong:
            return wrong
    sizes = [len(one.view.members) if one.view is not None else 0 for one in processes]
    return "" if min(sizes) == size else f"views of {sizes}"
