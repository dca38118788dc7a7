"""`spark.readStream.format("antecede")`: recordings that grow, and taps, as streams; with
`spark.read` what is there now. Each event once: an offset lies between two whole events, and what
is between two offsets stays the same. Importing this imports pyspark."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from antecede.errors import Misuse
from antecede.files import path_of
from antecede.live import growing, tap

NAME: Final = "antecede"
RECORDINGS: Final = "recordings"
TAP: Final = "tap"


class Part(InputPartition):
    """What one task reads."""

    def __init__(self, words: tuple[Any, ...]) -> None:
        self.value = words


class AntecedeSource(DataSource):
    """The folder is `load`ed or the option `path`. Options: `kind` is `recordings` or `tap`, where
    the folder does not say so itself because it is empty yet; `maxRowsPerTrigger` bounds a batch,
    of recordings by so many rows a file; `prune` = `true` deletes a tap's segments when a stream
    has committed all that is in them."""

    @classmethod
    def name(cls) -> str:
        return NAME

    @property
    def _kind(self) -> str:
        kind = self.options.get("kind")
        if kind not in (None, RECORDINGS, TAP):
            raise Misuse(f"kind={kind}: there are {RECORDINGS} and {TAP}")
        if kind is not None:
            return kind
        if not self._folder.is_dir():
            raise Misuse(
                f"{self._folder} is no folder; where it is still to come, option kind says "
                f"{RECORDINGS} or {TAP}"
            )
        return TAP if tap.is_tap(self._folder) else RECORDINGS

    @property
    def _folder(self) -> Path:
        if not self.options.get("path"):
            raise Misuse("which folder? format('antecede').load(FOLDER)")
        return path_of(self.options["path"])

    def schema(self) -> StructType:
        found: StructType = from_arrow_schema(_columns(self._kind))
        return found

    def reader(self, schema: StructType) -> DataSourceReader:
        return AntecedeReader(self.streamReader(schema))

    def streamReader(self, schema: StructType) -> "AntecedeStream":
        kind = self._kind
        if schema != from_arrow_schema(_columns(kind)):
            raise Misuse(f"{kind} have columns of their own; leave out the schema")
        text = self.options.get("maxRowsPerTrigger")
        if text is not None and not (text.isdigit() and int(text)):
            raise Misuse(f"maxRowsPerTrigger={text}: say a number from 1 on")
        most = None if text is None else int(text)
        if kind == TAP:
            is_pruned = self.options.get("prune", "false").lower() == "true"
            return TapStream(self._folder, most, is_pruned)
        if "prune" in self.options:
            raise Misuse("prune goes with a tap; recordings are kept")
        return RecordingsStream(self._folder, most)


def _columns(kind: str) -> pa.Schema:
    return tap.ROWS if kind == TAP else growing.ROWS


class AntecedeStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """What the two have in common."""

    _until: dict[str, Any] | None = None
    """Where a query that reads only what is there now stops."""

    def __init__(self, folder: Path, most: int | None) -> None:
        self.folder = folder
        self.most = most

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self.most is None else ReadMaxRows(self.most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._until = self.now(self.initialOffset(), None)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        now = self.now(start, most)
        return now if self._until is None else self.nearer(now, self._until)

    @abstractmethod
    def now(self, start: dict[str, Any], most: int | None) -> dict[str, Any]:
        """The offset after all that is there, or so many rows further, given one before."""

    @abstractmethod
    def nearer(self, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        """The nearer of two offsets."""


class RecordingsStream(AntecedeStream):
    """Offsets are the places of all files."""

    def initialOffset(self) -> dict[str, Any]:
        return {}

    def now(self, start: dict[str, Any], most: int | None) -> dict[str, Any]:
        if not self.folder.is_dir():
            return start
        found = growing.look(self.folder, _places(start), most)
        return _plain(found)

    def nearer(self, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        return _plain(growing.not_beyond(_places(one), _places(other)))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        found = growing.parts_between(_places(start), _places(end))
        return [Part((name, *map(msgspec.to_builtins, places))) for name, *places in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        name, start, end = partition.value
        places = (msgspec.convert(place, growing.Place) for place in (start, end))
        yield from growing.read(self.folder, name, *places)


def _places(offset: dict[str, Any]) -> growing.Places:
    return msgspec.convert(offset, growing.Places)


class TapStream(AntecedeStream):
    """Offsets are spots."""

    def __init__(self, folder: Path, most: int | None, is_pruned: bool) -> None:
        super().__init__(folder, most)
        self.is_pruned = is_pruned

    def initialOffset(self) -> dict[str, Any]:
        return _plain(tap.first_spot(self.folder))

    def now(self, start: dict[str, Any], most: int | None) -> dict[str, Any]:
        return _plain(tap.last_spot(self.folder, _spot(start), most))

    def nearer(self, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        return one if one["position"] < other["position"] else other

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [Part(one) for one in tap.stretches(self.folder, _spot(start), _spot(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from tap.read_stretch(self.folder, *partition.value)

    def commit(self, end: dict[str, Any]) -> None:
        if self.is_pruned:
            tap.prune(self.folder, _spot(end))


def _spot(offset: dict[str, Any]) -> tap.Spot:
    return msgspec.convert(offset, tap.Spot)


def _plain(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(value)
    return found


class AntecedeReader(DataSourceReader):
    """What is there now."""

    def __init__(self, stream: AntecedeStream) -> None:
        self._stream = stream

    def partitions(self) -> Sequence[InputPartition]:
        start = self._stream.initialOffset()
        return self._stream.partitions(start, self._stream.now(start, None))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._stream.read(partition)
