"""A durable member of the soak, in a process of its own: `python -m bench.soak_member SETTINGS`.

Its application judges what it is given as it comes: of each sender the next number, never before
what the sender had seen when it sent. Two exceptions are documented, where several members died or
were excluded at once (docs/live.md). Of those whom a `Gap` has named numbers may be left out, and
come later. And what had reached only such members comes later than what was sent upon it, out of a
log or from its sender, which sends it again: so it is of a life of its sender that was not in the
view when something was given upon it, or went with that view, or of a later one. What a member is
given before its first view is out of a log, in the order of somebody else: whether that is right,
the others have to say (`live_soak`). Whatever is owed has to come before the end. What it has seen
stands in a file that survives the process, so that one life is judged after the other. It needs no
memory for what is over.
"""

import asyncio
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from antecede.errors import AntecedeError
from antecede.live import PLAIN_TCP, Delivery, Excluded, Gap, Group, ViewChange, join

_TELL_S = 5.0


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


class Text(msgspec.Struct):
    """What a message says."""

    life: int
    """The one of its sender that sent it first,"""
    after: dict[str, int]
    """and what that had seen."""


class Late(msgspec.Struct):
    """A message that something was given upon before it came."""

    life: int | None
    """That of its sender in the view then, 0 if it was not in it; None if there was no view yet."""
    is_settled: bool = False
    """Whether that view has ended."""


class Seen(msgspec.Struct):
    """What a member has been given over all its lives, by sender."""

    last: dict[str, int] = {}
    """The highest number."""
    named: set[str] = set()
    """By gaps."""
    holes: dict[str, set[int]] = {}
    """Numbers that were left out,"""
    late: dict[str, dict[int, Late]] = {}
    """and those that something came before."""

    @property
    def whole(self) -> dict[str, int]:
        """Up to where it has everything."""
        return {
            name: min(holes) - 1 if (holes := self.holes.get(name)) else last
            for name, last in self.last.items()
        }

    @property
    def owed(self) -> dict[str, list[int]]:
        found = {name: {*self.holes.get(name, ()), *self.late.get(name, ())} for name in self.last}
        return {name: sorted(numbers) for name, numbers in found.items() if numbers}

    def enter(self, view: dict[str, int]) -> None:
        """A view ends with what is given before the next, which has these lives."""
        for name, late in self.late.items():
            for one in late.values():
                if not one.is_settled and one.life is not None and one.life != view.get(name, 0):
                    one.life = 0
                one.is_settled = True

    def judge(
        self, sender: str, number: int, life: int, text: Text, view: dict[str, int]
    ) -> tuple[list[str], bool | None]:
        """What is wrong with something new; and if it came after what was sent upon it, whether
        that may be (else None), as far as this member knows. The view is empty before the first."""
        wrong = []
        holes, late = self.holes.setdefault(sender, set()), self.late.setdefault(sender, {})
        before = self.last.get(sender, 0)
        if number in holes:
            holes.remove(number)
        elif number != before + 1:
            holes |= {*range(before + 1, number)}
            if sender not in self.named:
                wrong.append(f"{sender}:{number} came after {before}")
        may_be_late = None
        if (one := late.pop(number, None)) is not None:
            is_again = life != text.life
            may_be_late = is_again or (one.life is not None and one.life != life)
            if one.life == life and not is_again:
                wrong.append(f"{sender}:{number} came after what was sent upon it")
        self.last[sender] = max(number, before)
        for other, upto in text.after.items():
            owed = self.late.setdefault(other, {})
            for missed in range(self.last.get(other, 0) + 1, upto + 1):
                owed.setdefault(missed, Late(view.get(other, 0) if view else None))
        return wrong, may_be_late


class Application:
    def __init__(self, path: Path, sends: bool) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        text = os.pread(self._file, os.fstat(self._file).st_size, 0)
        self._file_bytes = len(text)
        self.seen = msgspec.json.decode(text, type=Seen) if text else Seen()
        self.view: dict[str, int] = {}
        """The lives in it, by name."""
        self.sends = sends
        self.deaf_until = 0.0
        self.delivered = self.again = 0
        self._is_new = False
        """Whether something new has come in this life: nothing may come again after it."""

    async def listen(self, group: Group) -> None:
        async for event in group:
            match event:
                case Delivery():
                    self._judge(event)
                case ViewChange():
                    lives = [one.incarnation for one in event.lives]
                    self.view = dict(zip(event.members, lives, strict=True))
                    self.seen.enter(self.view)
                    say(view=event.members)
                case Excluded():
                    self.seen.enter(self.view)
                    self.view = {}
                    say(excluded=True)
                case Gap(is_certain=True):
                    say(problem=f"a gap: {event}")
                case Gap():
                    self.seen.named |= {*event.senders}
                    say(gap=event.senders)
            while time.monotonic() < self.deaf_until:
                await asyncio.sleep(0.05)

    def _judge(self, event: Delivery) -> None:
        sender, number, seen = event.sender, event.number, self.seen
        before = seen.last.get(sender, 0)
        if number <= before and number not in seen.holes.get(sender, ()):
            if self._is_new:
                say(problem=f"{sender}:{number} came again, after {before}")
            else:
                self.again += 1  # It was given to the former life, which did not ask for more.
            return
        assert event.member is not None
        wrong, may_be_late = seen.judge(
            sender,
            number,
            event.member.incarnation,
            msgspec.json.decode(event.payload, type=Text),
            self.view,
        )
        for one in wrong:
            say(problem=one)
        if may_be_late is not None:
            say(late=f"{sender}:{number}", may_be=may_be_late)
        self._is_new = True
        self.delivered += 1
        text = msgspec.json.encode(seen).ljust(self._file_bytes)
        self._file_bytes = len(text)
        os.pwrite(self._file, text, 0)

    async def send(self, group: Group, pause_s: float) -> None:
        while True:
            if self.sends and group.members:
                text = Text(group.pump.incarnation, self.seen.whole)
                await group.send(msgspec.json.encode(text))
            await asyncio.sleep(pause_s)

    async def tell(self) -> None:
        page = resource.getpagesize()
        while True:
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * page
            say(
                mib=resident / 2**20, delivered=self.delivered, again=self.again,
                last=self.seen.last, owed=self.seen.owed, cpu_s=time.process_time(),
            )  # fmt: skip
            await asyncio.sleep(_TELL_S)


async def run(settings: dict[str, Any]) -> None:
    folder, name = Path(settings["folder"]), settings["name"]
    if settings["clock_back_s"]:
        clock_ns = time.time_ns
        time.time_ns = lambda: clock_ns() - int(settings["clock_back_s"] * 1e9)
    if settings["file_bytes"]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (settings["file_bytes"],) * 2)
    application = Application(folder / f"{name}.seen", settings["sends"])
    async with join(
        "soak",
        name=name,
        listen=("127.0.0.1", settings["port"]),
        security=PLAIN_TCP,
        seeds=[f"127.0.0.1:{port}" for port in settings["seeds"]],
        log=folder / f"{name}.log",
    ) as group:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(application.listen(group))
            tasks.create_task(application.send(group, settings["pause_s"]))
            tasks.create_task(application.tell())
            while line := await reader.readline():
                order = json.loads(line)
                application.sends = order.get("sends", application.sends)
                application.deaf_until = time.monotonic() + order.get("deaf_s", 0.0)


if __name__ == "__main__":
    try:
        asyncio.run(run(json.loads(sys.argv[1])))
    except* AntecedeError as errors:
        say(failed=str(errors.exceptions[0]))
        sys.exit(3)
