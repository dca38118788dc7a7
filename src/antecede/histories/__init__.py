"""Causal histories as values, and what is built on them (Rodrigues, Verissimo, sections 4.4 and 4.5
and chapter 6). The order that is made of them is `antecede.orders.histories`.

- `history`: what precedes a message, to be held, merged, stored and handed on.
- Fully delivered messages (4.5): what everybody has delivered need not be remembered. `Timely`
  knows it by the passage of time on a network that is declared synchronous, `Confirming` by
  evidence in what arrives.
- Joins (4.4), in `joins`: new members of a separator take over the histories of the old ones;
  `stable` keeps a history in a file that survives its writer.
- Incomplete orders (6), for applications that need less than causal order: `ClosedGroups` and
  `Labels` have one order for each group or label, and none between them; with `Priorities` a
  message does not wait for what is less urgent; with `Contexts` the application holds histories and
  merges them, and a message follows what is in the history that it is sent in. With `BYPASS` in the
  place of a group or label, or None in that of a context, a message goes past all order.
"""

from antecede.histories.contexts import Contexts, DeliverIn
from antecede.histories.evidence import Confirming, ConfirmingOptions
from antecede.histories.history import Cited, History, merge
from antecede.histories.labels import BYPASS, Labels
from antecede.histories.parts import ClosedGroups
from antecede.histories.priorities import Priorities, PrioritiesOptions
from antecede.histories.timely import Late, Timely, TimelyOptions

__all__ = [
    "BYPASS",
    "Cited",
    "ClosedGroups",
    "Confirming",
    "ConfirmingOptions",
    "Contexts",
    "DeliverIn",
    "History",
    "Labels",
    "Late",
    "Priorities",
    "PrioritiesOptions",
    "Timely",
    "TimelyOptions",
    "merge",
]
