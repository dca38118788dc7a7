"""The explorer: all interleavings of sends and arrivals of a small scenario.

``explore("vector", processes=4, messages=5)`` takes every program of up to five messages (who
sends what to whom), runs every schedule of it (or one equivalent to it: `search` argues why that
is enough), and judges every delivery and every end by the definition. A failure comes with the
shortest schedule of its program (or, where there are too many, a short one, and it says which), as
a list for people and as a test that `replay` runs again.
"""

from antecede.explore.automaton import Flaw, OrderFactory
from antecede.explore.program import Kind, Program, Send, programs
from antecede.explore.schedule import Failure, Finding, Step, replay
from antecede.explore.survey import (
    DEFAULT_MAX_WAKES,
    Exploration,
    Explorer,
    Settings,
    explore,
    explore_program,
)

__all__ = [
    "DEFAULT_MAX_WAKES",
    "Exploration",
    "Explorer",
    "Failure",
    "Finding",
    "Flaw",
    "Kind",
    "OrderFactory",
    "Program",
    "Send",
    "Settings",
    "Step",
    "explore",
    "explore_program",
    "programs",
    "replay",
]
