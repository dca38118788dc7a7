"""Tables of events, judged as they come: all runs, each by its own `antecede.verify.online`."""

from typing import Final

import msgspec
import pyarrow as pa

from antecede.errors import Misuse
from antecede.trace.assumed import Assumed
from antecede.trace.schema import APP, LAYERS, ORDERED
from antecede.verify.check import layer_code
from antecede.verify.online import LIMIT, Early, Row, Watcher
from antecede.verify.verdict import Verdict

WAITING: Final = Assumed("waiting", "rows wait for others that have not come")
"""The doubt where rows were not judged."""


class Watchers:
    """All runs of one layer, each by itself."""

    def __init__(self, layer: str = LAYERS[APP], limit: int = LIMIT) -> None:
        layer_code(layer)
        self._layer, self._limit = layer, limit
        self._runs: dict[str, Watcher] = {}
        self._found: list[Early] = []
        self.rows = 0

    def feed(self, batch: pa.RecordBatch) -> None:
        """These rows have come, too; `take_found` gives what they show, also after an error."""
        self.rows += len(batch)
        for run, rows in rows_by_run(batch).items():
            if run not in self._runs:
                self._runs[run] = Watcher(run, self._layer, self._limit)
            watcher = self._runs[run]
            try:
                self._found += watcher.feed(rows)
            finally:
                self._found += watcher.take_found()

    def take_found(self) -> list[Early]:
        """What was found and not told yet."""
        found, self._found = self._found, []
        return found

    def verdict(self) -> Verdict:
        """So far. What waits is not judged, which leaves a doubt."""
        found = sum((run.verdict() for run in self._runs.values()), Verdict())
        waiting = sum(run.rows_waiting for run in self._runs.values())
        if not waiting:
            return found
        reasons = [str(run.why_waiting()) for run in self._runs.values() if run.rows_waiting]
        meaning = f"they are not judged; {reasons[0]}"
        doubt = msgspec.structs.replace(WAITING, count=waiting, meaning=meaning)
        return found + Verdict(assumed=(doubt,))

    @property
    def under_way(self) -> int:
        """Messages that are remembered."""
        return sum(run.under_way for run in self._runs.values())


def rows_by_run(batch: pa.RecordBatch | pa.Table) -> dict[str, list[Row]]:
    """The rows of a batch in the columns of a trace, and perhaps `message`."""
    names = batch.schema.names
    if ORDERED in names and batch[ORDERED].null_count < len(batch):
        raise Misuse(
            "messages ask for less than causal order (column 'ordered'): antecede verify judges it"
        )
    columns = [
        batch[name].to_pylist() if name in names else [None] * len(batch)
        for name in ("run", *Row.__struct_fields__)
    ]
    found: dict[str, list[Row]] = {}
    for run, *values in zip(*columns, strict=True):
        found.setdefault(run, []).append(Row(*values))
    return found
