"""Random schedules, each from one number, and how to make a failing one small."""

import random
from collections.abc import Callable
from types import ModuleType

import msgspec

import antecede.groups as real_groups
from antecede.errors import AntecedeError
from tests.groups.checker import Checker
from tests.groups.lab import Action, Lab, Schedule

TRAPS = ("Data", "Prepare", "Promise", "Accept", "Accepted", "Decide", "Welcome", "Join", "Report")


def draw(seed: int) -> Schedule:
    """The schedule of this number."""
    rng = random.Random(seed)
    founders = rng.choice((2, 3, 3, 4, 4, 5, 5, 6, 7))
    processes = founders + rng.choice((0, 0, 1, 2))
    length_s = rng.uniform(2.0, 6.0)
    actions = [
        Action(
            rng.uniform(0.0, length_s),
            "send",
            rng.randrange(processes),
            0 if rng.random() < 0.8 else rng.getrandbits(processes),
            "" if rng.random() < 0.6 else str(rng.randrange(processes)),
        )
        for _ in range(rng.choice((3, 10, 25, 50)))
    ]
    for action in [action for action in actions if action.mask]:  # a sender is a recipient
        actions.remove(action)
        addressed = action.mask | 1 << action.process
        actions.append(msgspec.structs.replace(action, mask=addressed))
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))):
        actions.extend(_fault(rng, processes, length_s))
    for process in range(founders, processes):
        actions.append(Action(rng.uniform(0.0, length_s), "restart", process))
    return Schedule(
        seed,
        founders,
        processes,
        loss=rng.choice((0.0, 0.05, 0.1, 0.2, 0.3)),
        duplication=rng.choice((0.0, 0.1, 0.3)),
        delay_s=rng.choice((0.002, 0.01, 0.03)),
        tail=rng.choice((0.0, 0.05, 0.2)),
        tick_s=0.1,
        actions=tuple(sorted(actions, key=lambda action: action.at)),
        retains=rng.random() < 0.3,
        fanout=rng.choice((0, 0, 0, 2)),
        on_wire=rng.random() < 0.1,
    )


def _fault(rng: random.Random, processes: int, length_s: float) -> list[Action]:
    at = rng.uniform(0.0, length_s)
    process = rng.randrange(processes)
    later = at + rng.choice((0.05, 0.3, 1.0, 2.5))
    match rng.randrange(10):
        case 0:
            return [Action(at, "crash", process)]
        case 1 | 2:
            return [Action(at, "crash", process), Action(later, "restart", process)]
        case 3:
            mask = rng.getrandbits(processes)
            return [Action(at, "part", 0, mask), Action(at + rng.uniform(0.2, 4.0), "heal")]
        case 4:
            return [Action(at, "mute", process), Action(later, "unmute", process)]
        case 5:
            return [Action(at, "leave", process)]
        case 6:
            tenths = rng.choice((2, 8, 12, 15, 25))
            return [Action(at, "deaf-on", process, tenths, rng.choice(TRAPS))]
        case _:
            mask = rng.getrandbits(processes)
            trap = Action(at, "crash-on", process, mask, rng.choice(TRAPS))
            again = [Action(later + 1.0, "restart", process)] if rng.random() < 0.5 else []
            return [trap, *again]


def judge(schedule: Schedule, groups: ModuleType = real_groups) -> list[str]:
    """What is wrong with a run of this schedule; a broken invariant is a finding, too."""
    try:
        history = Lab(schedule, groups).run()
    except (AntecedeError, KeyError, IndexError, RecursionError) as error:
        return [f"{type(error).__name__}: {error}"]
    return Checker(history, schedule.quorum).findings()


def shrink(schedule: Schedule, fails: Callable[[Schedule], bool], attempts: int = 400) -> Schedule:
    """A smaller schedule that still fails: actions go in halves, quarters, ... one by one, then the
    faults of the network."""
    left = attempts

    def still(candidate: Schedule) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and fails(candidate)

    size = max(1, len(schedule.actions) // 2)
    while size:
        place = 0
        while place < len(schedule.actions):
            kept = schedule.actions[:place] + schedule.actions[place + size :]
            candidate = msgspec.structs.replace(schedule, actions=kept)
            if still(candidate):
                schedule = candidate
            else:
                place += size
        size //= 2
    for field in ("loss", "duplication", "tail"):
        candidate = msgspec.structs.replace(schedule, **{field: 0.0})
        if still(candidate):
            schedule = candidate
    return schedule
