"""The live runtime on loopback, one process a member, all sending 100-byte messages to all.

CPU is that of all processes (user and system) for one delivery; ratios are to asyncio streams
without any order, one write a message, in the same run. Bytes are what a link carries for one
message. `python -m bench.live` writes the page, `python -m bench.live latency` a section of it."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from statistics import median
from typing import Any

from bench.docs import ROOT, markdown
from bench.live_member import BATCH, PAYLOAD_BYTES
from bench.made import signed

MEMBERS = 8
MESSAGES = 3_000
QUIET_RATE = 1_000
PAGE = ROOT / "docs" / "results" / "live.md"
LOAD = ("", "µs of CPU a delivery", "ratio", "bytes a message", "MiB at most")
BURSTS = ("messages in a turn", "bare, µs of CPU a delivery", "vector, µs", "ratio")
TURNS = (1, 4, 16, BATCH)
LATENCY = ("", "p50, ms", "ratio", "p99, ms", "ratio")
PROTOCOLS = ("none", "fifo", "vector", "matrix", "optimal", "pairs", "histories", "blocks-fast")
LARGER = {16: 1_500, 32: 750}
"""Members, and messages from each."""
UVLOOP = ("bare, uvloop", "vector, uvloop") if find_spec("uvloop") else ()
"""Only where it is installed: nothing depends on it."""


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def measure(
    kind: str, members: int, messages: int, rate: float | None = None, batch: int = BATCH
) -> dict[str, Any]:
    """One run; `rate` is that of all members together, `batch` what each sends in one turn of its
    event loop where there is none."""
    processes: list[subprocess.Popen[str]] = []
    each = None if rate is None else rate / members

    def hear(process: subprocess.Popen[str]) -> dict[str, Any]:
        line = process.stdout.readline() if process.stdout else ""
        if not line:
            raise SystemExit(f"bench: a member of {kind} ended early")
        heard: dict[str, Any] = json.loads(line)
        return heard

    def tell(process: subprocess.Popen[str], **what: Any) -> None:
        print(json.dumps(what), file=process.stdin, flush=True)

    try:
        for number in range(members):
            settings = {"kind": kind, "number": number, "members": members}
            settings |= {"messages": messages, "rate": each, "batch": batch}
            command = [sys.executable, "-m", "bench.live_member", json.dumps(settings)]
            pipe = subprocess.PIPE
            processes.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        if kind.startswith(("bare", "batched")):
            ports = [hear(process)["port"] for process in processes]
            for process in processes:
                tell(process, ports=ports)
        else:
            first = hear(processes[0])["port"]
            for process in processes[1:]:
                tell(process, ports=[first])
            for process in processes[1:]:
                hear(process)
        for process in processes:
            hear(process)
        for process in processes:
            tell(process, go=True)
        found = [hear(process) for process in processes]
        for process in processes:
            tell(process, end=True)
        for process in processes:
            process.wait(60)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return {
        "us": 1e6 * sum(one["cpu_s"] for one in found) / sum(one["deliveries"] for one in found),
        "bytes": sum(one["bytes"] for one in found) / (messages * members * (members - 1)),
        "p50_ms": 1e3 * median(one["p50_s"] for one in found),
        "p99_ms": 1e3 * max(one["p99_s"] for one in found),
        "mib": max(one["memory_kib"] for one in found) / 1024,
    }


INTRODUCTION = """# What the live runtime costs

Written by `python -m bench.live`; do not edit. One process a member on loopback, all sending
{payload} bytes to all, {messages:,} messages each; CPU is that of all processes for one delivery.
Ratios are to asyncio streams without any order, one write a message, in the same run (`batched`:
64 messages a write); bytes are what a link carries for one message; memory is the most of any
process, and all import the same. A durable member has a log;
with uvloop the event loop is that instead of asyncio's own, which takes no change of code.
Under load a member sends {batch} messages in one turn of its event loop. Under `vector` and `none`
these travel as one item and are ordered as one, since transport version 6: sections that were made
at revision e53e7d6 or f63eb74 are from before that. Who sends one message a turn pays for a frame a
message.
{machine}; other work on the machine changes the times more than the ratios.

For comparison, with 8 members and 100 bytes, given figures that were measured elsewhere and not in
this run: JGroups with CAUSAL 20.5 µs of CPU a delivery, nats-py without any order 5.3 µs.

Tried and not shipped: the session with its parts and the transmission, compiled with mypyc without
a change of code. It saved little, and would need a build on each platform.
"""


def main(members: int = MEMBERS, messages: int = MESSAGES) -> None:
    print(f"{members} members, {messages:,} messages of {PAYLOAD_BYTES} bytes from each\n")
    print(markdown(LOAD, _load(members, messages)))
    print(f"\nlatency with 4 members and {QUIET_RATE:,} messages a second altogether\n")
    print(markdown(LATENCY, _latency()))


def _load(
    members: int, messages: int, kinds: tuple[str, ...] = (*PROTOCOLS, "vector, durable", *UVLOOP)
) -> list[tuple[str, ...]]:
    found = {kind: measure(kind, members, messages) for kind in ("bare", "batched", *kinds)}
    base = found["bare"]["us"]
    return [
        (
            kind,
            f"{one['us']:.1f}",
            f"{one['us'] / base:.1f}",
            f"{one['bytes']:.0f}",
            f"{one['mib']:.0f}",
        )
        for kind, one in found.items()
    ]


def _latency() -> list[tuple[str, ...]]:
    kinds = ("bare", "vector", "vector, durable", *UVLOOP)
    found = {kind: measure(kind, 4, QUIET_RATE, QUIET_RATE) for kind in kinds}
    base = found["bare"]
    return [
        (
            kind,
            *(f"{one['p50_ms']:.2f}", f"{one['p50_ms'] / base['p50_ms']:.1f}"),
            *(f"{one['p99_ms']:.2f}", f"{one['p99_ms'] / base['p99_ms']:.1f}"),
        )
        for kind, one in found.items()
    ]


def _bursts() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for batch in TURNS:
        bare, vector = (
            measure(kind, MEMBERS, MESSAGES // 2, batch=batch)["us"] for kind in ("bare", "vector")
        )
        rows.append((str(batch), f"{bare:.1f}", f"{vector:.1f}", f"{vector / bare:.1f}"))
    return rows


def _titles() -> dict[str, str]:
    """The sections of the page by what they are asked for with."""
    titles = {str(MEMBERS): f"Under load, {MEMBERS} members"}
    titles["bursts"] = f"Under load, {MEMBERS} members, in shorter turns"
    for members, messages in LARGER.items():
        titles[str(members)] = f"Under load, {members} members, {messages:,} messages from each"
    return titles | {"latency": f"Latency, 4 members, {QUIET_RATE:,} messages a second altogether"}


def _section(name: str) -> str:
    if name == "latency":
        return markdown(LATENCY, _latency())
    if name == "bursts":
        return markdown(BURSTS, _bursts())
    members = int(name)
    kinds = () if members == MEMBERS else (("none", "vector"),)
    return markdown(LOAD, _load(members, LARGER.get(members, MESSAGES), *kinds))


def write(names: Sequence[str] = ()) -> None:
    """The page, or these sections of it again: each says when it was made."""
    titles = _titles()
    for name in names:
        if name not in titles:
            raise SystemExit(f"bench: no section '{name}'; there are {', '.join(titles)}")
    parts = PAGE.read_text("utf-8").split("\n## ")[1:] if names else []
    known = {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}
    text = INTRODUCTION.format(
        payload=PAYLOAD_BYTES, messages=MESSAGES, batch=BATCH, machine=machine()
    )
    for name, title in titles.items():
        is_kept = names and name not in names and title in known
        body = known[title] if is_kept else signed(_section(name)).strip()
        text += f"\n## {title}\n\n{body}\n"
    PAGE.write_text(text, "utf-8")
    print(f"written: {PAGE}")


if __name__ == "__main__":
    write(sys.argv[1:])
