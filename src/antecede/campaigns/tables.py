"""The tables that a campaign leaves behind: their columns, what these mean, and where they are.

This is the one place that says so. What writes them takes their schemas from here, the report and
`docs/campaigns.md` their words. A column that is a *measure* is a number of one run, which the
summary averages over seeds.
"""

from typing import Final, NamedTuple

import pyarrow as pa

TEXT: Final = pa.string()
VERSION: Final = "1"
"""Of the columns: it grows when one goes or changes its meaning, not when one is added."""
VERSION_KEY: Final = "antecede.tables"
COUNT: Final = pa.int64()
NUMBER: Final = pa.float64()


class Column(NamedTuple):
    name: str
    type: pa.DataType
    meaning: str
    is_measure: bool = False
    is_timing: bool = False
    """Whether it tells of the machine: it differs from one execution to the next."""
    in_csv: bool = False
    """Whether the small CSV has it."""


class Table(NamedTuple):
    name: str
    """Its folder of Parquet files in the output."""
    meaning: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(column.name, column.type) for column in self.columns])

    @property
    def file_schema(self) -> pa.Schema:
        """The same with the version in the footer."""
        return self.schema.with_metadata({VERSION_KEY: VERSION})

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.is_measure)

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


def _spread(
    name: str, what: str, parts: tuple[str, ...], *, shown: tuple[str, ...] = ()
) -> tuple[Column, ...]:
    """A measure of a run that is itself spread over messages, copies or samples."""
    words = {"mean": "mean", "max": "largest", "p50": "median"}
    words |= {part: f"{part[1:]}th percentile" for part in parts if part not in words}
    return tuple(
        Column(f"{name}_{part}", NUMBER, f"{what}: {words[part]}", True, False, part in shown)
        for part in parts
    )


STAMP_PARTS: Final = ("mean", "p50", "p95", "p99", "max")
DELAY_PARTS: Final = ("mean", "p95", "max")
SAMPLED_PARTS: Final = ("mean", "max")

DELAYS: Final = {
    "delay_s": "seconds from a send to a delivery to somebody else",
    "network_s": "the part of `delay_s` that the network took, up to the arrival",
    "hold_s": "the rest of it, from arrival to delivery; the sum of the three parts below",
    "forced_s": "the part of `hold_s` until the last causal predecessor had arrived, too",
    "inherited_s": "the part of `hold_s` spent on predecessors that were held needlessly",
    "unnecessary_s": "the part of `hold_s` in which the message could have been delivered",
}
"""The delays, which are spread over the copies to others that were delivered."""
STAMPS: Final = {
    "stamp_entries": "elements of ordering information on a message as it sets out",
    "stamp_bytes": "bytes of ordering information on a message as it sets out",
    "hop_stamp_entries": "elements of ordering information on a hop message, if there are any",
    "hop_stamp_bytes": "bytes of ordering information on a hop message, if there are any",
}
"""The sizes of stamps, which are spread over messages and hop messages."""

WATCHED: Final = {
    "stamp_entries": "the elements of stamps",
    "stamp_bytes": "the bytes of stamps",
    "ordering_bytes": "the bytes of all ordering information, message by message",
    "control": "the control packets, message by message",
    "hop_stamp_bytes": "the bytes of stamps on hop messages",
    "delay": "the delays",
    "hold": "the times held",
    "state_bytes": "the bytes of snapshots",
}
"""The series that are watched for a drift: see `antecede.campaigns.steady`."""

SETTING: Final = (
    Column("protocol", TEXT, "the protocol, as `antecede protocols` lists it"),
    Column("variant", TEXT, "protocol and options as people write them: `bounded k=2n`"),
    Column("options", TEXT, "the options as JSON, as the campaign file has them; `{}` for none"),
    Column("network", TEXT, "the name of the network in the campaign file"),
    Column("workload", TEXT, "the name of the workload in the campaign file"),
    Column("processes", pa.int32(), "how many application processes take part"),
)
"""What the runs of one line of the summary share: everything but the seed."""

RUNS: Final = Table(
    "runs",
    "One row a planned run.",
    (
        Column("run", TEXT, "identity of the run: a hash of all that determines it"),
        *SETTING,
        Column("seed", COUNT, "the seed, which explains the run"),
        Column("scenario", TEXT, "everything that determines the run, as JSON"),
        Column("status", TEXT, "`ok`, or `failed`: all measures are null then"),
        Column("error", TEXT, "what went wrong; null where nothing did"),
        Column("promised", pa.bool_(), "whether the protocol promises causal order here"),
        Column("messages", COUNT, "messages sent, in the whole run", True),
        Column("deliveries", COUNT, "deliveries in the whole run, own copies included", True),
        Column(
            "warm_up",
            COUNT,
            "messages at the start that are left out of all measures below but `violations`, "
            "`undelivered`, `owed`, `taken_back`, `void`, `queue_max`, `virtual_s`, `events` and "
            "`rows`; "
            "what is sent after the last message is then left out, too",
            True,
            in_csv=True,
        ),
        Column("measured_messages", COUNT, "messages that are measured", True),
        Column("measured_s", NUMBER, "for how long they were sent, in seconds", True),
        Column(
            "unsteady",
            COUNT,
            "how many of the series that are watched drifted after the warm-up",
            True,
            in_csv=True,
        ),
        Column("drifting", TEXT, "these series; measures made of them are no steady state"),
        Column("short", TEXT, "series with too few values to tell"),
        *(
            Column(
                f"drift_{name}",
                NUMBER,
                f"difference between the second half and the first of {what}, as a share of the "
                "mean; null for none or too few",
                True,
            )
            for name, what in WATCHED.items()
        ),
        Column("violations", COUNT, "deliveries that came too early", True, in_csv=True),
        Column("undelivered", COUNT, "copies for others never delivered", True, in_csv=True),
        Column("owed", COUNT, "those of them that had to be, as `antecede simulate` judges", True),
        Column("taken_back", COUNT, "deliveries undone after failures; null where none are", True),
        Column("void", COUNT, "messages made never to have been sent; null likewise", True),
        *_spread("stamp_entries", STAMPS["stamp_entries"], STAMP_PARTS, shown=("mean", "max")),
        *_spread("stamp_bytes", STAMPS["stamp_bytes"], STAMP_PARTS, shown=("mean", "p99")),
        *_spread(
            "state_entries",
            "elements of ordering information that one process keeps, sampled over the run",
            SAMPLED_PARTS,
            shown=("mean",),
        ),
        *_spread(
            "state_bytes",
            "bytes of a snapshot of one process, held messages included, sampled over the run",
            SAMPLED_PARTS,
            shown=("mean",),
        ),
        Column("queue_mean", NUMBER, "messages held at a process, on average over time", True),
        Column("queue_max", COUNT, "the most messages that one process ever held", True),
        Column("copies", COUNT, "packets that carried application messages", True),
        Column("copies_stamp_bytes", COUNT, "bytes of ordering information on them", True),
        Column("control_packets", COUNT, "packets of the protocol's own: extra, null ...", True),
        Column("control_bytes", COUNT, "bytes of ordering information on them", True),
        Column("control_per_message", NUMBER, "`control_packets` a message", True, in_csv=True),
        Column("packets_per_message", NUMBER, "`copies` and `control_packets` a message", True),
        Column(
            "ordering_bytes_per_message",
            NUMBER,
            "all bytes of ordering information, on copies and control packets, a message",
            True,
            in_csv=True,
        ),
        Column("hops", COUNT, "hop messages; null without an overlay", True),
        Column("hops_per_message", NUMBER, "`hops` a message; null without an overlay", True),
        *_spread("hop_stamp_entries", STAMPS["hop_stamp_entries"], STAMP_PARTS),
        *_spread("hop_stamp_bytes", STAMPS["hop_stamp_bytes"], STAMP_PARTS),
        *(
            column
            for name, meaning in DELAYS.items()
            for column in _spread(name, meaning, DELAY_PARTS, shown=("mean",))
        ),
        Column("virtual_s", NUMBER, "how long the run took in its own time, in seconds", True),
        Column("events", COUNT, "events of the simulator", True),
        Column("rows", COUNT, "rows of the trace", True),
        Column("simulate_cpu_s", NUMBER, "processor seconds for simulating", True, True),
        Column("verify_cpu_s", NUMBER, "processor seconds for verifying", True, True),
        Column("measure_cpu_s", NUMBER, "processor seconds for everything else", True, True),
        Column("wall_s", NUMBER, "seconds that the whole run took", True, True),
    ),
)

SUMMARY: Final = Table(
    "summary",
    "One row a setting and measure: all columns of `runs` that are measures, over the seeds. "
    "Failed runs and runs without a value do not count.",
    (
        *SETTING,
        Column("measure", TEXT, "the column of `runs`"),
        Column("n", COUNT, "how many runs have a value"),
        Column("mean", NUMBER, "their mean"),
        Column("sd", NUMBER, "their standard deviation (n - 1); null for one run"),
        Column("low", NUMBER, "lower end of the 95 % confidence interval of the mean (Student's)"),
        Column("high", NUMBER, "upper end of it; both null for one run"),
        Column("min", NUMBER, "the smallest value"),
        Column("max", NUMBER, "the largest value"),
    ),
)

HISTOGRAMS: Final = Table(
    "histograms",
    "One row a run, distribution and bucket that is not empty. The borders of buckets are the same "
    "in all runs, so that counts add up.",
    (
        Column("run", TEXT, "the run, as in `runs`"),
        Column("measure", TEXT, f"one of {', '.join(f'`{name}`' for name in (*STAMPS, *DELAYS))}"),
        Column("low", NUMBER, "the bucket holds values from here"),
        Column("high", NUMBER, "up to here, excluded; for the bucket of zeros both are 0"),
        Column("count", COUNT, "how many values it holds"),
    ),
)

SKIPPED: Final = Table(
    "skipped",
    "One row a setting that a protocol cannot run, so that no run of it was planned.",
    (*SETTING, Column("reason", TEXT, "why")),
)

TABLES: Final = (RUNS, SUMMARY, HISTOGRAMS, SKIPPED)
CSV_PREFIX: Final = len(SETTING) + 1
"""The columns of the CSV in front of the measures: the setting and the number of runs."""


def markdown() -> str:
    """The tables for people."""
    parts = []
    for table in TABLES:
        rows = "".join(
            f"| `{column.name}` | {column.type} | {column.meaning} |\n" for column in table.columns
        )
        parts.append(
            f"### `{table.name}/`\n\n{table.meaning}\n\n| column | type | meaning |\n"
            f"| --- | --- | --- |\n{rows}"
        )
    return "\n".join(parts)
