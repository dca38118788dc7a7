"""Spark jobs. Nothing here is imported by the rest of the package until Spark is asked for, and the
session is made in one place (`antecede.pipeline.session`) and passed in."""
