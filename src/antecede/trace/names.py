"""Columns of Arrow as columns of integers: strings stay dictionary codes all the way."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from antecede.trace.events import Codes, Words


class Names:
    """Names and their codes, counted in the order in which they appear."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.names = list(known)
        self._codes = {name: code for code, name in enumerate(self.names)}

    def codes(self, column: pa.Array | pa.ChunkedArray) -> Codes:
        """A column of strings as codes, -1 for null."""
        return self._coded(column, np.int32, -1)

    def words(self, column: pa.Array | pa.ChunkedArray, null: int) -> Words:
        """The same for words of which few are known; the others need not differ."""
        return self._coded(column, np.int16, null)

    def _coded(
        self, column: pa.Array | pa.ChunkedArray, kind: type[np.signedinteger], null: int
    ) -> npt.NDArray[Any]:
        if pa.types.is_null(column.type):
            return np.full(len(column), null, kind)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        coded = [self._chunk_codes(chunk, kind, null) for chunk in chunks]
        return coded[0] if len(coded) == 1 else np.concatenate([np.empty(0, kind), *coded])

    def _chunk_codes(
        self, chunk: pa.Array, kind: type[np.signedinteger], null: int
    ) -> npt.NDArray[Any]:
        if not pa.types.is_dictionary(chunk.type):
            chunk = chunk.dictionary_encode()
        largest = int(np.iinfo(kind).max)
        codes = [min(code, largest) for code in self.enter(chunk.dictionary.to_pylist())]
        indices: Codes = filled(chunk.indices, pa.int32(), -1)
        if kind is np.int32 and codes == list(range(len(codes))):
            return indices
        codes.append(null)  # index -1 finds it, and that is what null becomes
        return np.array(codes, kind)[indices]

    def enter(self, names: Iterable[str | None]) -> list[int]:
        """The codes of these names, the new ones of which are added."""
        return [self._code(name) for name in names]

    def _code(self, name: str | None) -> int:
        if name is None:
            return -1
        code = self._codes.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code


def filled(column: pa.Array | pa.ChunkedArray, kind: pa.DataType, null: float) -> npt.NDArray[Any]:
    """Values of whatever width as this one, with `null` in place of nulls. An unsigned number
    beyond the signed ones turns negative, which no rule lets pass."""
    if column.type != kind:
        column = column.cast(kind, safe=False)
    if column.null_count:
        column = pc.fill_null(column, null)
    filled: npt.NDArray[Any] = column.to_numpy()
    return filled
