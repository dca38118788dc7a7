"""What it costs a group that a durable member returns: it asks every durable member how much it has
of the returner's own messages, and one of them for what it missed. Counted on the pure machines
(`tests/live/seeded_world`), so that the same figures come out everywhere.

`python -m bench.live_returns`: the table in docs/live.md.
"""

import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from antecede.live.ordering.items import decode_items
from antecede.live.ordering.offers import Given, Ready, Subject, Wanted
from antecede.live.transport.outgoing import array_head
from bench.docs import markdown
from tests.live.seeded_world import Link, Process, World

SIZES: Final = (4, 16, 64)
MISSED: Final = 200
"""Messages of 100 bytes that it missed."""
HEAD: Final = (
    "durable members", "questions of one that returns", "KiB, with the answers",
    "of this, what it missed", "questions where all return at once", "KiB, with the answers",
)  # fmt: skip


class Counting(World):
    """All members are seeds, and nothing goes wrong."""

    def __init__(self, size: int, folder: Path) -> None:
        super().__init__(1, folder)
        self.seeds = self.names = [f"p{number}" for number in range(size)]  # type: ignore[assignment]
        self.expect = size // 2 + 1
        self.ambush, self.slowness_s = "", 0.001
        self.count_of: Counter[str] = Counter()
        self.bytes_of: Counter[str] = Counter()

    def _arrive(self, process: Process, other: Process, link: Link) -> None:
        first, length = (link.waiting[0] if link.waiting else b""), len(link.waiting)
        super()._arrive(process, other, link)
        if len(link.waiting) == length - 1:
            (item,) = decode_items(array_head(1) + first, self.chosen.stamp_type)
            if isinstance(item, Wanted | Given | Ready):
                is_past = isinstance(item, Given) and item.kind is Subject.PAST
                for what in (type(item).__name__, "offers", "past" if is_past else "rest"):
                    self.count_of[what] += 1
                    self.bytes_of[what] += len(first)

    def until(self, condition: Callable[[], bool]) -> None:
        ends_at = self.now + 600.0
        while not condition():
            self._play(self.now + 0.1)
            if self.now > ends_at:
                raise SystemExit("it takes too long")

    def counted(self, *names: str) -> tuple[str, str, str]:
        """What it takes to have these back: questions, KiB, KiB of what was missed."""
        self.count_of.clear()
        self.bytes_of.clear()
        for name in names:
            self.at(0.0, partial(self.start, name))
        everybody = {*self.names}
        self.until(lambda: self.alive.keys() == everybody and self.see(everybody))
        kib = [f"{self.bytes_of[what] / 1024:,.1f}" for what in ("offers", "past")]
        return f"{self.count_of['Wanted']:,}", kib[0], kib[1]

    def see(self, names: set[str]) -> bool:
        return all({*self.alive[name].view} == names for name in names)


def row(size: int) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as folder:
        world = Counting(size, Path(folder))
        world.counted(*world.names)
        last = world.names[-1]
        world.kill(last)
        others = {*world.names} - {last}
        world.until(lambda: world.see(others))
        words = [(b"%d" % number).ljust(100) for number in range(MISSED)]
        for number, word in enumerate(words):
            world.alive[world.names[number % (size - 1)]].unsent.append(word)
        world.until(lambda: all(world.alive[name].got >= {*words} for name in others))
        one = world.counted(last)
        if not world.alive[last].got >= {*words}:
            raise SystemExit("it has not got what it missed")
        for name in world.names:
            world.kill(name)
        everybody_again = world.counted(*world.names)
        return (f"{size}", *one, *everybody_again[:2])


def main() -> None:
    print(markdown(HEAD, [row(size) for size in SIZES]))


if __name__ == "__main__":
    main()
