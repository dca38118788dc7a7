"""Writing a trace while a run goes on: streaming, in bounded memory, all or nothing.

The simulator's inner loop feeds the writer, so a row is packed into a buffer and nothing else
happens to it until the buffer is full: `seq` and `position` are then computed for all its rows at
once, and they become one row group. The file grows under a hidden name beside its target and takes
the target's name only when it is complete and on the disk, so a killed run leaves nothing that
looks like a trace.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import Misuse
from antecede.files import complaining, give_name, name_aside, path_of, refuse_existing
from antecede.message import ProcessSet
from antecede.trace import encoder, schema
from antecede.trace.encoder import NO_STAMP, NOBODY, RowEncoder
from antecede.trace.schema import APP, CRASH, DELIVER, RECEIVE, SEND, VIEW

NO_TIME: Final = math.nan

_NAMES: Final = "destinations.list.element"
GROUP_ROWS: Final = 131_072
"""Rows in a row group. Twice as many are hardly faster to read, half as many a quarter slower."""
_FULL: Final = GROUP_ROWS * encoder.ROW.size
_pack = encoder.ROW.pack


class TraceWriter:
    """Writes one run to one file. Processes are indices into `processes`.

    Feed it the events in an order that is a linear extension of happened-before, as a simulator
    naturally does. Use it in a `with` statement: leaving it normally completes the file, leaving it
    by an exception removes what was written. `metadata` goes into the footer. With `scoped`, every
    send of `extend` comes with what it is ordered with respect to. `called`: by sender and number,
    what the source of the trace calls a message.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        run: str,
        processes: Sequence[str],
        metadata: Mapping[str, str] | None = None,
        *,
        force: bool = False,
        scoped: bool = False,
        called: Mapping[tuple[int, int], str] | None = None,
    ) -> None:
        self.path = path_of(path)
        self._force = force
        refuse_existing(self.path, self._force)
        self._encoder = RowEncoder(run, processes)
        self._metadata = {
            schema.METADATA_PREFIX + key: text for key, text in (metadata or {}).items()
        }
        self._metadata[schema.VERSION_KEY] = schema.VERSION
        self._events = bytearray()
        self._sends: list[tuple[ProcessSet, int, int]] = []
        self._scopes: list[str] | None = [] if scoped else None
        self._called = called
        self._open = True
        columns = encoder.SCOPED if scoped else encoder.SCHEMA
        if called is not None:
            columns = columns.append(schema.EXTRA.field("message"))
        self._partial = name_aside(self.path)
        with complaining(self.path):
            self._file = self._partial.open("wb")
        self._parquet = pq.ParquetWriter(
            self._file,
            columns,
            # What it takes to undo it counts: Zstandard makes columns a tenth smaller, and reading
            # them a quarter slower.
            compression="lz4",
            use_dictionary=[*schema.STRING_COLUMNS, _NAMES],
            column_encoding=dict.fromkeys(("seq", "number", "position"), "DELTA_BINARY_PACKED"),
            write_page_checksum=True,
            # Without it every reader sees plain strings, whatever the buffers looked like here.
            store_schema=False,
        )

    def send(
        self,
        process: int,
        number: int,
        time: float,
        destinations: ProcessSet,
        stamp_entries: int = NO_STAMP,
        stamp_bytes: int = NO_STAMP,
        layer: int = APP,
    ) -> None:
        self._events += _pack(SEND, layer, process, process, number, time)
        self._sends.append((destinations, stamp_entries, stamp_bytes))
        if len(self._events) >= _FULL:
            self.flush()

    def receive(
        self, process: int, sender: int, number: int, time: float, layer: int = APP
    ) -> None:
        self._events += _pack(RECEIVE, layer, process, sender, number, time)
        if len(self._events) >= _FULL:
            self.flush()

    def deliver(
        self, process: int, sender: int, number: int, time: float, layer: int = APP
    ) -> None:
        self._events += _pack(DELIVER, layer, process, sender, number, time)
        if len(self._events) >= _FULL:
            self.flush()

    def membership(self, kind: int, process: int, time: float, layer: int = APP) -> None:
        """A `crash`, `join`, `leave` or `view` at a process: it belongs to no message."""
        if not CRASH <= kind <= VIEW:
            raise Misuse(f"kind {kind} is not one of {CRASH} to {VIEW}, which concern membership")
        self._events += _pack(kind, layer, process, NOBODY, 0, time)
        if len(self._events) >= _FULL:
            self.flush()

    def extend(
        self,
        events: bytes,
        sends: Sequence[tuple[ProcessSet, int, int]],
        scopes: Sequence[str] = (),
    ) -> None:
        """Many rows at once, packed as `encoder.ROW` says, with destinations, stamp entries and
        stamp bytes of the sends among them, in their order."""
        self._events += events
        self._sends += sends
        if self._scopes is not None:
            self._scopes += scopes
        if len(self._events) >= _FULL:
            self.flush()

    def flush(self) -> None:
        """Write the rows fed so far as a row group."""
        if not self._open:
            raise Misuse(f"{self.path}: the trace is closed")
        if self._events:
            events, self._events = self._events, bytearray()
            sends, self._sends = self._sends, []
            scopes, self._scopes = self._scopes, None if self._scopes is None else []
            with self._discarding_on_failure():
                batch = self._encoder.encode(events, sends, scopes)
                if self._called is not None:
                    names = [self._called.get(row[3:5]) for row in encoder.ROW.iter_unpack(events)]
                    batch = batch.append_column("message", pa.array(names, pa.string()))
                self._parquet.write_batch(batch)

    def close(self) -> None:
        """Complete the file, put it on the disk and give it its name."""
        self.flush()
        with self._discarding_on_failure():
            self._parquet.add_key_value_metadata(self._metadata)
            self._parquet.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            refuse_existing(self.path, self._force)
            give_name(self._partial, self.path, durable=True)
            self._open = False

    def discard(self) -> None:
        """Give up: remove what was written. A target that existed before stays as it was."""
        if self._open:
            self._open = False
            with suppress(OSError, pa.ArrowException):
                self._parquet.close()
            with suppress(OSError):
                self._file.close()
            self._partial.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None and self._open:
            self.close()
        else:
            self.discard()

    @contextmanager
    def _discarding_on_failure(self) -> Iterator[None]:
        try:
            with complaining(self.path):
                yield
        except BaseException:
            self.discard()
            raise
