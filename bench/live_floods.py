"""A hostile member that sends a thousand megabytes to an honest one, in five ways: how much comes,
and by how much the process of the honest members (three of them) grows at most.
`python -m bench.live_floods [MEGABYTES [SECONDS]]`: each flood ends after so many seconds."""

import sys
import tempfile
from pathlib import Path

from bench.docs import ROOT, markdown
from bench.live import machine
from bench.made import signed
from tests.live.test_hostile import FLOODS, MEBIBYTE, Arena, Running, flood

PAGE = ROOT / "docs" / "results" / "live-floods.md"
HEAD = ("a hostile member sends", "MiB sent", "MiB came", "MiB more at most")
MEGABYTES = 1000
SECONDS = 60.0


def main(megabytes: int = MEGABYTES, seconds: float = SECONDS) -> None:
    rows = []
    running = Running()
    with tempfile.TemporaryDirectory() as folder:
        arena = Arena(Path(folder))
        running(arena.open())
        try:
            for how, words in FLOODS.items():
                found = running(flood(arena, how, megabytes, seconds), seconds + 120.0)
                cells = [str(round(one / MEBIBYTE)) for one in found]
                print(f"{words}: {cells[0]} MiB sent, {cells[1]} came, {cells[2]} more", flush=True)
                rows.append((words, *cells))
        finally:
            running(arena.close())
    if (megabytes, seconds) == (MEGABYTES, SECONDS):
        text = INTRODUCTION.format(megabytes=megabytes, seconds=seconds, machine=machine())
        PAGE.write_text(signed(text + markdown(HEAD, rows)), "utf-8")


INTRODUCTION = """# What a hostile member makes others keep

Written by `python -m bench.live_floods`; do not edit. A member with a valid certificate sends up
to {megabytes:,} MiB to one of three honest members, which share a process, for {seconds:g} s at
most: it is cut off, comes in again, and goes on. What it sends and what comes differ by what was
under way when it was cut off. The last column is the largest growth of the process meanwhile, all
three members and the certificates' work included; the limit is 64 MiB
([security](../security.md)). {machine}.

"""

if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
