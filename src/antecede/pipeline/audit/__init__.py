"""The verification of traces of any size on Spark."""
