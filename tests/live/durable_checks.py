"""What must hold in a world of durable members, whatever has happened in it."""

from tests.live.durable_world import Sent, World


def problems(world: World, *, causal: bool = True, certain: bool = True) -> list[str]:
    """What is wrong with what applications saw. With `certain`, nobody may be told that something
    may be missing; without it nothing may be missing in the end all the same."""
    found: list[str] = []
    durable = [one for one in world.processes if one.path is not None]
    for process in durable:
        found += [
            f"{process.name} was told of a gap: {gap}"
            for gap in process.gaps
            if certain or gap.is_certain or not gap.senders
        ]
        seen = process.messages()
        found += _in_order(process.name, seen, world.sent if causal else {})
        for sent in world.sent:
            is_owed = world.sent_in[sent] >= world.began_in[process.name]
            if is_owed and world.named(sent[0]).path is not None and sent not in seen:
                found.append(f"{process.name} lacks {sent}")
        for sent in seen:
            if world.named(sent[0]).path is not None and sent not in world.sent:
                found.append(f"{process.name} saw {sent}, which was never sent")
    for process in world.processes:
        for life in process.lives:
            seen = [what for what in life if isinstance(what, tuple)]
            found += _in_order(process.name, seen, world.sent if causal else {})
    return found


def state_problems(world: World) -> list[str]:
    """Where everybody gets the state of those who were there before: what is wrong."""
    found: list[str] = []
    reference = world.processes[0]
    for process in world.processes:
        found += _in_order(process.name, process.messages(), world.sent)
        if not process.has_state:
            found.append(f"{process.name} has no state")
        different = set(process.messages()) ^ set(reference.messages())
        if different:
            found.append(f"{process.name} and {reference.name} differ in {sorted(different)[:3]}")
    return found


def _in_order(name: str, seen: list[Sent], sent: dict[Sent, frozenset[Sent]]) -> list[str]:
    found = []
    if len(set(seen)) != len(seen):
        found.append(f"{name} saw a message twice")
    place = {message: at for at, message in enumerate(seen)}
    for message, past in sent.items():
        if message in place:
            found += [
                f"{name} saw {message} before {earlier}"
                for earlier in past
                if place.get(earlier, -1) > place[message]
            ]
    return found
