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
from antecede.pipeline.audit.relations import (
    MESSAGE,
    UNKNOWN_WORD,
    has_null_name,
    kind_code,
    layer_code,
    local_order,
)
from antecede.pipeline.audit.source import ROW
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
    alone: bool
    """Whether it has rows that cannot be right, whatever the others say."""
    placed: bool
    """Whether every event has a position."""

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
    for ask in (_rows, _seq, _sends, _has_send, _deliveries, _repeats, _positions):
        if found := ask(suspect):
            return found
    return None


def _first(frame: DataFrame, *order: str) -> Row | None:
    rows = frame.orderBy(*order).limit(1).collect()
    return rows[0] if rows else None


def _rows(suspect: Suspect) -> BadTrace | None:
    """Unknown words and nulls, all in one query."""
    if not suspect.alone:
        return None
    kind, layer = kind_code(F.col("kind")), layer_code(F.col("layer"))
    about_message = F.coalesce(kind <= DELIVER, F.lit(True))  # a null kind counts as small
    unaddressed = F.col("destinations").isNull() | has_null_name()
    broken = {
        ("kind", rules.KNOWN_KIND): kind == UNKNOWN_WORD,
        ("layer", rules.KNOWN_KIND): layer == UNKNOWN_WORD,
        **{
            (name, rules.NOT_NULL): F.col(name).isNull() & condition
            for name, condition in (
                *((name, F.lit(True)) for name in ("process", "seq", "kind")),
                *((name, about_message) for name in ("sender", "number")),
            )
        },
        ("destinations", rules.NOT_NULL): (kind == SEND) & unaddressed,
    }
    found = suspect.events.agg(
        *(
            F.min(F.when(condition, F.struct(ROW, "process", "kind", "layer"))).alias(str(index))
            for index, condition in enumerate(broken.values())
        )
    ).collect()[0]
    for index, (column, rule) in enumerate(broken):
        if event := found[str(index)]:
            is_word = rule == rules.KNOWN_KIND
            detail = (
                f"unknown {column} '{event[column]}'" if is_word else f"column '{column}' is null"
            )
            return suspect.bad(rule, event.process, event[ROW], detail)
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
    if suspect.alone and (found := _first(sends.where("process != sender"), ROW)):
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
    if not suspect.placed:
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
