"""Which rule of the format a run breaks first, and where: asked by SQL, once it is known that there
is something to find.

The rules come in the order in which `antecede.trace.rules` asks them, and among several events that
break one the choice is the same, so both engines refuse a trace with the same words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from antecede.errors import BadTrace
from antecede.pipeline.relations import (
    MESSAGE,
    UNKNOWN_WORD,
    has_null_name,
    kind_code,
    layer_code,
    local_order,
)
from antecede.pipeline.source import ROW
from antecede.trace import rules
from antecede.trace.events import Sources
from antecede.trace.extension import LINEAR_EXTENSION
from antecede.trace.schema import DELIVER, KINDS, SEND


@dataclass(frozen=True)
class Suspect:
    """A run that breaks some rule: its rows as they are, and in numbers."""

    name: str
    events: DataFrame
    coded: DataFrame
    processes: Sequence[str]
    sources: Sources

    def bad(self, rule: str, process: str | None, row: int, detail: str) -> BadTrace:
        who = "(null)" if process is None else process
        where = f"run '{self.name}', process '{who}', {self.sources.place(row)}"
        return BadTrace(rule, where, detail)

    def bad_event(self, rule: str, event: Row, detail: str) -> BadTrace:
        """The same about an event in numbers."""
        return self.bad(rule, self.processes[event.process], event[ROW], detail)

    def message(self, event: Row) -> str:
        return f"{self.processes[event.sender]}:{event.number}"


def first_error(suspect: Suspect) -> BadTrace | None:
    """The first rule that is broken, apart from cycles, which have no place in SQL."""
    for ask in (_words, _nulls, _seq, _sends, _has_send, _deliveries, _repeats, _positions):
        if found := ask(suspect):
            return found
    return None


def _first(frame: DataFrame, *order: str) -> Row | None:
    rows = frame.orderBy(*order).limit(1).collect()
    return rows[0] if rows else None


def _words(suspect: Suspect) -> BadTrace | None:
    for column, code in (("kind", kind_code), ("layer", layer_code)):
        unknown = suspect.events.where(code(F.col(column)) == UNKNOWN_WORD)
        if found := _first(unknown, ROW):
            detail = f"unknown {column} '{found[column]}'"
            return suspect.bad(rules.KNOWN_KIND, found.process, found[ROW], detail)
    return None


def _nulls(suspect: Suspect) -> BadTrace | None:
    kind = kind_code(F.col("kind"))
    about_message = F.coalesce(kind <= DELIVER, F.lit(True))  # a null kind counts as small
    is_null = {name: F.col(name).isNull() for name in ("process", "seq", "kind")}
    is_null |= {name: about_message & F.col(name).isNull() for name in ("sender", "number")}
    unaddressed = F.col("destinations").isNull() | has_null_name()
    is_null["destinations"] = (kind == SEND) & unaddressed
    for column, condition in is_null.items():
        if found := _first(suspect.events.where(condition), ROW):
            detail = f"column '{column}' is null"
            return suspect.bad(rules.NOT_NULL, found.process, found[ROW], detail)
    return None


def _seq(suspect: Suspect) -> BadTrace | None:
    expected = (F.row_number().over(local_order()) - 1).alias("expected")
    wrong = suspect.coded.select("*", expected).where("seq != expected")
    if found := _first(wrong, "process", "seq", ROW):
        detail = f"seq is {found.seq}, expected {found.expected}"
        return suspect.bad_event(rules.SEQ, found, detail)
    return None


def _sends(suspect: Suspect) -> BadTrace | None:
    sends = suspect.coded.where(F.col("kind") == SEND)
    if found := _first(sends.where("process != sender"), ROW):
        detail = f"sends {suspect.message(found)}, a message of another process"
        return suspect.bad_event(rules.SEND_AT_SENDER, found, detail)
    by_author = Window.partitionBy("layer", "sender").orderBy("seq", ROW)
    wrong = sends.select("*", F.row_number().over(by_author).alias("expected"))
    found = _first(wrong.where("number != expected"), "layer", "sender", "seq", ROW)
    if not found:
        return None
    repeat = _first(_again(sends, *MESSAGE), *MESSAGE, ROW)
    if repeat:
        place = suspect.sources.place(repeat.before)
        detail = f"sends {suspect.message(repeat)} again, after {place}"
        return suspect.bad_event(rules.SENT_ONCE, repeat, detail)
    detail = f"sends {suspect.message(found)}, expected number {found.expected}"
    return suspect.bad_event(rules.NUMBERS, found, detail)


def _again(frame: DataFrame, *keys: str) -> DataFrame:
    """The rows before which another one has the same keys, with the place of that one."""
    before = F.lag(ROW).over(Window.partitionBy(*keys).orderBy(ROW))
    return frame.select("*", before.alias("before")).where("before is not null")


def _has_send(suspect: Suspect) -> BadTrace | None:
    sends = suspect.coded.where(F.col("kind") == SEND)
    counts = sends.groupBy("layer", "sender").agg(F.count("*").alias("sent"))
    about = suspect.coded.where(F.col("kind") <= DELIVER)
    joined = about.join(F.broadcast(counts), ["layer", "sender"], "left")
    lacking = (F.col("number") < 1) | (F.col("number") > F.coalesce("sent", F.lit(0)))
    if found := _first(joined.where(lacking), ROW):
        detail = f"{KINDS[found.kind]} of {suspect.message(found)}, which nobody sent"
        return suspect.bad_event(rules.HAS_SEND, found, detail)
    return None


def _with_send(suspect: Suspect, events: Column, *more: str) -> DataFrame:
    """Events of messages with some columns of their sends."""
    sends = suspect.coded.where(F.col("kind") == SEND)
    renamed = [F.col(name).alias(f"send_{name}") for name in (ROW, "position", *more)]
    return suspect.coded.where(events).join(sends.select(*MESSAGE, *renamed), list(MESSAGE))


def _deliveries(suspect: Suspect) -> BadTrace | None:
    delivered = _with_send(suspect, F.col("kind") == DELIVER)
    again = _again(delivered, *MESSAGE, "process")
    if found := _first(again, f"send_{ROW}", "process", ROW):
        place = suspect.sources.place(found.before)
        detail = f"delivers {suspect.message(found)} again, after {place}"
        return suspect.bad_event(rules.DELIVERED_ONCE, found, detail)
    about = _with_send(suspect, F.col("kind").between(SEND + 1, DELIVER), "destinations")
    name = suspect.events.select(ROW, F.col("process").alias("name"))
    elsewhere = about.where("process != sender").join(name, ROW)
    elsewhere = elsewhere.where(~F.array_contains("send_destinations", F.col("name")))
    if found := _first(elsewhere, ROW):
        what = f"{KINDS[found.kind]} of {suspect.message(found)}"
        detail = f"{what}, which is not addressed to it"
        return suspect.bad_event(rules.AT_DESTINATION, found, detail)
    return None


def _repeats(suspect: Suspect) -> BadTrace | None:
    placed = suspect.coded.where("position is not null")
    if found := _first(_again(placed, "position"), "position", ROW):
        place = suspect.sources.place(found.before)
        detail = f"position {found.position} is also that of {place}"
        return suspect.bad_event(LINEAR_EXTENSION, found, detail)
    return None


def _positions(suspect: Suspect) -> BadTrace | None:
    """Asked only where every event has a position."""
    if _first(suspect.coded.where("position is null"), ROW):
        return None
    order = local_order()
    local = suspect.coded.select(
        "*", F.lag("position").over(order).alias("earlier"), F.lag(ROW).over(order).alias("before")
    )
    remote = _with_send(suspect, F.col("kind").between(SEND + 1, DELIVER)).select(
        "*", F.col("send_position").alias("earlier"), F.col(f"send_{ROW}").alias("before")
    )
    for frame, relation in ((local, "the event before it there"), (remote, "its send")):
        if found := _first(frame.where("position <= earlier"), ROW):
            detail = (
                f"position {found.position} does not come after {found.earlier}, "
                f"the position of {relation}, {suspect.sources.place(found.before)}"
            )
            return suspect.bad_event(LINEAR_EXTENSION, found, detail)
    return None
