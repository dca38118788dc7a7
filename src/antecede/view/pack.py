"""Columns as few bytes, in a form that a browser takes apart without help.

A column of integers is cut into planes, one for each byte of its values, least significant first;
planes without a bit set are left out. Bytes of one kind then stand together, which is what deflate
likes. The layout, before deflate: the length of the header in four bytes, the header as JSON, then
the planes of all columns in the order of the header.
"""

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from antecede.errors import BrokenInvariant

Column = npt.NDArray[Any]

LEVEL: Final = 9
WIDEST: Final = 4
"""Bytes of an integer; a browser's integers end there."""


def pack(header: Mapping[str, Any], columns: Mapping[str, Column]) -> str:
    """Header and columns, deflated, in base64. Columns are of integers from 0 to 2**32 - 1, or of
    floating-point numbers of 64 bits, which stay exact."""
    described, planes = [], []
    for name, values in columns.items():
        cut = _cut(name, values)
        is_float = values.dtype.kind == "f"
        described.append(
            {"name": name, "length": len(values), "planes": len(cut), "float": is_float}
        )
        planes += cut
    text = json.dumps({**header, "columns": described}, ensure_ascii=False, allow_nan=False)
    head = text.encode()
    whole = b"".join([len(head).to_bytes(4, "little"), head, *planes])
    return base64.b64encode(zlib.compress(whole, LEVEL)).decode("ascii")


def _cut(name: str, values: Column) -> list[bytes]:
    if values.dtype.kind == "f":
        cells = np.ascontiguousarray(values, "<f8").view(np.uint8).reshape(-1, 8)
        return [cells[:, plane].tobytes() for plane in range(8)]
    if len(values) and (values.min() < 0 or values.max() >= 1 << 8 * WIDEST):
        raise BrokenInvariant(f"column {name} does not fit into {WIDEST} bytes")
    cells = values.astype("<u4").view(np.uint8).reshape(-1, WIDEST)
    width = max((plane + 1 for plane in range(WIDEST) if cells[:, plane].any()), default=0)
    return [cells[:, plane].tobytes() for plane in range(width)]


def fold_signs(values: Column) -> Column:
    """Integers of both signs as small ones without: 0, -1, 1, -2 ... become 0, 1, 2, 3 ..."""
    wide = values.astype(np.int64)
    return (wide << 1) ^ (wide >> 63)
