"""Runs drawn from seeds, judged, and shrunk where they fail.

`draw` makes the scenario of a seed, `judge` runs it and says what went wrong, `shrink` finds the
smallest scenario that goes wrong in the same way. `antecede.pipeline.campaigns.fuzz` does so on
Spark.
"""

from antecede.fuzzing.drawing import draw
from antecede.fuzzing.judging import Outcome, judge
from antecede.fuzzing.shrinking import Shrunk, shrink
from antecede.simulate.judgement import Failure

__all__ = ["Failure", "Outcome", "Shrunk", "draw", "judge", "shrink"]
