"""Incomplete orders: less order than causal order, for applications that need less (Rodrigues,
Verissimo, chapter 6).

- `ClosedGroups`: one order for each group. Nothing is ordered across groups.
- `Labels`: one order for each label. Nothing is ordered across labels.
- `Priorities`: a message does not wait for what is less urgent.
- `Contexts`: the application holds histories and merges them. A message follows what is in the
  history that it is sent in, and nothing else.

With `BYPASS` in the place of a group or label, or None in that of a context, a message goes past
all order.
"""

from antecede.history import History, merge
from antecede.incomplete.contexts import Contexts, DeliverIn
from antecede.incomplete.parts import BYPASS, ClosedGroups, Labels
from antecede.incomplete.priorities import Priorities, PrioritiesOptions

__all__ = [
    "BYPASS",
    "ClosedGroups",
    "Contexts",
    "DeliverIn",
    "History",
    "Labels",
    "Priorities",
    "PrioritiesOptions",
    "merge",
]
