"""One member in a process of its own, told what to do on its input, telling what happens on its
output; both are lines of JSON. `python -m tests.live.member '{"name": "a", ...}'`."""

import asyncio
import json
import random
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from antecede.groups import GroupConfig
from antecede.live import PLAIN_TCP, Delivery, Excluded, Group, Settings, ViewChange, open_node
from antecede.order import Addressing
from antecede.protocols import find

CONFIG = GroupConfig(
    tick_s=0.1, suspect_after_s=2.5, flush_timeout_s=2.5, retry_s=0.4, retry_limit_s=1.5, patience=5
)
"""Patient, for machines that have much else to do."""
OPTIONS = {"piggyback": {"cleanup_interval_s": 0.2}}


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


class Member:
    def __init__(self, group: Group, sets: bool, seed: int) -> None:
        self.group = group
        self.sets = sets
        self.random = random.Random(seed)
        self.ended: set[str] = set()
        self.said_ended = False
        self.leaving = False

    def say(self, **what: Any) -> None:
        say(group=self.group.name, **what)

    async def listen(self) -> None:
        """Take what happens; answer some messages, so that there is something to order."""
        async for event in self.group:
            match event:
                case Delivery():
                    if event.payload == b"end":
                        self.ended.add(event.sender)
                    elif event.payload.startswith(b"ask") and self.answers():
                        self.group.send_now(b"answer", self.some())
                case ViewChange():
                    self.say(event="view", members=event.members, joined=event.joined)
                    self.said_ended = False
                case Excluded():
                    self.ended.clear()
                    self.say(event="excluded")
                case _:
                    self.say(event=type(event).__name__.lower())
            if not self.said_ended and self.ended.issuperset(self.group.members):
                self.said_ended = True
                self.say(event="ended")
        self.say(event="left")

    def answers(self) -> bool:
        return not self.leaving and self.random.random() < 0.3

    def some(self) -> list[str] | None:
        """A few members, or everybody."""
        members = self.group.members
        if not self.sets or not members or self.random.random() < 0.3:
            return None
        return self.random.sample(members, self.random.randint(1, len(members)))

    async def send(self, count: int, pause_s: float) -> None:
        for number in range(count):
            to = self.some()
            while to is not None and not set(to) & set(self.group.members):
                to = self.some()
            await self.group.send(b"ask %d" % number, to)
            await asyncio.sleep(pause_s * self.random.random())
        self.say(event="sent")


async def run(settings: dict[str, Any]) -> None:
    """In one group for each protocol, named after it, all at once."""
    async with AsyncExitStack() as stack:
        advertise = tuple(settings["advertise"]) if "advertise" in settings else None
        listen = ("127.0.0.1", settings.get("port", 0))
        node = await stack.enter_async_context(
            open_node(settings["name"], listen, PLAIN_TCP, advertise)
        )
        say(event="listening", port=node.listener.port)
        members = []
        for protocol in settings["protocols"]:
            group = await stack.enter_async_context(
                node.join(
                    protocol,
                    peers=[("127.0.0.1", port) for port in settings.get("peers", ())],
                    protocol=protocol,
                    options=OPTIONS.get(protocol),
                    config=CONFIG,
                    settings=Settings(**settings.get("settings", {})),
                    record=Path(settings["record"]) / protocol,
                )
            )
            sets = find(protocol).traits.addressing is Addressing.SETS
            members.append(Member(group, sets, settings.get("seed", 0)))
        await obey(members)


async def obey(members: list[Member]) -> None:
    """Do what the input says, until it says to leave."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with asyncio.TaskGroup() as tasks:
        for member in members:
            tasks.create_task(member.listen())
        while (line := await reader.readline()) and (order := json.loads(line))["do"] != "leave":
            for member in members:
                if order["do"] == "send":
                    tasks.create_task(member.send(order["count"], order["pause_s"]))
                else:
                    tasks.create_task(member.group.send(b"end"))
        for member in members:
            member.leaving = True
        await asyncio.gather(*(member.group.leave(60.0) for member in members))


if __name__ == "__main__":
    asyncio.run(run(json.loads(sys.argv[1])))
