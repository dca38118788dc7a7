"""The campaigns that ship: their files, their hashes, running them whole or in little."""

import json
import tomllib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from antecede.campaigns.file import Campaign, load_campaign
from antecede.campaigns.plan import make_plan
from antecede.errors import Misuse
from antecede.pipeline.campaigns.campaign import run_campaign
from bench.docs import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAMPAIGNS = ROOT / "campaigns"
QUICK_SEEDS = [1, 2]
QUICK_SIZES = 2
QUICK_LARGEST = (8, 16)
"""The sizes of those that begin with more."""
QUICK_MESSAGES = 24


class Shipped(NamedTuple):
    name: str
    file: Path

    @property
    def digest(self) -> str:
        """Of what the file says, whatever its comments are: a page names the one it was made of."""
        fields = tomllib.loads(self.file.read_text("utf-8"))
        return sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


def find(name: str, folder: Path = CAMPAIGNS) -> Shipped:
    return Shipped(name, folder / f"{name}.toml")


class Session:
    """A Spark session that is started when somebody asks for it."""

    def __init__(self, master: str) -> None:
        self._master = master
        self._spark: SparkSession | None = None

    def __call__(self) -> "SparkSession":
        from antecede.pipeline.session import build_session  # noqa: PLC0415 - takes a second

        if self._spark is None:
            self._spark = build_session(self._master, short=True)
        return self._spark

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._spark is not None:
            self._spark.stop()


def run(
    shipped: Shipped,
    out: Path,
    session: "Callable[[], SparkSession] | None" = None,
    *,
    quick: bool = False,
) -> Path:
    """Do what is left of the campaign in the folder, which is returned. `session` gives a Spark
    session when it is called; without it, everything happens in this process."""
    campaign = load_campaign(shipped.file)
    if quick:
        campaign = shrunk(campaign)
    plan = make_plan(campaign, str(shipped.file))
    text = shipped.file.read_text("utf-8")
    finished = run_campaign(campaign, plan, text, out, session or (lambda: None))
    failed, broken, stalled = finished.failed, finished.broken, finished.stalled
    if failed or broken or stalled:
        raise Misuse(
            f"{failed} runs failed, {broken} broke the order that they promised and {stalled} left "
            f"messages undelivered without any fault: {out}"
        )
    return out


def shrunk(campaign: Campaign) -> Campaign:
    """The same questions at the smallest sizes, with few messages and two seeds."""
    sizes = sorted(campaign.processes or ())[:QUICK_SIZES]
    if sizes and sizes[-1] > max(QUICK_LARGEST):
        sizes = [*QUICK_LARGEST]
    few = [load.model_copy(update={"messages": QUICK_MESSAGES}) for load in campaign.workloads]
    anywhere = [entry.model_copy(update={"processes": None}) for entry in campaign.protocols]
    changes = {
        "seeds": QUICK_SEEDS,
        "processes": sizes or None,
        "workloads": few,
        "protocols": anywhere,
        "traces": "none",
    }
    return campaign.model_copy(update=changes)
