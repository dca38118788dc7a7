"""From the events of a run to its trace, its measures and its verdict, a block at a time.

The inner loop of the simulator packs one record per event into a buffer, and nothing else happens
to it there. Most packets are delivered the moment they arrive: one record stands for both rows.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy

import numpy as np

from antecede.message import MessageId
from antecede.simulate.fully import LastDeliveries
from antecede.simulate.measures import Distribution
from antecede.simulate.records import (
    ARRIVE,
    HOP_SEND,
    RECORD,
    RECORD_TYPE,
    Sent,
    pack_record,
)
from antecede.simulate.undoing import Undoing
from antecede.trace import APP, CRASH, DELIVER, HOP, NO_STAMP, RECEIVE, SEND, VIEW, TraceWriter
from antecede.trace.encoder import NOBODY, ROW_TYPE
from antecede.verify import OnlineOracle, Violation
from antecede.verify.incomplete import ScopedOracle
from antecede.verify.scopes import Scope

_FULL = 32_768 * RECORD.size


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
        self.bare_hops = 0
        """Records of hops that carry no message."""
        self.hop_stamp_entries = Distribution()
        self.hop_stamp_bytes = Distribution()
        self.last_s = 0.0
        """When a message was sent, received or delivered for the last time, up to the last
        flush."""
        self._flushed = 0
        self._views = 0
        self._writer = writer
        self._oracle = oracle
        self._scopes: list[str] = []
        self.last_deliveries: LastDeliveries | None = None
        """Where it matters when a message was delivered everywhere."""
        self.undoing: Undoing | None = None
        """Where deliveries may be taken back: nothing is written before the end then."""
        self.undone_violations: list[str] = []
        """Those of histories that were taken back, in words."""

    @property
    def progress(self) -> int:
        """A number that grows with every record but those of views and of hops without a message:
        these may come and go for ever without any message getting on."""
        return (self._flushed + len(self.buffer)) // RECORD.size - self._views - self.bare_hops

    def membership(self, kind: int, process: int, time: float) -> None:
        """A crash, a join, a leave or a view at a process."""
        self._views += kind == VIEW
        self.buffer += pack_record(kind, process, NOBODY, 0, time, time, time)

    def flush_if_full(self) -> bool:
        """Whether it was full."""
        if self.undoing is not None or len(self.buffer) < _FULL:
            return False
        self.flush()
        return True

    def flush(self) -> None:
        if not self.buffer:
            return
        self._flushed += len(self.buffer)
        # The run holds on to the buffer, so it is emptied, not replaced.
        records = np.frombuffer(bytes(self.buffer), RECORD_TYPE)
        self.buffer.clear()
        sends = self.sends.copy()
        self.sends.clear()
        if self.undoing is not None:
            records, sends = self.undoing.what_remains(records, sends)
        own = self._measure_hops(records, sends)
        self._measure(records, own)
        if self._oracle is not None:
            self.violations += len(self._judge(self._oracle, records, own))
        if self.last_deliveries is not None:
            _follow(self.last_deliveries, records, own)
        arrived = records["kind"] == ARRIVE
        self.rows += len(records) + int(arrived.sum())
        if self._writer is not None:
            scopes, self._scopes = self._scopes, []
            self._writer.extend(_rows(records), sends, scopes)

    def note_scope(self, message: MessageId, scope: Scope) -> None:
        """What the message that is sent next is ordered with respect to."""
        if self._writer is not None:
            self._scopes.append(scope.text)
        if isinstance(self._oracle, ScopedOracle):
            self._oracle.scopes[message] = scope

    def take_back(
        self, process: int, deliveries: Iterable[MessageId], now: float
    ) -> dict[MessageId, float]:
        """The deliveries of a process have not happened; when the messages had arrived."""
        if self.undoing is None:
            return {}
        if self._oracle is not None:
            records = np.frombuffer(bytes(self.buffer), RECORD_TYPE)
            oracle = deepcopy(self._oracle)  # it has been told of nothing yet
            found = self._judge(oracle, *self.undoing.what_remains(records, self.sends))
            self.undone_violations += [oracle.witness(one).sentence() for one in found]
        return self.undoing.take_back(self.buffer, process, deliveries, now)

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
    ) -> list[Violation]:
        destinations, found = iter(sends), []
        columns = (records[name].tolist() for name in ("kind", "process", "sender", "number"))
        for kind, process, sender, number in zip(*columns, strict=True):
            if kind == SEND:
                oracle.send(process, sender, number, next(destinations)[0])
            elif kind in (ARRIVE, DELIVER):
                violation = oracle.deliver(process, sender, number)
                if violation is not None:
                    found.append(violation)
            elif kind == CRASH:
                oracle.crash(process)
        return found


def _follow(last: LastDeliveries, records: np.ndarray, sends: Sequence[Sent]) -> None:
    destinations = iter(sends)
    columns = (records[name].tolist() for name in ("kind", "process", "sender", "number", "time"))
    for kind, process, sender, number, time in zip(*columns, strict=True):
        if kind == SEND:
            last.send(MessageId(sender, number), next(destinations)[0], time)
        elif kind in (ARRIVE, DELIVER):
            last.deliver(MessageId(sender, number), process, time)


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
