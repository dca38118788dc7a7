"""A stream of messages in causal order, by Structured Streaming.

Many groups share a bucket, the key of the state, for a key costs a millisecond or two a batch. Rows
travel as Arrow blobs, packed before the shuffle and unpacked after it, so that columns of any type
come out as they went in; the state of a bucket is what `holdback` knows of its groups, and the rows
that are held.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from antecede.errors import Misuse
from antecede.spark.holdback import GAP, Group, Held, Released, State
from antecede.spark.packed import blobs_frame, from_bytes, packer, to_bytes, unpack

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ADDED: Final = ("kind", "position", "until")
"""Columns that the output has besides: message, gap or late; dense numbers, by group; and the last
number of a gap, whose first stands in the number's column."""
_BUCKET: Final = "antecede_bucket"


class Columns(NamedTuple):
    """Which column is what."""

    group: str
    sender: str
    number: str
    after: str
    time: str


def resequence(
    df: "DataFrame",
    *,
    group: str,
    sender: str,
    number: str,
    after: str,
    time: str,
    patience: float | None = None,
    buckets: int | None = None,
) -> "DataFrame":
    """A stream of messages (or a table of them) in causal order, group by group. Columns are named:
    `number` counts a sender's messages from 1; `after` is what the message comes after, a map from
    senders to numbers or a list of structs (sender, number); `time` is the source's own time, as a
    timestamp or in seconds.

    What comes out are the same rows with `kind`, `position` and `until`. In a group `position` is
    dense and says the order: rows of a batch are not sorted by it. What has not come when a message
    has waited for it for `patience` seconds, by the times of the rows, is told as a gap; without
    patience it is waited for. `buckets` says how many keys the state has, by default as many as
    there are shuffle partitions; a checkpoint keeps to it.

    Raises `Misuse` for a column that is missing, has a wrong type or a name that the result needs,
    and a patience that is not positive. A row without a sender, a number or a time ends the query.

        resequence(messages, group="room", sender="author", number="n", after="seen", time="t")
    """
    from pyspark.sql import functions as F  # noqa: PLC0415 - importing it takes a second
    from pyspark.sql.types import LongType, StringType, StructField, StructType  # noqa: PLC0415

    columns = Columns(group, sender, number, after, time)
    _check(df, columns, patience)
    count = buckets or int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0)
    bucket = F.pmod(F.xxhash64(group), F.lit(count)).cast("int")
    packed = df.withColumn(_BUCKET, bucket).mapInArrow(
        packer(_BUCKET), f"{_BUCKET} int, rows binary"
    )
    keyed = packed.groupBy(_BUCKET)
    if df.isStreaming:
        order = partial(_order, columns, patience)
        ordered = keyed.applyInPandasWithState(
            order, "rows binary", "known binary", "append", "NoTimeout"
        )
    else:
        ordered = keyed.applyInPandas(_order_at_once(columns, patience), "rows binary")
    fields = [StructField(one.name, one.dataType, True) for one in df.schema]
    added = zip(ADDED, (StringType(), LongType(), LongType()), strict=True)
    out = StructType([*fields, *(StructField(name, kind, True) for name, kind in added)])
    return ordered.mapInArrow(unpack, out)


def _check(df: "DataFrame", columns: Columns, patience: float | None) -> None:
    for role, name in columns._asdict().items():
        if name not in df.columns:
            raise Misuse(f"{role}='{name}': there is no such column; there are {df.columns}")
    taken = [name for name in (*ADDED, _BUCKET) if name in df.columns]
    if taken:
        raise Misuse(f"rename the column '{taken[0]}': the result has one of that name")
    if patience is not None and not patience > 0:
        raise Misuse(f"patience={patience}: say how many seconds, or None")
    kind = df.schema[columns.number].dataType.typeName()
    if kind not in {"byte", "short", "integer", "long"}:
        raise Misuse(f"number='{columns.number}' has type {kind}: it has to be an integer")
    kind = df.schema[columns.time].dataType.typeName()
    if kind not in {"timestamp", "timestamp_ntz", "double", "float", "integer", "long"}:
        raise Misuse(f"time='{columns.time}' has type {kind}: say a timestamp, or seconds")
    kind = df.schema[columns.after].dataType.typeName()
    if kind not in {"map", "array"}:
        raise Misuse(f"after='{columns.after}' has type {kind}: say a map, or a list of structs")


def _order(
    columns: Columns, patience: float | None, _key: Any, parts: Iterator[Any], state: Any
) -> Iterator[Any]:
    """One bucket, one batch."""
    known = state.get[0] if state.exists else None
    tables = [from_bytes(blob) for part in parts for blob in part["rows"]]
    known, released = order_bucket(columns, patience, known, tables)
    state.update((known,))
    if released is not None:
        yield blobs_frame([to_bytes(released)])


def _order_at_once(columns: Columns, patience: float | None) -> Any:
    """One bucket of a table."""

    def order(part):  # type: ignore[no-untyped-def] # Spark takes hints for another form
        tables = [from_bytes(blob) for blob in part["rows"]]
        _, released = order_bucket(columns, patience, None, tables)
        return blobs_frame([] if released is None else [to_bytes(released)])

    return order


class _Bucket(msgspec.Struct, array_like=True):
    """The state of a bucket: its groups, and the rows that they hold."""

    groups: list[tuple[Any, State]]
    rows: bytes


_decoder = msgspec.msgpack.Decoder(_Bucket)


def order_bucket(
    columns: Columns, patience: float | None, known: bytes | None, tables: list[pa.Table]
) -> tuple[bytes, pa.Table | None]:
    """What is known of a bucket after these rows, and what they release."""
    before = _decoder.decode(known) if known else None
    rows = pa.concat_tables([*([from_bytes(before.rows)] if before else []), *tables])
    held = len(rows) - sum(map(len, tables))
    states = dict(before.groups) if before else {}
    fresh = _messages(columns, rows, held)
    now = max((one.time for _, one in fresh), default=float("-inf"))
    touched = dict.fromkeys(name for name, _ in fresh)
    if patience is not None:  # others may have waited for too long
        touched |= {name: None for name, state in states.items() if state.held}
    groups = {name: Group(states.get(name) or State(), patience) for name in touched}
    for name, one in fresh:
        groups[name].add(one)
    for group in groups.values():
        group.advance(now)
    for name, state in states.items():
        if name not in groups:
            state.clock = max(state.clock, now)
    states |= {name: group.state() for name, group in groups.items()}
    left = list(states.items())
    kept = [one for _, state in left for one in state.held]
    chosen = pa.array([one.row for one in kept], pa.int64())
    for row, one in enumerate(kept):
        one.row = row
    found = [(name, one) for name, group in groups.items() for one in group.released]
    blob = msgspec.msgpack.encode(_Bucket(left, to_bytes(rows.take(chosen))))
    return blob, _output(columns, rows, found) if found else None


def _messages(columns: Columns, rows: pa.Table, first: int) -> list[tuple[Any, Held]]:
    """The rows from `first` on as messages, in the order of their times."""
    fresh = rows.slice(first)
    times = fresh[columns.time]
    if pa.types.is_timestamp(times.type):
        times = pc.divide(times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64()), 1e6)
    found = []
    read = (fresh[columns.group], fresh[columns.sender], fresh[columns.number], times)
    told = zip(*(column.to_pylist() for column in read), _names(fresh[columns.after]), strict=True)
    for row, (group, sender, number, time, needs) in enumerate(told):
        if sender is None or number is None or time is None or number < 1:
            raise Misuse(
                f"group {group!r}: sender {sender!r}, number {number!r}, time {time!r}: a message "
                "has a sender, a number from 1 on, and a time"
            )
        found.append((group, Held(sender, number, float(time), 0.0, needs, first + row)))
    return sorted(found, key=lambda one: one[1].order())


def _names(after: pa.ChunkedArray) -> Iterator[list[tuple[Any, int]]]:
    """What each message comes after. A number of 0 says: nothing of this sender."""
    for named in after.to_pylist():
        pairs = (tuple(one.values()) if isinstance(one, dict) else one for one in named or ())
        yield [(sender, number) for sender, number in pairs if number]


def _output(columns: Columns, rows: pa.Table, found: list[tuple[Any, Released]]) -> pa.Table:
    """The rows that leave, with what is known of gaps."""
    chosen = pa.array([one.row if one.kind != GAP else None for _, one in found], pa.int64())
    out = rows.take(chosen)
    told: list[tuple[str, Callable[[Any, Released], Any]]] = [
        (columns.group, lambda name, _: name),
        (columns.sender, lambda _, one: one.sender),
        (columns.number, lambda _, one: one.number),
    ]
    for column, value in told:
        field = rows.schema.field(column)
        values = pa.array([value(name, one) for name, one in found], field.type)
        out = out.set_column(out.schema.get_field_index(column), column, values)
    added = [(one.kind, one.position, one.until if one.kind == GAP else None) for _, one in found]
    kinds = (pa.string(), pa.int64(), pa.int64())
    for name, kind, values in zip(ADDED, kinds, zip(*added, strict=True), strict=True):
        out = out.append_column(name, pa.array(values, kind))
    return out
