"""Rows as the writer buffers them, and their way into Arrow: all columns of many rows at once.

Packing a row costs a fifth of a microsecond and turning the packed rows into numpy columns nothing;
lists of tuples, or one list per column, take longer over the two steps together.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from struct import Struct
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from antecede.errors import Misuse
from antecede.message import ProcessSet
from antecede.trace import schema

NOBODY: Final = -1
"""The sender on a row that belongs to no message."""
NO_STAMP: Final = -1

ROW: Final = Struct("<bbiiqd")
"""kind, layer, process, sender, number, time; a time that is not a number is unknown."""
ROW_TYPE: Final = np.dtype(
    [
        ("kind", "i1"),
        ("layer", "i1"),
        ("process", "<i4"),
        ("sender", "<i4"),
        ("number", "<i8"),
        ("time", "<f8"),
    ]
)

_CODED = pa.dictionary(pa.int32(), pa.string())
_ALWAYS_THERE: Final = ("run", "layer", "process", "seq", "kind", "position")


def _as_written(field: pa.Field) -> pa.Field:
    if field.name == "destinations":
        return field.with_type(pa.list_(field.type.value_field.with_nullable(False)))
    if field.name in schema.STRING_COLUMNS:
        field = field.with_type(_CODED)
    return field.with_nullable(field.name not in _ALWAYS_THERE)


SCHEMA: Final = pa.schema([_as_written(field) for field in schema.SCHEMA])
"""The trace schema with strings as dictionary codes, which Parquet writes without a look at them,
and without nulls where there are none, which makes a quarter of the work of reading."""

SCOPED: Final = SCHEMA.append(pa.field(schema.ORDERED, pa.string()))
"""The same where messages say what they are ordered with respect to."""

_LAYERS = pa.array(schema.LAYERS)
_KINDS = pa.array(schema.KINDS)


class RowEncoder:
    """Turns the packed rows of one run into record batches and counts `seq` and `position` on."""

    def __init__(self, run: str, processes: Sequence[str]) -> None:
        if len(set(processes)) != len(processes):
            raise Misuse(f"two processes of run '{run}' have the same name")
        self._run = pa.array([run], pa.string())
        self._names = pa.array(processes, pa.string())
        self._next_position = 0
        self._next_seq = np.zeros(len(processes), np.int64)

    def encode(
        self,
        events: bytearray,
        sends: list[tuple[ProcessSet, int, int]],
        scopes: list[str] | None = None,
    ) -> pa.RecordBatch:
        """The rows packed in `events` (at least one), with destinations, stamp entries and stamp
        bytes of the sends among them, and with `scopes` what these are ordered with respect to."""
        rows = np.frombuffer(events, ROW_TYPE)
        process, sender = rows["process"], rows["sender"]
        self._check_range(process, 0)
        self._check_range(sender, NOBODY)
        is_send = rows["kind"] == schema.SEND
        if is_send.sum() != len(sends):
            raise Misuse(f"{len(sends)} lots of destinations for {is_send.sum()} sends")
        no_message = sender == NOBODY
        first = self._next_position
        self._next_position += len(rows)
        columns = [
            _coded(np.zeros(len(rows), np.int32), self._run),
            _coded(rows["layer"], _LAYERS),
            _coded(process, self._names),
            pa.array(self._count_seq(process)),
            _coded(rows["kind"], _KINDS),
            _coded(sender, self._names, mask=no_message),
            pa.array(np.ascontiguousarray(rows["number"]), mask=no_message),
            self._destinations(is_send, [destinations for destinations, _, _ in sends]),
            pa.array(np.ascontiguousarray(rows["time"]), mask=np.isnan(rows["time"])),
            pa.array(np.arange(first, self._next_position)),
            _stamps(is_send, [entries for _, entries, _ in sends]),
            _stamps(is_send, [size for _, _, size in sends]),
        ]
        if scopes is None:
            return pa.record_batch(columns, schema=SCHEMA)
        ordered = np.full(len(rows), None, object)
        ordered[is_send] = scopes
        return pa.record_batch([*columns, pa.array(ordered, pa.string())], schema=SCOPED)

    def _check_range(self, codes: npt.NDArray[np.int32], lowest: int) -> None:
        for code in (int(codes.min()), int(codes.max())):
            if not lowest <= code < len(self._names):
                raise Misuse(f"process {code} is none of the {len(self._names)} of this run")

    def _count_seq(self, process: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """The place of each row among the rows of its process, over the whole run."""
        counts = np.bincount(process, minlength=len(self._next_seq))
        # Numpy sorts by radix, eight times faster, where a code fits into 16 bits.
        narrow = process.astype(np.min_scalar_type(len(self._next_seq)))
        by_process = np.argsort(narrow, kind="stable")
        first = np.cumsum(counts) - counts
        seq = np.empty(len(process), np.int64)
        seq[by_process] = np.arange(len(process)) + np.repeat(self._next_seq - first, counts)
        self._next_seq += counts
        return seq

    def _destinations(self, is_send: npt.NDArray[np.bool_], sets: list[ProcessSet]) -> pa.ListArray:
        """The sets as lists of names, null beside the sends: all bits are unpacked in one go."""
        if reduce(or_, sets, 0) >> len(self._names):
            raise Misuse(f"a destination is none of the {len(self._names)} processes of this run")
        width = (len(self._names) + 7) // 8
        packed = b"".join([destinations.to_bytes(width, "little") for destinations in sets])
        bits = np.frombuffer(packed, np.uint8).reshape(len(sets), width)
        of_send, destination = np.nonzero(np.unpackbits(bits, axis=1, bitorder="little"))
        offsets = np.zeros(len(is_send) + 1, np.int32)
        offsets[1:][is_send] = np.bincount(of_send, minlength=len(sets))
        return pa.ListArray.from_arrays(
            pa.array(np.cumsum(offsets, dtype=np.int32)),
            self._names.take(pa.array(destination)),
            type=SCHEMA.field("destinations").type,
            mask=pa.array(~is_send),
        )


def _coded(
    codes: npt.NDArray[np.signedinteger],
    names: pa.StringArray,
    mask: npt.NDArray[np.bool_] | None = None,
) -> pa.DictionaryArray:
    indices = pa.array(codes.astype(np.int32), mask=mask)
    return pa.DictionaryArray.from_arrays(indices, names)


def _stamps(is_send: npt.NDArray[np.bool_], stamps: list[int]) -> pa.Int32Array:
    """One value per row: null beside the sends, and where the recorder knows none."""
    values = np.full(len(is_send), NO_STAMP, np.int32)
    values[is_send] = stamps
    return pa.array(values, mask=values == NO_STAMP)
