"""What the loop writes down of an event, before anybody looks at it: a record of fixed size."""

from struct import Struct
from typing import Final

import numpy as np

from antecede.message import ProcessSet

ARRIVE: Final = 7
"""A message arrives from the network and is delivered at once."""
HOP_SEND: Final = 8
HOP_RECEIVE: Final = 9
HOP_DELIVER: Final = 10
"""The same events of hop messages, in their own layer."""

RECORD: Final = Struct("<biiqddd")
"""kind, process, sender, number, time, time of the send, time of the arrival."""
pack_record = RECORD.pack

RECORD_TYPE = np.dtype(
    [
        ("kind", "i1"),
        ("process", "<i4"),
        ("sender", "<i4"),
        ("number", "<i8"),
        ("time", "<f8"),
        ("sent", "<f8"),
        ("arrived", "<f8"),
    ]
)

Sent = tuple[ProcessSet, int, int]
"""Destinations, elements and bytes of the stamp."""
