"""One writer at a time where there are no locks: leases in the folder of a store.

Who wants to write puts a claim under `.lock/`, then looks whose claims are there. Stores show what
was put to whoever looks later, so of two that come at once at least one sees the other, and gives
way; both may. A claim is renewed while its holder lives and counts for `LEASE_S` after that, by the
clock of the store alone. The claim of a process of this machine that has died counts no longer. A
holder that could not renew in time (it was suspended, or cut off) stops."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Final
from uuid import uuid4

from antecede.errors import CannotWrite, Misuse
from antecede.stores import StoredPath

LEASE_S: Final = 90.0
"""How long a claim counts that is not renewed,"""
RENEW_S: Final = 15.0
"""and how often it is."""
_ABOUT: Final = "about"
_WORDS: Final = b"Claims of the process that writes here; see antecede/lease.py.\n"


@contextmanager
def leased(claims: StoredPath, folder: Path) -> Iterator[Callable[[], None]]:
    """Refuse if another process is at this folder, whose claims are there. Gives a function that
    raises an error if the claim has been lost, to be called before anything is written."""
    mine = claims / f"{socket.gethostname()} {os.getpid()} {_started(os.getpid())} {uuid4().hex}"
    try:
        (claims / _ABOUT).write_bytes(_WORDS)
        mine.write_bytes(b"")
        left_s = _others_left_s(claims, mine)
    except OSError as error:
        raise CannotWrite(str(folder), str(error)) from error
    if left_s is not None:
        mine.unlink(missing_ok=True)
        raise Misuse(
            f"another process is working in {folder}; if it was killed on another machine, its "
            f"claim ends in {max(1, round(left_s))} s"
        )
    claim = _Claim(mine)

    def check() -> None:
        if claim.is_lost():
            raise CannotWrite(str(folder), "another process may be there: the claim was lost")

    renewing = Thread(target=claim.renew, daemon=True)
    renewing.start()
    try:
        yield check
    finally:
        claim.over.set()
        renewing.join()
        with suppress(OSError):
            mine.unlink(missing_ok=True)


class _Claim:
    """A claim that is renewed until it is over."""

    def __init__(self, file: StoredPath) -> None:
        self._file = file
        self._renewed_s: float | None = monotonic()
        self.over = Event()

    def is_lost(self) -> bool:
        """Whether others may have taken it for dead."""
        return self._renewed_s is None or monotonic() - self._renewed_s >= LEASE_S

    def renew(self) -> None:
        """Now and then, as long as the claim is there: a store out of reach may come back."""
        while not self.over.wait(RENEW_S) and not self.is_lost():
            now_s = monotonic()
            with suppress(OSError):
                if not self._file.exists():
                    self._renewed_s = None
                    return
                self._file.write_bytes(b"")
                self._renewed_s = now_s


def _others_left_s(claims: StoredPath, mine: StoredPath) -> float | None:
    """How long the longest claim of others counts still; claims that do not count are deleted."""
    now_s = mine.stat().st_mtime
    found = None
    for claim in claims.listed():
        if claim.name in {mine.name, _ABOUT}:
            continue
        try:
            left_s = claim.stat().st_mtime + LEASE_S - now_s
        except FileNotFoundError:
            continue
        if left_s <= 0 or _is_dead(claim.name):
            claim.unlink(missing_ok=True)
        else:
            found = max(found or 0.0, left_s)
    return found


def _is_dead(claim: str) -> bool:
    """Whether the claim is of a process of this machine that is no more."""
    host, process, started, _ = claim.split(" ")
    return host == socket.gethostname() and _started(int(process)) != started


def _started(process: int) -> str:
    """When a process of this machine began, in a form that no other process has."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as told:
            return told.read().rpartition(")")[2].split()[19]
    except FileNotFoundError:  # there is none, or no such folder on this system
        return "unknown" if not os.path.isdir("/proc/self") else "none"
