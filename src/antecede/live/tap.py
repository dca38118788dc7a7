"""What a member delivers, in files for others to read: each message once, also across restarts.

A *tap* is a folder of segments, named by the position of their first record. A record is a length
and a message in MessagePack; positions count deliveries from 1, without gaps, over all lives of the
member. Each is written before the member marks the message as taken, and a durable member delivers
again what was not marked when it died: what the last segment has is dropped then. All that older
segments have is marked before a new one begins. A record that a kill has cut is cut off.

A `Spot` is a place between two records; segments before the one that it names may be deleted.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from antecede.errors import BadFile, CannotWrite, Misuse
from antecede.files import complaining, make_folder, refuse_stored, sync_folder, write_whole
from antecede.live.ordering.effects import Delivery
from antecede.live.recording import whole_records

SUFFIX: Final = ".tap"
ABOUT: Final = "tap.json"
"""Says whose deliveries these are."""
SEGMENT_BYTES: Final = 16 << 20
"""From this size on, the next message begins a new segment."""
ROWS: Final = pa.schema(
    [
        ("group", pa.string()),
        ("member", pa.string()),
        ("position", pa.int64()),
        ("time", pa.float64()),
        ("sender", pa.string()),
        ("incarnation", pa.int64()),
        ("number", pa.int64()),
        ("ordered", pa.bool_()),
        ("payload", pa.binary()),
    ]
)
"""What is read. (`sender`, `incarnation`, `number`) is the message; `ordered` is false where it was
sent past all order."""


class About(msgspec.Struct, frozen=True):
    """What the file `tap.json` says."""

    group: str
    member: str
    version: int = 1


class Tapped(msgspec.Struct, frozen=True, array_like=True):
    """A record."""

    position: int
    time: float
    sender: str
    incarnation: int | None
    number: int
    ordered: bool
    payload: bytes

    @property
    def key(self) -> tuple[str, int | None, int]:
        return self.sender, self.incarnation, self.number


class Spot(msgspec.Struct, frozen=True):
    """Between two records: the segment and where in it, and the position of the record before."""

    segment: int
    bytes: int = 0
    position: int = 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Tapped)


class Tap:
    """Writes what one member delivers. Only one process may have it open: who opens it locks the
    folder (`antecede.files.locked`)."""

    def __init__(
        self,
        folder: Path,
        group: str,
        member: str,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        is_synced: bool = False,
    ) -> None:
        refuse_stored(folder, "a tap appends to its files")
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._is_synced = is_synced
        make_folder(folder)
        about = folder / ABOUT
        if about.exists():
            known = read_about(folder)
            if (known.group, known.member) != (group, member):
                raise Misuse(
                    f"{folder} is the tap of '{known.member}' in group '{known.group}', not of "
                    f"'{member}' in '{group}'; name another folder"
                )
        else:
            write_whole(about, msgspec.json.encode(About(group, member)), durable=True)
        found = segments(folder)
        self._segment = found[-1] if found else 1
        self._file, self._size = self._open(self._segment)
        kept, whole = _records(os.pread(self._file, self._size, 0))
        if whole < self._size:
            os.ftruncate(self._file, whole)
            self._size = whole
        self.position = kept[-1].position if kept else self._segment - 1
        self._had = {one.key for one in kept if one.ordered}

    def _open(self, segment: int) -> tuple[int, int]:
        path = segment_file(self._folder, segment)
        with complaining(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            if self._is_synced:
                sync_folder(self._folder)
        return handle, os.fstat(handle).st_size

    def append(self, delivery: Delivery) -> bool:
        """Write a delivery, unless it is there from a former life; says whether it was not."""
        life = None if delivery.member is None else delivery.member.incarnation
        record = Tapped(
            self.position + 1,
            time.time(),
            delivery.sender,
            life,
            delivery.number,
            delivery.ordered,
            delivery.payload,
        )
        if delivery.ordered and record.key in self._had:
            return False
        content = _encoder.encode(record)
        content = len(content).to_bytes(4, "big") + content
        try:
            written = 0
            while written < len(content):
                written += os.write(self._file, content[written:])
            if self._is_synced:
                os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            file = segment_file(self._folder, self._segment)
            raise CannotWrite(str(file), error.strerror or str(error)) from None
        self._size += len(content)
        self.position += 1
        return True

    @property
    def is_full(self) -> bool:
        """Whether it is time for a new segment: mark as taken what was delivered, then `roll`."""
        return self._size >= self._segment_bytes

    def roll(self) -> None:
        """Begin a new segment. All that was appended must be marked as taken."""
        os.close(self._file)
        self._segment = self.position + 1
        self._file, self._size = self._open(self._segment)
        self._had = set()

    def close(self) -> None:
        os.close(self._file)


# -- reading


def read_about(folder: Path) -> About:
    """Whose tap it is."""
    about = folder / ABOUT
    try:
        return msgspec.json.decode(about.read_bytes(), type=About)
    except (OSError, msgspec.DecodeError) as error:
        raise BadFile(str(about), [f"does not say whose tap this is: {error}"]) from None


def is_tap(folder: Path) -> bool:
    """Whether there is a tap in this folder."""
    return (folder / ABOUT).is_file()


def segment_file(folder: Path, segment: int) -> Path:
    return folder / f"{segment:020}{SUFFIX}"


def segments(folder: Path) -> list[int]:
    """The segments that are there, by the positions of their first records."""
    return sorted(int(file.stem) for file in folder.glob(f"*{SUFFIX}") if file.stem.isdigit())


def first_spot(folder: Path) -> Spot:
    """Before everything that is there."""
    found = segments(folder)
    return Spot(found[0], 0, found[0] - 1) if found else Spot(1)


def last_spot(folder: Path, since: Spot, most: int | None = None) -> Spot:
    """After the last whole record, or the last of so many; looks only at what came after
    `since`."""
    spot = since
    for segment in _from(folder, since):
        start = spot.bytes if segment == spot.segment else 0
        left = None if most is None else since.position + most - spot.position
        found, size = whole_records(_bytes(folder, segment, start, None), left)
        before = spot.position if segment == spot.segment else segment - 1
        spot = Spot(segment, start + size, before + len(found))
        if left is not None and len(found) >= left:
            break
    return spot


def stretches(folder: Path, since: Spot, until: Spot) -> list[tuple[int, int, int]]:
    """What is between two spots: segments, from where to where."""
    found = []
    for segment in _from(folder, since):
        if segment > until.segment:
            break
        start = since.bytes if segment == since.segment else 0
        size = segment_file(folder, segment).stat().st_size
        end = until.bytes if segment == until.segment else size
        if end > start:
            found.append((segment, start, end))
    return found


def _from(folder: Path, since: Spot) -> list[int]:
    """The segments from a spot on, none missing."""
    found = [segment for segment in segments(folder) if segment >= since.segment]
    if found and found[0] not in (since.segment, since.position + 1):
        raise Misuse(
            f"{folder}: the messages {since.position + 1:,} to {found[0] - 1:,} were deleted "
            "before they were read"
        )
    return found


def read_stretch(folder: Path, segment: int, start: int, end: int) -> Iterator[pa.RecordBatch]:
    """The records of a segment between two places, with the columns `ROWS`."""
    about = read_about(folder)
    records, _ = _records(_bytes(folder, segment, start, end))
    rows = [
        {"group": about.group, "member": about.member, **msgspec.structs.asdict(record)}
        for record in records
    ]
    yield pa.RecordBatch.from_pylist(rows, schema=ROWS)


def prune(folder: Path, read: Spot) -> None:
    """Delete the segments before this spot, all of which have been read."""
    for segment in segments(folder):
        if segment < read.segment:
            segment_file(folder, segment).unlink(missing_ok=True)


def _bytes(folder: Path, segment: int, start: int, end: int | None) -> bytes:
    with segment_file(folder, segment).open("rb") as opened:
        opened.seek(start)
        return opened.read(-1 if end is None else end - start)


def _records(content: bytes) -> tuple[list[Tapped], int]:
    """The whole records, and where they end."""
    found, end = whole_records(content)
    return [_decoder.decode(one) for one in found], end
