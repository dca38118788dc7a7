"""The log of a durable member: an SQLite file, written in one transaction a turn of the event loop.

It holds own messages until they have reached everybody (`outbox`), deliveries in the order in which
they were made (`inbox`), of which some number is kept for members that return, and what is known of
senders (`marks`, `had`). A transaction is whole or not there, whenever the process or the machine
dies (`Durability` says what survives which).
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from antecede.errors import BadFile, CannotWrite, Misuse
from antecede.groups import MemberId
from antecede.live.durable.checks import row_sum, wal_damage
from antecede.live.durable.remembered import Outgone, Remembered
from antecede.live.events import Excluded
from antecede.live.ordering.effects import Delivery
from antecede.live.ordering.offers import HadOf, Mark, PastRow
from antecede.live.outputs import (
    Accompanied,
    Begun,
    Durable,
    Kept,
    Learnt,
    Raised,
    Reached,
)

_APPLICATION: Final = 0x416E7465
_FORMAT: Final = 4
_PRUNE_EVERY: Final = 1024
_ROW_BYTES: Final = 64
"""More than a row of the past takes besides its texts."""
_REMOVE: Final = (
    "or remove it (with its -wal file): the member then joins as one that has never been there"
)
_RESTORE: Final = f"restore it from a copy if nothing was sent since that was made, {_REMOVE}"

_TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value, sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox (
    number INTEGER PRIMARY KEY, destinations BLOB, named TEXT, payload BLOB NOT NULL,
    sum INTEGER NOT NULL
);
CREATE TABLE inbox (
    position INTEGER PRIMARY KEY, sender TEXT NOT NULL, series INTEGER NOT NULL,
    number INTEGER NOT NULL, process INTEGER NOT NULL, incarnation INTEGER NOT NULL, named TEXT,
    to_all INTEGER NOT NULL, payload BLOB NOT NULL, sum INTEGER NOT NULL
);
CREATE TABLE marks (
    sender TEXT, series INTEGER, last INTEGER NOT NULL DEFAULT 0, lacks INTEGER NOT NULL DEFAULT 0,
    floor INTEGER NOT NULL DEFAULT 0, sum INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (sender, series)
) WITHOUT ROWID;
CREATE TABLE had (
    sender TEXT, series INTEGER, number INTEGER, sum INTEGER NOT NULL,
    PRIMARY KEY (sender, series, number)
) WITHOUT ROWID;
"""


class Synchronous(StrEnum):
    """What a log survives."""

    NORMAL = "normal"
    """The death of the process. After a power cut the last moments may be gone."""
    FULL = "full"
    """A power cut, too: every transaction waits for the disk."""


@dataclass(frozen=True)
class Durability:
    """`kept_messages`: how many deliveries the log keeps at least for members that return."""

    synchronous: Synchronous = Synchronous.NORMAL
    kept_messages: int = 100_000

    def __post_init__(self) -> None:
        if self.kept_messages < 0:
            raise Misuse("a log keeps 0 messages or more (Durability.kept_messages)")


class Journal:
    """An open log. `remembered` is what it says, in memory."""

    def __init__(
        self, path: Path, group: str, name: str, protocol: str, durability: Durability
    ) -> None:
        self.path = path
        self._name = name
        self._durability = durability
        self._since_pruned = 0
        wanted = {"group": group, "name": name, "protocol": protocol}
        self._wal = path.with_name(f"{path.name}-wal")
        """Beside it, what was written last."""
        self._make_if_none(wanted)
        damage = wal_damage(self._wal)
        if damage is not None:
            raise self._damaged(damage)
        self._database = _opened(path)
        try:
            with self._complaining():
                self._check_file()
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute(f"PRAGMA synchronous = {durability.synchronous.value}")
                self._check_owner(wanted)
                self.remembered = self._load()
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        self._database.close()

    def begin_life(self, now_ms: int) -> int:
        """The number of a new incarnation: by the clock, unless that was set back."""
        with self._complaining(), self._transaction():
            incarnation: int = max(self._meta("incarnation") + 1, now_ms)
            self._set("incarnation", incarnation)
        return incarnation

    # -- reading

    def untaken(self) -> list[tuple[int, Delivery]]:
        """What was delivered and not taken by the application, with its positions."""
        with self._complaining():
            rows = self._database.execute(
                "SELECT position, sender, payload, number, named, process, incarnation "
                "FROM inbox WHERE position > ? ORDER BY position",
                (self._meta("taken"),),
            ).fetchall()
        return [
            (position, Delivery(sender, payload, number, named, member=MemberId(process, life)))
            for position, sender, payload, number, named, process, life in rows
        ]

    def past(
        self, marks: Iterable[Mark], after: int, upto: int, part_bytes: int
    ) -> tuple[tuple[PastRow, ...], int, bool]:
        """What was sent to everybody and is beyond these marks, from between two positions, as much
        as fits; where it stopped; and whether there is more."""
        has = {(mark.sender, mark.series): mark.number for mark in marks}
        found: list[PastRow] = []
        size = 0
        with self._complaining():
            rows = self._database.execute(
                "SELECT position, sender, series, number, process, incarnation, payload "
                "FROM inbox WHERE position > ? AND position <= ? AND to_all ORDER BY position",
                (after, upto),
            )
            for position, *columns in rows:
                row = PastRow(*columns)
                if row.number <= has.get((row.sender, row.series), 0):
                    continue
                size += len(row.payload) + len(row.sender) + _ROW_BYTES
                if found and size > part_bytes:
                    return tuple(found), after, True
                found.append(row)
                after = position
        return tuple(found), upto, False

    def own(self, after: int, upto: int) -> list[Outgone]:
        """Own messages to everybody between these numbers, without the first."""
        with self._complaining():
            rows = self._database.execute(
                "SELECT number, payload FROM inbox WHERE sender = ? AND series = ? "
                "AND number > ? AND number <= ? AND to_all ORDER BY number",
                (self._name, self.remembered.series, after, upto),
            ).fetchall()
        return [Outgone(number, None, None, payload) for number, payload in rows]

    # -- writing

    def write(self, what: Sequence[Durable], taken: int | None) -> None:
        """All of it, or nothing."""
        if not what and taken is None:
            return
        deliveries, sends, others = [], [], []
        for one in what:
            if type(one) is Kept:
                deliveries.append(_inbox_row(one))
            elif type(one) is Outgone:
                sends.append(_outbox_row(one))
            else:
                others.append(one)
        with self._complaining(), self._transaction():
            executemany = self._database.executemany
            if sends:
                executemany("INSERT OR REPLACE INTO outbox VALUES (?, ?, ?, ?, ?)", sends)
            if deliveries:
                executemany("INSERT INTO inbox VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", deliveries)
            for other in others:
                self._note(other)
            if taken is not None:
                self._set("taken", taken)
            self._since_pruned += len(deliveries)
            if self._since_pruned >= _PRUNE_EVERY:
                self._since_pruned = 0
                self._prune()

    def _note(self, what: Durable) -> None:
        execute = self._database.execute
        match what:
            case Reached():
                execute("DELETE FROM outbox WHERE number <= ?", (what.number,))
                self._set("reached", what.number)
                self._raise("floor", self._name, self.remembered.series, what.number)
            case Raised():
                self._raise("floor", what.sender, what.series, what.number)
                execute(
                    "DELETE FROM had WHERE sender = ? AND series = ? AND number <= ?",
                    (what.sender, what.series, what.number),
                )
            case Learnt():
                for mark in what.lasts:
                    self._raise("last", mark.sender, mark.series, mark.number)
                for mark in what.lacks:
                    self._raise("lacks", mark.sender, mark.series, mark.number)
                for one in what.had:
                    self._raise("floor", one.sender, one.series, one.floor)
                    rows = [(one.sender, one.series, number) for number in one.numbers]
                    self._database.executemany(
                        "INSERT OR IGNORE INTO had VALUES (?, ?, ?, ?)",
                        [(*row, row_sum(*row)) for row in rows],
                    )
            case Begun():
                self._set("begins", 0)
            case Excluded():
                self._set("incarnation", what.incarnation)
            case Accompanied():
                self._set("company", json.dumps(what.names))

    def _raise(self, column: str, sender: str, series: int, number: int) -> None:
        self._database.execute(
            f"INSERT INTO marks (sender, series, {column}) VALUES (?, ?, ?) "
            f"ON CONFLICT DO UPDATE SET {column} = max({column}, excluded.{column})",
            (sender, series, number),
        )
        self._database.execute(
            "UPDATE marks SET sum = row_sum(sender, series, last, lacks, floor) "
            "WHERE sender = ? AND series = ?",
            (sender, series),
        )

    def _set(self, key: str, value: object) -> None:
        row = (key, value, row_sum(key, value))
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", row)

    def _prune(self) -> None:
        """Forget the oldest deliveries: those taken, more than enough ago, that no durable member
        may send again."""
        execute = self._database.execute
        newest = execute("SELECT coalesce(max(position), 0) FROM inbox").fetchone()[0]
        limit = min(self._meta("taken"), newest - self._durability.kept_messages)
        old = (
            "FROM inbox LEFT JOIN marks USING (sender, series) WHERE position <= ? "
            "AND (series = incarnation OR number <= floor)"
        )
        gone = execute(
            "SELECT sender, series, max(number), max(CASE WHEN to_all THEN number ELSE 0 END) "
            f"{old} GROUP BY sender, series",
            (limit,),
        ).fetchall()
        execute(f"DELETE FROM inbox WHERE position IN (SELECT position {old})", (limit,))
        for sender, series, last, lacks in gone:
            self._raise("last", sender, series, last)
            self._raise("lacks", sender, series, lacks)
            source = (sender, series)
            self.remembered.lacks[source] = max(lacks, self.remembered.lacks.get(source, 0))

    # -- inside

    def _make_if_none(self, wanted: dict[str, str]) -> None:
        """A new log, whole or not there: so one that is empty has lost something."""
        if self.path.exists():
            if not self.path.stat().st_size:
                raise BadFile(str(self.path), [f"is empty, which no log ever is; {_RESTORE}"])
            return
        if self._wal.exists() and self._wal.stat().st_size:
            # SQLite would write it into the new one.
            reason = f"is not there, though its end is, {self._wal.name}; {_RESTORE}"
            raise BadFile(str(self.path), [reason])
        aside = self.path.with_name(f".{self.path.name}.new-{os.getpid()}")
        self._database = _opened(aside)
        try:
            with self._complaining(), self._transaction():
                for statement in _TABLES.split(";"):
                    self._database.execute(statement)
                values = {
                    **wanted, "taken": 0, "reached": 0, "series": time.time_ns(), "begins": 1,
                    "incarnation": 0,
                }  # fmt: skip
                for key, value in values.items():
                    self._set(key, value)
                self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._database.execute(f"PRAGMA user_version = {_FORMAT}")
            self._database.close()
            aside.replace(self.path)
        except OSError as error:
            raise CannotWrite(str(self.path), error.strerror or str(error)) from None
        finally:
            self._database.close()
            aside.unlink(missing_ok=True)

    def _check_owner(self, wanted: dict[str, str]) -> None:
        """See that it is of this member."""
        mistakes = [
            f"is the log of {key} '{self._meta(key)}', not '{value}'; name another file"
            for key, value in wanted.items()
            if self._meta(key) != value
        ]
        if mistakes:
            raise BadFile(str(self.path), mistakes)

    def _check_file(self) -> None:
        execute = self._database.execute
        if execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise BadFile(str(self.path), ["is no log of a member; name another file"])
        version = execute("PRAGMA user_version").fetchone()[0]
        if version != _FORMAT:
            reason = f"is a log of format {version}, this is {_FORMAT}; name another file"
            raise BadFile(str(self.path), [reason])
        verdict = execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise self._damaged(" ".join(verdict.split()))
        for table in ("meta", "outbox", "inbox", "marks", "had"):
            for *columns, found in execute(f"SELECT * FROM {table}"):
                if row_sum(*columns) != found:
                    raise self._damaged(f"row {columns[0]} in {table} was changed")

    def _load(self) -> Remembered:
        execute = self._database.execute
        if self._meta("begins"):
            # Killed before it had taken the state it came with: it begins anew.
            with self._transaction():
                for table in ("inbox", "marks", "had"):
                    execute(f"DELETE FROM {table}")
                self._set("taken", 0)
        kept = Remembered(self._meta("series"), bool(self._meta("begins")), self._meta("reached"))
        for (names,) in execute("SELECT value FROM meta WHERE key = 'company'"):
            kept.company = tuple(json.loads(names))
        for number, to, named, payload, _ in execute("SELECT * FROM outbox ORDER BY number"):
            names = None if to is None else msgspec.msgpack.decode(to, type=tuple[str, ...])
            kept.outbox.append(Outgone(number, names, named, payload))
        newest = execute("SELECT coalesce(max(position), 0) FROM inbox").fetchone()[0]
        kept.position = max(newest, self._meta("taken"))
        floors: dict[tuple[str, int], int] = {(self._name, kept.series): kept.reached}
        for sender, series, last, lacks, floor, _ in execute("SELECT * FROM marks"):
            kept.last[sender, series] = last
            kept.lacks[sender, series] = lacks
            if floor:
                floors[sender, series] = floor
        for sender, series, last in execute(
            "SELECT sender, series, max(number) FROM inbox GROUP BY sender, series"
        ):
            kept.last[sender, series] = max(last, kept.last.get((sender, series), 0))
        kept.had = self._had(floors)
        return kept

    def _had(self, floors: dict[tuple[str, int], int]) -> tuple[HadOf, ...]:
        """What has been had of durable members: their messages have a series of their own."""
        numbers: dict[tuple[str, int], set[int]] = {source: set() for source in floors}
        rows = self._database.execute(
            "SELECT sender, series, number FROM had UNION ALL "
            "SELECT sender, series, number FROM inbox WHERE series != incarnation"
        )
        for sender, series, number in rows:
            if number > floors.get((sender, series), 0):
                numbers.setdefault((sender, series), set()).add(number)
        return tuple(
            HadOf(*source, floors.get(source, 0), tuple(sorted(numbers[source])))
            for source in sorted(numbers)
        )

    def _meta(self, key: str) -> Any:
        found = self._database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if found is None:
            raise self._damaged(f"it does not say its {key}")
        return found[0]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._reason(error) from None

    def _reason(self, error: sqlite3.Error) -> Exception:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            reason = f"is no log of a member, or is damaged: {error}; name another file, {_REMOVE}"
            return BadFile(str(self.path), [reason])
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR):
            return CannotWrite(str(self.path), str(error))
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            reason = (
                f"{error}: this process must be able to read and write it, and make files beside it"
            )
            return CannotWrite(str(self.path), reason)
        if code == sqlite3.SQLITE_BUSY:
            return Misuse(f"{self.path} is in use: another process is this member")
        return self._damaged(str(error))

    def _damaged(self, reason: str) -> BadFile:
        return BadFile(str(self.path), [f"is damaged: {reason}; {_RESTORE}"])


def _opened(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        database = sqlite3.connect(path, timeout=0.0, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise CannotWrite(str(path), reason or str(error)) from None
    database.create_function("row_sum", -1, row_sum, deterministic=True)
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    return database


def _inbox_row(kept: Kept) -> tuple[object, ...]:
    delivery = kept.delivery
    member = delivery.member or MemberId(0, 0)
    columns = (
        kept.position, delivery.sender, kept.series, delivery.number, member.process,
        member.incarnation, delivery.group, int(kept.is_to_all), delivery.payload,
    )  # fmt: skip
    return (*columns, row_sum(*columns))


def _outbox_row(sent: Outgone) -> tuple[object, ...]:
    to = None if sent.to is None else msgspec.msgpack.encode(sent.to)
    columns = (sent.number, to, sent.group, sent.payload)
    return (*columns, row_sum(*columns))
