"""The live runtime on loopback, one process a member, all sending 100-byte messages to all.

CPU is that of all processes (user and system) for one delivery; ratios are to asyncio streams
without any order, one write a message, in the same run. Bytes are what a link carries for one
message."""

import json
import subprocess
import sys
from statistics import median
from typing import Any

from bench.live_member import PAYLOAD_BYTES

MEMBERS = 8
MESSAGES = 3_000
QUIET_RATE = 1_000
PROTOCOLS = ("none", "fifo", "vector", "matrix", "optimal", "pairs", "histories", "blocks-fast")


def measure(kind: str, members: int, messages: int, rate: float | None = None) -> dict[str, Any]:
    """One run; `rate` is that of all members together."""
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
            settings |= {"messages": messages, "rate": each}
            command = [sys.executable, "-m", "bench.live_member", json.dumps(settings)]
            pipe = subprocess.PIPE
            processes.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        if kind in ("bare", "batched"):
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


def main(members: int = MEMBERS, messages: int = MESSAGES) -> None:
    print(f"{members} members, {messages:,} messages of {PAYLOAD_BYTES} bytes from each\n")
    print(f"{'':14}{'µs CPU a delivery':>18}{'ratio':>8}{'bytes a message':>18}{'MiB':>8}")
    base = 0.0
    for kind in ("bare", "batched", *PROTOCOLS):
        found = measure(kind, members, messages)
        base = base or found["us"]
        print(
            f"{kind:14}{found['us']:>18.2f}{found['us'] / base:>8.2f}{found['bytes']:>18.1f}"
            f"{found['mib']:>8.0f}",
            flush=True,
        )
    print(f"\nlatency with {QUIET_RATE:,} messages a second altogether\n")
    print(f"{'':14}{'p50 ms':>10}{'ratio':>8}{'p99 ms':>10}")
    base = 0.0
    for kind in ("bare", "vector"):
        found = measure(kind, 4, QUIET_RATE, QUIET_RATE)
        base = base or found["p50_ms"]
        print(
            f"{kind:14}{found['p50_ms']:>10.2f}{found['p50_ms'] / base:>8.2f}"
            f"{found['p99_ms']:>10.2f}"
        )
