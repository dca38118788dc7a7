"""Rows with the same key as one Arrow blob: they cross a shuffle and Spark's state as bytes, and
columns of any type come out as they went in."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

Batches = Iterator[pa.RecordBatch]
ROWS = "rows"


def packer(key: str, *, keeps_key: bool = False) -> Callable[[Batches], Batches]:
    """For `mapInArrow`: of each batch a row a key, (key, blob); the blob has the key's column, too,
    if it is kept."""

    def pack(batches: Batches) -> Batches:
        for batch in batches:
            table = pa.Table.from_batches([batch])
            column = table[key].combine_chunks()
            codes = column.dictionary_encode()
            keys = codes.indices.to_numpy(zero_copy_only=False)
            rows = table if keeps_key else table.drop_columns([key])
            order = np.argsort(keys, kind="stable")
            found, first = np.unique(keys[order], return_index=True)
            if len(found):
                parts = [to_bytes(rows.take(chosen)) for chosen in np.split(order, first[1:])]
                values = codes.dictionary.take(pa.array(found))
                yield pa.record_batch([values, pa.array(parts, pa.binary())], names=[key, ROWS])

    return pack


def unpack(batches: Batches) -> Batches:
    """For `mapInArrow`: the rows of the blobs."""
    for batch in batches:
        for blob in batch.column(0).to_pylist():
            yield from from_bytes(blob).to_batches()


def to_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def from_bytes(blob: bytes) -> pa.Table:
    return pa.ipc.open_stream(blob).read_all()


def blobs_frame(blobs: list[bytes]) -> Any:
    """As Spark wants them from its functions over pandas."""
    import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 - only on workers

    return pd.DataFrame({ROWS: blobs})
