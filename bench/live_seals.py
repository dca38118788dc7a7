"""What seals cost: to the sender of a message, for each destination; to who is handed it on; in
bytes. A live send without seals takes some ten microseconds and more (`python -m bench live`)."""

import time

from antecede.groups import MemberId
from antecede.live.ordering.seals import Seals
from antecede.message import Message, MessageId

SIZES = (4, 8, 16, 64)
ROUNDS = 2000


def main() -> None:
    for members in SIZES:
        for payload in (100, 4096):
            print(_measured(members, payload))


def _measured(members: int, payload: int) -> str:
    names = [f"member{rank}" for rank in range(members)]
    processes = [Seals(bytes([rank]) * 32) for rank in range(members)]
    sender = processes[0]
    for rank in range(1, members):
        sender.learn(names[rank], 1, processes[rank].key_for(names[0], 1))
    if not sender.has_all([MemberId(rank, 1) for rank in range(members)], names, 0):
        raise AssertionError("somebody's key is missing")
    everybody = (1 << members) - 1
    messages = [
        Message(MessageId(0, number), everybody, 0, bytes(payload)) for number in range(ROUNDS)
    ]
    began = time.process_time()
    tags = [sender.seal(1, names, message) for message in messages]
    sealed = time.process_time()
    found = [
        processes[-1].is_genuine(1, (names[0], 1), members - 1, *one)
        for one in zip(messages, tags, strict=True)
    ]
    checked = time.process_time()
    if not all(found):
        raise AssertionError("a genuine message is refused")
    return (
        f"{members} members, {payload:,} bytes: {(sealed - began) / ROUNDS * 1e6:.1f} µs a send, "
        f"{(checked - sealed) / ROUNDS * 1e6:.1f} µs to check a copy, {len(tags[0])} bytes more"
    )
