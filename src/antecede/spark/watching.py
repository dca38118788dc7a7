"""Early deliveries while a system runs, by Structured Streaming: a run is a key of the state, which
is what `antecede.verify.online` keeps of it."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from antecede.errors import BadInput, Misuse
from antecede.spark.packed import blobs_frame, from_bytes, packer, to_bytes, unpack
from antecede.trace.loader import STAMPS
from antecede.trace.schema import ORDERED, SCHEMA
from antecede.verify.check import layer_code
from antecede.verify.findings import FINDINGS
from antecede.verify.online import LIMIT, Early, Watcher
from antecede.verify.watch import rows_by_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EARLY: Final = "early"
PROBLEM: Final = "problem"
WATCHED: Final = pa.schema(
    [*FINDINGS, ("kind", pa.string()), ("without", pa.string()), ("sentence", pa.string())]
)
"""A row an early delivery, with a message that it overtook; or a `problem`, after which its run is
not watched any more: it breaks a rule of the trace format, or more waits than may."""
_ENDED: Final = b""
"""The state of a run with a problem."""


def watch(df: "DataFrame", layer: str = "app", limit: int = LIMIT) -> "DataFrame":
    """The early deliveries in a stream of a trace's rows (or in a table of them), each as soon as
    it is seen: `WATCHED`. In the end they are those of `violations`, whatever order rows come in.

    The state of a run is bounded: by the square of its processes, and by `limit` for the messages
    under way and for rows that wait for others (`antecede.verify.online`). One task watches a
    run. Raises `Misuse` for a layer that does not exist, a limit below 1, and columns that are
    missing.

        rows = spark.readStream.format("antecede").load("recordings")
        watch(rows).writeStream.format("console").start()
    """
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - it takes a second

    layer_code(layer)
    if limit < 1:
        raise Misuse(f"limit={limit}: say how many messages may be under way")
    wanted = [name for name in (*SCHEMA.names, ORDERED, "message") if name not in STAMPS]
    missing = [name for name in ("run", "process", "seq", "kind") if name not in df.columns]
    if missing:
        raise Misuse(f"there is no column '{missing[0]}'; there are {df.columns}")
    rows = df.select([name for name in wanted if name in df.columns])
    keyed = rows.mapInArrow(packer("run", keeps_key=True), "run string, rows binary").groupBy("run")
    if df.isStreaming:
        watched = keyed.applyInPandasWithState(
            partial(_watch, layer, limit), "rows binary", "known binary", "append", "NoTimeout"
        )
    else:
        watched = keyed.applyInPandas(_watch_at_once(layer, limit), "rows binary")
    return watched.mapInArrow(unpack, from_arrow_schema(WATCHED))


def _watch(
    layer: str, limit: int, key: tuple[str], parts: Iterator[Any], state: Any
) -> Iterator[Any]:
    """One run, one batch."""
    known = bytes(state.get[0]) if state.exists else None
    tables = [from_bytes(blob) for part in parts for blob in part["rows"]]
    known, found = watch_run(key[0], layer, limit, known, tables)
    state.update((known,))
    if len(found):
        yield blobs_frame([to_bytes(found)])


def _watch_at_once(layer: str, limit: int) -> Any:
    """One run of a table."""

    def watch_all(key, part):  # type: ignore[no-untyped-def] # Spark takes hints for another form
        tables = [from_bytes(blob) for blob in part["rows"]]
        # All rows are there at once, and may wait for each other.
        rows = limit + sum(map(len, tables))
        _, found = watch_run(key[0], layer, rows, None, tables, is_all=True)
        return blobs_frame([to_bytes(found)] if len(found) else [])

    return watch_all


def watch_run(
    run: str,
    layer: str,
    limit: int,
    known: bytes | None,
    tables: list[pa.Table],
    *,
    is_all: bool = False,
) -> tuple[bytes, pa.Table]:
    """What is known of a run after these rows, and what they show. If they are all, what still
    waits is a problem."""
    if known == _ENDED:
        return _ENDED, WATCHED.empty_table()
    watcher = Watcher.from_bytes(known, run, layer, limit) if known else Watcher(run, layer, limit)
    found: list[Early] = []
    try:
        parts = [rows for table in tables for rows in rows_by_run(table).values()]
        found += watcher.feed(chain.from_iterable(parts))
        if is_all:
            watcher.finish()
    except (BadInput, Misuse) as error:
        told = [_row(one) for one in (*found, *watcher.take_found())]
        problem = {"run": run, "kind": PROBLEM, "sentence": str(error)}
        return _ENDED, pa.Table.from_pylist([*told, problem], schema=WATCHED)
    return watcher.to_bytes(), pa.Table.from_pylist([_row(one) for one in found], schema=WATCHED)


def _row(one: Early) -> dict[str, Any]:
    return {
        **{name: getattr(one, name) for name in FINDINGS.names},
        "kind": EARLY,
        "without": one.without,
        "sentence": one.sentence(),
    }
