"""Where Spark finds `spark.readStream.format("antecede")` by itself: it asks all packages whose
names begin with `pyspark_`."""

from antecede.spark.source import AntecedeSource as DefaultSource

__all__ = ["DefaultSource"]
