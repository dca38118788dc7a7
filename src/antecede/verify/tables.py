"""Verdicts on tables in memory: Arrow, pandas, Polars, or whatever else hands over Arrow data.

Rows may stand in any order. They are put in order first (by run, by position where they have one,
then by process and `seq`), so that what is found does not depend on how they came. What comes
out are Arrow tables. `antecede.spark` judges every run of a DataFrame by these same
functions.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from antecede.errors import BadFile, BadInput, Misuse
from antecede.trace import schema
from antecede.trace.assumed import Assumed, decode_assumed
from antecede.trace.events import Run
from antecede.trace.loader import Loader
from antecede.trace.schema import APP, ORDERED, SCHEMA
from antecede.verify.audit import audit
from antecede.verify.check import layer_code
from antecede.verify.copies import examine
from antecede.verify.findings import FINDINGS, Found, find_early
from antecede.verify.incomplete import find_scoped
from antecede.verify.scopes import Scopes, add_scopes
from antecede.verify.verdict import Answer, Verdict

SOURCE: Final = "the table"
"""What errors call it,"""
IN_ORDER: Final = "the table in the order of its positions"
"""and where they count its rows."""
BROKEN_RULE: Final = "rule"
"""The doubt about a run that breaks a rule of the trace format."""

VERDICTS: Final = pa.schema(
    [
        ("run", pa.string()),
        ("answer", pa.string()),
        ("doubts", pa.list_(pa.string())),
        ("caveats", pa.list_(pa.string())),
        ("messages", pa.int64()),
        ("deliveries", pa.int64()),
        ("violations", pa.int64()),
        ("undelivered", pa.int64()),
        ("undelivered_at_crashed", pa.int64()),
        ("timed", pa.int64()),
        ("forced_s", pa.float64()),
        ("inherited_s", pa.float64()),
        ("own_s", pa.float64()),
    ]
)
"""A row a run. `answer` is kept, broken or cannot tell; `doubts` are the words for why it cannot be
told, `caveats` the sentences for these and for all else that was assumed. `timed` deliveries have a
time of reception and of delivery; the seconds are their sums."""

VIOLATIONS: Final = pa.schema(
    [
        *FINDINGS,
        ("without", pa.string()),
        ("path", pa.list_(pa.string())),
        ("sentence", pa.string()),
    ]
)
"""A row an early delivery. The last three are the witness: the message that was overtaken, how the
delivered one depends on it, and both in words. The first hundred of a run have one."""

DELIVERIES: Final = pa.schema(
    [
        *(("run", pa.string()), ("process", pa.string())),
        *(("sender", pa.string()), ("number", pa.int64())),
        *(("sent", pa.float64()), ("received", pa.float64()), ("delivered", pa.float64())),
        ("early", pa.bool_()),
        *(("forced_s", pa.float64()), ("inherited_s", pa.float64()), ("own_s", pa.float64())),
    ]
)
"""A row a delivery at another process than the sender, with the parts of what it waited."""


def verify_table(table: Any, layer: str = "app", assumed: Iterable[Assumed] = ()) -> Verdict:
    """The verdict on all runs of a table with the columns of a trace: Arrow, pandas, Polars. What
    was `assumed` when it was made goes with the verdict; an Arrow table that was read from a trace
    file says so itself."""
    rows, told = _taken(table, assumed)
    found = sum((_judge(run, scopes, layer) for run, scopes in _runs(rows, layer)), Verdict())
    return found + Verdict(assumed=told)


def verdicts(table: Any, layer: str = "app", assumed: Iterable[Assumed] = ()) -> pa.Table:
    """The verdicts on a table, one row a run (`VERDICTS`)."""
    rows, told = _taken(table, assumed)
    found = [
        _row(run.name, _judge(run, scopes, layer) + Verdict(assumed=told))
        for run, scopes in _runs(rows, layer)
    ]
    return pa.Table.from_pylist(found, schema=VERDICTS)


def verdict_row(rows: pa.Table, run: str | None, layer: str, told: tuple[Assumed, ...]) -> pa.Table:
    """The same for the rows of one run; where they break a rule of the format, it cannot be told,
    and the rule is the caveat."""
    try:
        return verdicts(rows, layer, told)
    except BadInput as error:
        row = {"run": run, "answer": str(Answer.CANNOT_TELL), "doubts": [BROKEN_RULE]}
        return pa.Table.from_pylist([{**row, "caveats": [str(error)]}], schema=VERDICTS)


def violations(table: Any, layer: str = "app") -> pa.Table:
    """All early deliveries in a table (`VIOLATIONS`)."""
    rows, _ = _taken(table, ())
    parts = [_violations(_found(run, scopes, layer)) for run, scopes in _runs(rows, layer)]
    return pa.concat_tables([VIOLATIONS.empty_table(), *parts])


def deliveries(table: Any, layer: str = "app") -> pa.Table:
    """All deliveries in a table at others than the sender (`DELIVERIES`)."""
    rows, _ = _taken(table, ())
    parts = [_deliveries(run, scopes, layer) for run, scopes in _runs(rows, layer)]
    return pa.concat_tables([DELIVERIES.empty_table(), *parts])


def as_arrow(table: Any) -> pa.Table:
    """The columns of a trace in a table, in the types of the format."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        if not hasattr(table, "__arrow_c_stream__"):
            kind = type(table).__name__
            raise Misuse(f"a {kind} is no table: give one of Arrow, pandas or Polars")
        table = pa.table(table)
    columns = {}
    for name in (*SCHEMA.names, ORDERED):
        if name in table.column_names:
            columns[name] = _whole_numbers(name, table[name])
    known = pa.table(columns)
    schema.check_schema(SOURCE, known.schema, run_from_path=False)
    wanted = pa.schema([*SCHEMA, (ORDERED, pa.string())])
    return known.cast(pa.schema([wanted.field(name) for name in known.column_names]))


def _whole_numbers(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of integers with nulls, which pandas makes one of floats."""
    is_integer = name in SCHEMA.names and pa.types.is_integer(SCHEMA.field(name).type)
    if not is_integer or not pa.types.is_floating(column.type):
        return column
    column = pc.if_else(pc.is_nan(column), None, column)
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise BadFile(SOURCE, [f"column '{name}' has a number that is not whole"]) from error


def _taken(table: Any, assumed: Iterable[Assumed]) -> tuple[pa.Table, tuple[Assumed, ...]]:
    """The rows in order, and what was assumed of them."""
    rows = as_arrow(table)
    noted = {} if not isinstance(table, pa.Table) else table.schema.metadata or {}
    keys = [name for name in ("run", "position", "process", "seq") if name in rows.column_names]
    return rows.sort_by([(name, "ascending") for name in keys]), (
        *assumed,
        *decode_assumed(noted, SOURCE),
    )


def _runs(rows: pa.Table, layer: str) -> Iterator[tuple[Run, Scopes | None]]:
    """The runs, each with what its messages are ordered with respect to if they say so."""
    code = layer_code(layer)
    loader = Loader(stamps=False, rows=len(rows))
    loader.add(IN_ORDER, rows)
    found: dict[str, Any] = {}
    is_scoped = code == APP and ORDERED in rows.column_names
    if is_scoped:
        add_scopes(found, rows)
    for run in loader.runs():
        yield run, found.get(run.name, {}) if is_scoped else None


def _judge(run: Run, scopes: Scopes | None, layer: str) -> Verdict:
    if scopes is None:
        return audit(run, layer_code(layer))
    return find_scoped(run, scopes).verdict


def _found(run: Run, scopes: Scopes | None, layer: str) -> Found:
    if scopes is not None:
        return find_scoped(run, scopes)
    return find_early(run, layer_code(layer))


def _row(run: str, verdict: Verdict) -> dict[str, Any]:
    told = dict.fromkeys(one.sentence() for one in (*verdict.doubts, *verdict.assumed))
    return {
        "run": run,
        "answer": str(verdict.answer),
        "doubts": [one.what for one in verdict.doubts],
        "caveats": list(told),
        "timed": verdict.delays.deliveries,
        **{name: getattr(verdict, name) for name in VERDICTS.names[4:9]},
        **{name: getattr(verdict.delays, name) for name in VERDICTS.names[10:]},
    }


def _violations(found: Found) -> pa.Table:
    proofs = {(one.process, one.second): one for one in found.verdict.witnesses}
    rows = found.early.to_pylist()
    for row in rows:
        proof = proofs.get((row["process"], f"{row['sender']}:{row['number']}"))
        if proof is not None:
            row |= {"without": proof.first, "path": proof.path, "sentence": proof.sentence()}
    return pa.Table.from_pylist(rows, schema=VIOLATIONS)


def _deliveries(run: Run, scopes: Scopes | None, layer: str) -> pa.Table:
    copies = examine(run, layer_code(layer))
    joined, prepared = copies.joined, copies.joined.prepared
    chosen = np.flatnonzero(joined.delivery >= 0)
    message = joined.message_of(chosen)
    names = pa.array(run.processes, pa.string())
    process = names.take(pa.array(prepared.column[chosen]))
    sender = names.take(pa.array(prepared.process[joined.send[message]]))
    number = pa.array(joined.number[message], pa.int64())
    if scopes is None:
        split, early = copies.split, pa.array(copies.early[chosen])
        waits = [_times(x[chosen]) for x in (split.forced_s, split.inherited_s, split.own_s)]
    else:  # causal order was not asked for, so nothing had to wait for it
        keys = find_scoped(run, scopes).early.select(["process", "sender", "number"]).to_pylist()
        known = {tuple(key.values()) for key in keys}
        told = zip(*(column.to_pylist() for column in (process, sender, number)), strict=True)
        early = pa.array([key in known for key in told], pa.bool_())
        waits = [pa.nulls(len(chosen), pa.float64())] * 3
    times = [_times(x[chosen]) for x in (copies.sent, copies.received, copies.delivered)]
    columns = [pa.repeat(run.name, len(chosen)), process, sender, number, *times, early, *waits]
    return pa.table(columns, schema=DELIVERIES)


def _times(values: npt.NDArray[np.float64]) -> pa.Array:
    return pa.array(values, pa.float64(), from_pandas=True)
