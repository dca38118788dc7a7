"""From the events of a run to its trace, its measures and its verdict, a block at a time.

The inner loop of the simulator packs one record per event into a buffer, and nothing else happens
to it there. Most packets are delivered the moment they arrive: one record stands for both rows.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

import numpy as np

from antecede.message import ProcessSet
from antecede.simulate.measures import Distribution
from antecede.trace import APP, CRASH, DELIVER, HOP, NO_STAMP, RECEIVE, SEND, VIEW, TraceWriter
from antecede.trace.encoder import NOBODY, ROW_TYPE
from antecede.verify import OnlineOracle

ARRIVE: Final = 7
"""A message arrives from the network and is delivered at once."""
HOP_SEND: Final = 8
HOP_RECEIVE: Final = 9
HOP_DELIVER: Final = 10
"""The same events of hop messages, in their own layer."""

RECORD: Final = Struct("<biiqddd")
"""kind, process, sender, number, time, time of the send, time of the arrival."""
pack_record = RECORD.pack

_RECORD_TYPE = np.dtype(
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
_FULL = 32_768 * RECORD.size

Sent = tuple[ProcessSet, int, int]
"""Destinations, elements and bytes of the stamp."""


class Recorder:
    """Feed `buffer` with packed records, and for every send, be it of a hop message, `sends` with
    its destinations and the elements and bytes of its stamp; call `flush_if_full` now and then and
    `flush` at the end."""

    def __init__(self, writer: TraceWriter | None, oracle: OnlineOracle | None) -> None:
        self.buffer = bytearray()
        self.sends: list[Sent] = []
        self.rows = 0
        self.messages = 0
        self.deliveries = 0
        self.deliveries_to_others = 0
        self.copies_to_others = 0
        self.violations = 0
        self.delay_s = Distribution()
        self.hold_s = Distribution()
        self.stamp_entries = Distribution()
        self.stamp_bytes = Distribution()
        self.hops = 0
        self.hop_stamp_entries = Distribution()
        self.hop_stamp_bytes = Distribution()
        self.last_s = 0.0
        """When a message was sent, received or delivered for the last time, up to the last
        flush."""
        self._flushed = 0
        self._views = 0
        self._writer = writer
        self._oracle = oracle

    @property
    def progress(self) -> int:
        """A number that grows with every record but those of views: these may come and go for ever
        without any message getting on."""
        return (self._flushed + len(self.buffer)) // RECORD.size - self._views

    def membership(self, kind: int, process: int, time: float) -> None:
        """A crash, a join, a leave or a view at a process."""
        self._views += kind == VIEW
        self.buffer += pack_record(kind, process, NOBODY, 0, time, time, time)

    def flush_if_full(self) -> bool:
        """Whether it was full."""
        if len(self.buffer) < _FULL:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        if not self.buffer:
            return
        self._flushed += len(self.buffer)
        # The run holds on to the buffer, so it is emptied, not replaced.
        records = np.frombuffer(bytes(self.buffer), _RECORD_TYPE)
        self.buffer.clear()
        sends = self.sends.copy()
        self.sends.clear()
        own = self._measure_hops(records, sends)
        self._measure(records, own)
        if self._oracle is not None:
            self._judge(self._oracle, records, own)
        arrived = records["kind"] == ARRIVE
        self.rows += len(records) + int(arrived.sum())
        if self._writer is not None:
            self._writer.extend(_rows(records), sends)

    def _measure_hops(self, records: np.ndarray, sends: list[Sent]) -> list[Sent]:
        """Measure the sends of hop messages; return the others."""
        kind = records["kind"]
        if not (kind == HOP_SEND).any():
            return sends
        kinds = kind[(kind == SEND) | (kind == HOP_SEND)].tolist()
        hops = [send for send, kind in zip(sends, kinds, strict=True) if kind == HOP_SEND]
        self.hops += len(hops)
        self.hop_stamp_entries.add(np.array([entries for _, entries, _ in hops], float))
        self.hop_stamp_bytes.add(np.array([size for _, _, size in hops], float))
        return [send for send, kind in zip(sends, kinds, strict=True) if kind == SEND]

    def _measure(self, records: np.ndarray, sends: Sequence[Sent]) -> None:
        kind = records["kind"]
        is_send = kind == SEND
        is_delivery = (kind == ARRIVE) | (kind == DELIVER)
        is_app = is_send | is_delivery | (kind == RECEIVE)
        if is_app.any():
            self.last_s = float(records["time"][is_app][-1])
        from_others = records[is_delivery & (records["sender"] != records["process"])]
        self.messages += len(sends)
        self.deliveries += int(is_delivery.sum())
        self.deliveries_to_others += len(from_others)
        self.delay_s.add(from_others["time"] - from_others["sent"])
        self.hold_s.add(from_others["time"] - from_others["arrived"])
        stamps = np.array([stamp for _, *stamp in sends], float).reshape(-1, 2)
        stamps = stamps[stamps[:, 0] != NO_STAMP]
        self.stamp_entries.add(stamps[:, 0])
        self.stamp_bytes.add(stamps[:, 1])
        self.copies_to_others += sum(
            destinations.bit_count() - (destinations >> sender & 1)
            for (destinations, _, _), sender in zip(
                sends, records["sender"][is_send].tolist(), strict=True
            )
        )

    def _judge(
        self,
        oracle: OnlineOracle,
        records: np.ndarray,
        sends: Sequence[Sent],
    ) -> None:
        destinations = iter(sends)
        columns = (records[name].tolist() for name in ("kind", "process", "sender", "number"))
        for kind, process, sender, number in zip(*columns, strict=True):
            if kind == SEND:
                oracle.send(process, sender, number, next(destinations)[0])
            elif kind in (ARRIVE, DELIVER):
                self.violations += oracle.deliver(process, sender, number) is not None
            elif kind == CRASH:
                oracle.crash(process)


def _rows(records: np.ndarray) -> bytes:
    """The rows of the trace: an arrival is a receive and a deliver."""
    arrived = records["kind"] == ARRIVE
    repeats = arrived.astype(np.int64) + 1
    records = np.repeat(records, repeats)
    last = np.cumsum(repeats)[arrived] - 1
    rows = np.empty(len(records), ROW_TYPE)
    for name in ("kind", "process", "sender", "number", "time"):
        rows[name] = records[name]
    rows["kind"][last - 1] = RECEIVE
    rows["kind"][last] = DELIVER
    of_hop = rows["kind"] >= HOP_SEND
    rows["layer"] = np.where(of_hop, HOP, APP)
    rows["kind"][of_hop] -= HOP_SEND - SEND
    return rows.tobytes()
