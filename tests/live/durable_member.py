"""A durable member in a process of its own, told what to do on its input, telling what happens on
its output. Its application writes what it is given to a file, line by line, and what it has sent to
another: `python -m tests.live.durable_member '{"name": "a", ...}'`."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from antecede.groups import GroupConfig
from antecede.live import (
    PLAIN_TCP,
    Delivery,
    Gap,
    Group,
    LinkLimits,
    Settings,
    State,
    StateWanted,
    ViewChange,
    join,
)

CONFIG = GroupConfig(
    tick_s=0.1, suspect_after_s=1.5, flush_timeout_s=1.5, retry_s=0.4, retry_limit_s=1.5, patience=5
)


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


class Notes:
    """A file that survives the process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, *what: Any) -> None:
        os.write(self._file, json.dumps(what).encode() + b"\n")


class Application:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.name = settings["name"]
        self.life = settings["life"]
        self.padding = "." * settings.get("padding", 0)
        self.stalls = settings.get("stalls", False)
        self.dies_at = settings.get("dies_at", 0)
        folder = Path(settings["folder"])
        self.seen = Notes(folder / f"{self.name}.{self.life}.seen")
        self.sent = Notes(folder / f"{self.name}.{self.life}.sent")
        self.last: dict[str, int] = {}
        self.count = 0
        self.tokens: list[str] = []

    async def listen(self, group: Group) -> None:
        async for event in group:
            match event:
                case Delivery():
                    text = json.loads(event.payload)
                    self.seen.write(event.sender, event.number, text["token"], text["after"])
                    self.last[event.sender] = event.number
                    self.tokens.append(text["token"])
                    if len(self.tokens) == self.dies_at:
                        os.kill(os.getpid(), signal.SIGKILL)
                case ViewChange():
                    say(event="view", group="durable", members=event.members)
                case StateWanted():
                    say(event="wanted", by=event.by)
                    if not self.stalls:
                        group.give_state(event, json.dumps(self.tokens).encode())
                case State():
                    self.tokens = json.loads(event.payload or b"[]")
                    say(event="state", tokens=self.tokens)
                case Gap():
                    say(event="gap", senders=event.senders)
                case _:
                    say(event=type(event).__name__.lower())

    def text(self) -> tuple[str, bytes]:
        self.count += 1
        token = f"{self.name}.{self.life}.{self.count}"
        text = {"token": token, "after": self.last, "padding": self.padding}
        return token, json.dumps(text).encode()

    async def send(self, group: Group, count: int, pause_s: float, dies: bool = False) -> None:
        for _ in range(count):
            token, text = self.text()
            await group.send(text)
            self.sent.write(token)
            if dies:
                os.kill(os.getpid(), signal.SIGKILL)
            await asyncio.sleep(pause_s)
        say(event="sent")


async def run(settings: dict[str, Any]) -> None:
    application = Application(settings)
    folder = Path(settings["folder"])
    limits = LinkLimits(frame_bytes=settings.get("frame_bytes", 2**20))
    async with join(
        "durable",
        name=application.name,
        listen=("127.0.0.1", settings.get("port", 0)),
        advertise=settings.get("advertise"),
        security=PLAIN_TCP,
        peers=[("127.0.0.1", port) for port in settings.get("peers", ())],
        seeds=[f"127.0.0.1:{port}" for port in settings.get("seeds", ())],
        found_anew=settings.get("found_anew", False),
        config=CONFIG,
        settings=Settings(links=limits),
        log=folder / f"{application.name}.log" if settings.get("durable", True) else None,
        wants_state=settings.get("wants_state", False),
    ) as group:
        say(event="listening", port=group.address[1])
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(application.listen(group))
            while (line := await reader.readline()) and (what := json.loads(line))["do"] != "leave":
                order = {key: value for key, value in what.items() if key != "do"}
                tasks.create_task(application.send(group, **order))
            await group.leave(20.0)
            await listening


if __name__ == "__main__":
    asyncio.run(run(json.loads(sys.argv[1])))
