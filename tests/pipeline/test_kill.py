"""A verification on Spark that is killed while its tasks are at work."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from antecede.pipeline.audit.job import Limits
from antecede.pipeline.audit.verify import verify_on_spark
from antecede.verify import verify_trace
from tests.pipeline.traces import write
from tests.trace.builders import positioned, send

WINDOWS = 400
CODE = f"""
import sys
from antecede.pipeline.audit.job import Limits
from antecede.pipeline.session import build_session
from antecede.pipeline.audit.verify import verify_on_spark
spark = build_session("local[1]", short=True)
limits = Limits(run_rows=0, windows={WINDOWS})
verify_on_spark(spark, sys.argv[1], out=sys.argv[2], limits=limits)
"""


def test_no_half_verdict_is_left(spark: SparkSession, tmp_path: Path) -> None:
    """The whole group of processes is killed when the first of many tasks has left something."""
    rows = positioned(*(send("p", number, "q") for number in range(1, WINDOWS + 1)))
    trace = write(tmp_path / "run.parquet", ("r", rows), group=1)
    out = tmp_path / "out"
    job = subprocess.Popen(
        [sys.executable, "-c", CODE, str(trace), str(out)], start_new_session=True
    )
    while job.poll() is None and not list(tmp_path.glob(".out.partial-*/work/run-0/open-*")):
        time.sleep(0.02)
    assert job.poll() is None, "it came to an end before it was killed"
    os.killpg(job.pid, signal.SIGKILL)
    assert job.wait() == -signal.SIGKILL
    assert not out.exists()
    left = list(tmp_path.glob(".out.partial-*"))
    assert len(left) == 1
    assert not (left[0] / "verdict.json").exists()
    verdict = verify_on_spark(spark, trace, out=out, limits=Limits(run_rows=0, windows=3))
    assert verdict == verify_trace(trace)
    assert (out / "verdict.json").is_file()
