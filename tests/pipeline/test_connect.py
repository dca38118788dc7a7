"""A server of Spark Connect, from the installed package, does what a session does."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.recorder import record
from antecede.verify import tables, verify_trace
from tests.campaigns.test_campaign import outcome
from tests.pipeline.clusters import connect_server
from tests.pipeline.traces import random_rows, write
from tests.spark.test_judging import listed
from tests.spark.test_simulating import TOML
from tests.trace.builders import table

RUNS = [(f"r{seed}", random_rows(seed)) for seed in (41, 42, 43)]

SCRIPT = """
import json, os, signal, sys
from antecede import cli
master, trace, grid = sys.argv[1:]
for command in (
    ["campaign", "run", grid, "--out", "out"],
    ["fuzz", "--protocol", "vector", "--runs", "20"],
    ["verify", trace, "--engine", "spark", "--json", "--out", "verdict"],
):
    sys.argv = ["antecede", *command, "--master", master]
    try:
        cli.main()
    except SystemExit as end:
        print("status", end.code or 0, flush=True)

import antecede.spark
from pyspark.sql import SparkSession
from antecede.pipeline.session import build_session
from antecede.pipeline.spread import WorkLost, spread

spark = SparkSession.builder.remote(master).getOrCreate()
assert build_session("active") is spark
print(json.dumps(antecede.spark.verify(spark.read.parquet(trace)).toArrow().to_pylist()))
print(antecede.spark.simulate(spark, grid).count())
def once_killed(mark):
    if mark and not os.path.exists(mark):
        open(mark, "x").close()
        os.kill(os.getpid(), signal.SIGKILL)  # a worker is lost, and its task tried again
    return "there"

print(list(spread(spark, ["", os.path.abspath("mark")], once_killed)), os.path.exists("mark"))
messages = spark.readStream.schema("g string, s string, n long, a map<string, long>, t double")
here = os.path.abspath
columns = dict(group="g", sender="s", number="n", after="a", time="t")
ordered = antecede.spark.resequence(messages.parquet(here("messages")), **columns, buckets=1)
events = spark.readStream.format("antecede").load(here("recordings"))
for name, stream in (("ordered", ordered), ("watched", antecede.spark.watch(events))):
    out = stream.writeStream.option("checkpointLocation", here(f"kept-{name}"))
    out.trigger(availableNow=True).start(path=here(name)).awaitTermination()
print([row.n for row in spark.read.parquet(here("ordered")).orderBy("position").collect()])
print(spark.read.parquet(here("watched")).first().sentence.partition(" at ")[0])
some = spread(spark, range(100), str)
print(next(some))
some.close()
try:
    list(spread(spark, ["7", "no"], int))
except WorkLost as lost:
    print(lost)
"""

KILLED = """
import os, signal, sys
from antecede import cli
from antecede.pipeline.campaigns import campaign

def progress(stage, *counts):
    if stage == "runs" and counts[0]:
        os.kill(os.getpid(), signal.SIGKILL)  # one run is done
    return made(stage, *counts)

made, campaign.Progress = campaign.Progress, progress
sys.argv = ["antecede", "campaign", "run", sys.argv[2], "--out", "out", "--master", sys.argv[1]]
cli.main()
"""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


def test_commands_and_the_library(master: str, tmp_path: Path) -> None:
    trace = write(tmp_path / "run.parquet", *RUNS)
    grid = tmp_path / "grid.toml"
    grid.write_text(TOML)
    (tmp_path / "messages").mkdir()
    unordered = [
        {"g": "r", "s": "p", "n": n, "a": [("q", 0)], "t": float(9 - n)} for n in (3, 1, 2)
    ]
    columns = {"g": pa.string(), "s": pa.string(), "n": pa.int64(), "t": pa.float64()}
    schema = pa.schema([*columns.items(), ("a", pa.map_(pa.string(), pa.int64()))])
    pq.write_table(
        pa.Table.from_pylist(unordered, schema=schema), tmp_path / "messages" / "1.parquet"
    )
    (tmp_path / "recordings").mkdir()
    with record(tmp_path / "recordings" / "p.trace", "p") as p:
        for number in (1, 2):
            p.send(f"m{number}", to=["q"])
        p.deliver("m2", at="q")
    command = [sys.executable, "-c", KILLED, master, str(grid)]
    killed = subprocess.run(command, cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert [*(tmp_path / "out" / "results").glob("*.json")]
    assert not (tmp_path / "out" / "campaign.json").exists()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, master, str(trace), str(grid)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    campaign, fuzzed, verdict, rest = re.split(r"status \d\n", done.stdout)
    assert campaign.startswith("grid: 4 runs, ")
    assert fuzzed.startswith("20 runs, ")
    assert json.loads(verdict) == verify_trace(trace).to_json()
    rows, count, again, numbers, early, first, lost = rest.splitlines()
    assert again == "['there', 'there'] True"
    assert numbers == "[1, 2, 3]"
    assert early == "q delivered m2"
    expected = tables.verdicts(pa.concat_tables([table(*run, run=name) for name, run in RUNS]))
    found = pa.Table.from_pylist(json.loads(rows), schema=tables.VERDICTS)
    assert listed(found) == listed(expected)
    assert count == "4"
    assert int(first) in range(100)
    assert lost == "Spark gave up: ValueError: invalid literal for int() with base 10: 'no'"
    near = tmp_path / "near"
    command = ["campaign", "run", str(grid), "--out", str(near), "--master", "here"]
    subprocess.run([sys.executable, "-m", "antecede", *command], check=True, capture_output=True)
    assert outcome(tmp_path / "out") == outcome(near)
