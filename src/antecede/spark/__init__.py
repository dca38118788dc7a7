"""Antecede for a Spark session that exists: DataFrames in, DataFrames out.

`verify`, `violations` and `deliveries` judge DataFrames with the columns of a trace, from whatever
source, in whatever order and partitioning. `watch` judges a stream of them as it comes. `simulate`
gives the runs of a campaign. `resequence` puts a stream of messages into causal order. None of them
makes a session, and the workers need Antecede: installed there, or sent along. Where it is
installed, `spark.readStream.format("antecede")` reads recordings and taps (`source`).
"""

from antecede.spark.judging import deliveries, verify, violations
from antecede.spark.resequencing import resequence
from antecede.spark.simulating import simulate
from antecede.spark.watching import watch

__all__ = ["deliveries", "resequence", "simulate", "verify", "violations", "watch"]
