"""Random schedules, each from one number, and how to make a failing one small."""

import random
from collections.abc import Callable, Iterator
from math import inf
from types import ModuleType

import msgspec

import antecede.groups as real_groups
from antecede.errors import AntecedeError
from antecede.message import members
from tests.groups.checker import Checker
from tests.groups.lab import Action, History, Lab, Schedule

TRAPS = ("Data", "Prepare", "Promise", "Accept", "Accepted", "Decide", "Welcome", "Join", "Report")


FLUSH = ("Prepare", "Promise", "Accept", "Accepted", "Decide")

ONE_WAY = True
"""Whether members that hear nothing, and links that carry nothing one way, are drawn, too."""


def draw(seed: int, one_way: bool = ONE_WAY) -> Schedule:
    """The schedule of this number: every other one aims at the changes of views."""
    rng = random.Random(seed)
    if seed % 10 == 2 and one_way:
        return _one_way(seed, rng)
    if seed % 10 == 4:
        return _steady(seed, rng)
    if seed % 10 == 6:
        return _survivors(seed, rng)
    if seed % 10 == 8:
        return _bouncing(seed, rng)
    return _hostile(seed, rng) if seed % 2 else _mixed(seed, rng)


def _mixed(seed: int, rng: random.Random) -> Schedule:
    """A bit of everything."""
    founders = rng.choice((2, 3, 3, 4, 4, 5, 5, 6, 7))
    processes = founders + rng.choice((0, 0, 1, 2))
    length_s = rng.uniform(2.0, 6.0)
    actions = _traffic(rng, processes, length_s, rng.choice((3, 10, 25, 50)))
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))):
        actions.extend(_fault(rng, processes, length_s))
    actions.extend(
        Action(rng.uniform(0.0, length_s), "restart", process)
        for process in range(founders, processes)
    )
    return _on_network(seed, rng, founders, processes, actions)


def _hostile(seed: int, rng: random.Random) -> Schedule:
    """Something makes the view change, and whoever leads the change or takes part in it crashes or
    is cut off in the middle."""
    founders = rng.choice((3, 4, 5, 5, 6))
    processes = founders + rng.choice((0, 1))
    at = rng.uniform(0.3, 0.8)
    actions = _traffic(rng, founders, 3.5, rng.choice((8, 20, 30)))
    actions.extend(_reason_to_change(rng, founders, processes, at))
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        process = rng.choice((0, 0, 1, rng.randrange(founders)))
        mask = rng.choice((0, rng.getrandbits(founders)))
        kind = rng.choice(("crash-on", "cut-on", "cut-on", "deaf-on"))
        seconds = rng.choice((0.5, 1.0, 1.5, 2.5))
        actions.append(Action(at, kind, process, mask, rng.choice(FLUSH), seconds))
    if rng.random() < 0.3:
        one, start = rng.randrange(founders), at + rng.uniform(-0.3, 1.5)
        actions.append(Action(start, "cut-link", one, rng.getrandbits(founders)))
        actions.append(Action(start + rng.uniform(0.5, 3.5), "heal"))
    if rng.random() < 0.3:
        actions.append(Action(at + rng.uniform(1.0, 4.0), "restart", rng.randrange(founders)))
    return _on_network(seed, rng, founders, processes, actions)


def _steady(seed: int, rng: random.Random) -> Schedule:
    """A crash, and one that misses the change of views but is back before it would be suspected."""
    founders = rng.choice((4, 5, 6))
    last = founders - 1
    actions = _traffic(rng, founders, 3.0, rng.choice((8, 20, 30)))
    actions.append(Action(0.5, "crash-on", last, rng.getrandbits(founders), "Data"))
    missing, seconds = rng.choice((("Accept", 1.05), ("Decide", 0.7)))
    actions.append(Action(0.5, "deaf-on", rng.randrange(1, last), 0, missing, seconds))
    schedule = _on_network(seed, rng, founders, founders, actions)
    loss = min(schedule.loss, 0.1)
    return msgspec.structs.replace(schedule, loss=loss, tail=0.0, fanout=0, steady=True)


def _survivors(seed: int, rng: random.Random) -> Schedule:
    """Crashes only, as many as can be, of a group that goes on to its last member."""
    founders = rng.choice((2, 3, 4, 5, 6))
    processes = founders + rng.choice((0, 1))
    actions = _traffic(rng, processes, 4.0, rng.choice((8, 20, 30)))
    for process in rng.sample(range(founders), rng.randrange(1, founders)):
        at, name = rng.uniform(0.2, 3.5), rng.choice(TRAPS)
        if rng.random() < 0.5:
            actions.append(Action(at, "crash", process))
        else:
            actions.append(Action(at, "crash-on", process, rng.getrandbits(processes), name))
        if rng.random() < 0.3:
            actions.append(Action(at + rng.uniform(0.2, 3.0), "restart", process))
    if processes > founders:
        actions.append(Action(rng.uniform(0.0, 3.0), "restart", founders))
    schedule = _on_network(seed, rng, founders, processes, actions)
    return msgspec.structs.replace(
        schedule, loss=min(schedule.loss, 0.1), tail=0.0, fanout=0, quorum="survivors"
    )


def _bouncing(seed: int, rng: random.Random) -> Schedule:
    """Members that take part in a change of views die at once, and are back at once."""
    founders = rng.choice((4, 5, 6))
    everybody, last = (1 << founders) - 1, founders - 1
    actions = _traffic(rng, founders, 3.0, rng.choice((8, 20)))
    actions.append(Action(0.5, "crash", last))
    for process in rng.sample(range(last), rng.choice((1, 1, 2))):
        kind = rng.choice(("Promise", "Promise", "Accepted", "Prepare", "Report"))
        actions.append(Action(0.6, "bounce-on", process, everybody, kind, rng.uniform(0.01, 0.2)))
    return _on_network(seed, rng, founders, founders, actions)


def _one_way(seed: int, rng: random.Random) -> Schedule:
    """Members that are heard and hear nothing, or not everybody; and a bit of everything."""
    founders = rng.choice((3, 4, 5, 5, 6))
    if rng.random() < 0.3:
        return _deaf(seed, rng, founders)
    processes = founders + rng.choice((0, 0, 1))
    length_s = rng.uniform(3.0, 8.0)
    actions = _traffic(rng, processes, length_s, rng.choice((10, 25, 50)))
    for _ in range(rng.choice((1, 1, 1, 2))):
        at, process = rng.uniform(0.0, length_s / 2), rng.randrange(founders)
        later = at + rng.choice((0.3, 1.0, 1.5, 2.5, 4.0, 6.0))
        if rng.random() < 0.5:
            actions.extend((Action(at, "deafen", process), Action(later, "undeafen", process)))
        else:
            mask = rng.choice((1 << rng.randrange(founders), rng.getrandbits(founders)))
            actions.extend((Action(at, "mute-link", process, mask), Action(later, "heal")))
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        actions.extend(_fault(rng, processes, length_s))
    if processes > founders:
        actions.append(Action(rng.uniform(0.0, length_s), "restart", founders))
    return _on_network(seed, rng, founders, processes, actions)


def _deaf(seed: int, rng: random.Random, founders: int) -> Schedule:
    """One member hears nothing for long; the others do not wait for it."""
    victim, at = rng.randrange(founders), rng.uniform(0.3, 2.0)
    actions = _traffic(rng, founders, 8.0, rng.choice((10, 25, 50)))
    actions.extend((Action(at, "deafen", victim), Action(at + 10.0, "undeafen", victim)))
    schedule = _on_network(seed, rng, founders, founders, actions)
    spared = ((1 << founders) - 1) & ~(1 << victim)
    return msgspec.structs.replace(
        schedule, loss=min(schedule.loss, 0.1), tail=0.0, fanout=0, spared=spared
    )


def _reason_to_change(rng: random.Random, founders: int, processes: int, at: float) -> list[Action]:
    last, everybody = founders - 1, (1 << founders) - 1
    match rng.randrange(6):
        case 0:
            return [Action(at, "crash", last)]
        case 1:  # a sender dies in the middle of a multicast
            return [Action(at, "crash-on", last, rng.getrandbits(founders), "Data")]
        case 2:  # only one gets a question; it answers, and both die
            other = last - 1
            return [
                Action(at, "crash-on", last, 1 << other, "Data"),
                Action(at + 0.001, "send", last, 0, str(other)),
                Action(at + 0.001, "crash-on", other, rng.choice((everybody, 1)), "Data"),
            ]
        case 3:  # the two most senior members do not hear each other: two coordinators
            seconds = rng.uniform(1.5, 4.0)
            return [Action(at, "cut-link", 0, 1 << 1), Action(at + seconds, "heal")]
        case 4:
            joins = [Action(at, "restart", processes - 1)]
            if rng.random() < 0.5:
                joins.append(Action(at, "deaf-on", processes - 1, 0, "Welcome"))
            return joins
        case _:
            return [*_burst(rng, last, at), Action(at, "leave", last)]


def _traffic(rng: random.Random, processes: int, length_s: float, count: int) -> list[Action]:
    """Messages, some to a part of the group (with the sender), some that somebody answers."""
    actions = []
    for _ in range(count):
        at, sender = rng.uniform(0.0, length_s), rng.randrange(processes)
        to = 0 if rng.random() < 0.8 else rng.getrandbits(processes) | 1 << sender
        replier = "" if rng.random() < 0.6 else str(rng.randrange(processes))
        actions.append(Action(at, "send", sender, to, replier))
    return actions


def _burst(rng: random.Random, process: int, end: float) -> list[Action]:
    """More messages at once than the sender's window takes, sometimes."""
    return [Action(end - turn / 1000, "send", process) for turn in range(rng.choice((0, 0, 20)))]


def _on_network(
    seed: int, rng: random.Random, founders: int, processes: int, actions: list[Action]
) -> Schedule:
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
    process, mask = rng.randrange(processes), rng.getrandbits(processes)
    later = at + rng.choice((0.05, 0.3, 1.0, 2.5))
    match rng.randrange(11):
        case 0:
            return [Action(at, "crash", process)]
        case 1 | 2:
            return [Action(at, "crash", process), Action(later, "restart", process)]
        case 3:
            return [Action(at, "part", 0, mask), Action(at + rng.uniform(0.2, 4.0), "heal")]
        case 4:
            return [Action(at, "mute", process), Action(later, "unmute", process)]
        case 5:
            return [*_burst(rng, process, at), Action(at, "leave", process)]
        case 6:
            seconds = rng.choice((0.2, 0.8, 1.2, 1.5, 2.5))
            return [Action(at, "deaf-on", process, 0, rng.choice(TRAPS), seconds)]
        case 7:
            return [Action(at, "cut-link", process, mask), Action(later, "heal")]
        case _:
            trap = Action(at, "crash-on", process, mask, rng.choice(TRAPS))
            again = [Action(later + 1.0, "restart", process)] if rng.random() < 0.5 else []
            return [trap, *again]


class Verdict(msgspec.Struct, frozen=True):
    """What the checker found, and what the substrate itself raised."""

    findings: list[str]
    raised: str = ""


def judge(schedule: Schedule, groups: ModuleType = real_groups) -> list[str]:
    """What is wrong with a run of this schedule; an error is, too."""
    verdict = try_out(schedule, groups)
    return [*verdict.findings, verdict.raised] if verdict.raised else verdict.findings


def try_out(schedule: Schedule, groups: ModuleType = real_groups) -> Verdict:
    """Run a schedule. An error ends the run, and then there is nothing to check."""
    try:
        history = Lab(schedule, groups).run()
    except (AntecedeError, KeyError, IndexError, RecursionError) as error:
        return Verdict([], f"{type(error).__name__}: {error}")
    findings = Checker(history, schedule.quorum).findings()
    if schedule.steady:
        findings.extend(
            f"{life} is excluded, though it was never silent for long"
            for life, events in history.lives.items()
            if events and (events[-1].kind, events[-1].detail) == ("stopped", "excluded")
        )
    return Verdict([*findings, *_late(schedule, history)])


def _late(schedule: Schedule, history: History) -> Iterator[str]:
    """What those to whom nothing happens wait for too long."""
    lives = [(process, 0) for process in members(schedule.spared)]
    delivered = {
        life: {event.message: event.at for event in history.lives[life] if event.kind == "deliver"}
        for life in lives
    }
    for event in [event for life in lives for event in history.lives[life] if event.kind == "send"]:
        to = history.sent[event.message].to or schedule.spared
        for life in lives:
            at = delivered[life].get(event.message, inf)
            if to >> life[0] & 1 and at - event.at > schedule.prompt_s:
                yield f"{life} is late with message {event.message}: {at - event.at:.1f} s"


def shrink(schedule: Schedule, fails: Callable[[Schedule], bool], attempts: int = 600) -> Schedule:
    """A smaller schedule that still fails: without the faults of the network, then without actions,
    in halves, quarters, ... one by one. Each candidate gets three chances, with other delays."""
    left = attempts

    def failing(candidate: Schedule) -> Schedule | None:
        nonlocal left
        for luck in range(3):
            left -= 1
            variant = msgspec.structs.replace(candidate, seed=candidate.seed + luck)
            if left >= 0 and fails(variant):
                return variant
        return None

    for field in ("loss", "duplication", "tail"):
        calmer = failing(msgspec.structs.replace(schedule, **{field: 0.0}))
        schedule = calmer or schedule
    size = max(1, len(schedule.actions) // 2)
    while size:
        place = 0
        while place < len(schedule.actions):
            kept = schedule.actions[:place] + schedule.actions[place + size :]
            smaller = failing(msgspec.structs.replace(schedule, actions=kept))
            if smaller is None:
                place += size
            else:
                schedule = smaller
        size //= 2
    return schedule
