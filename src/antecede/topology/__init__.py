"""Communication graphs, and what separates their parts: pure graph work, done when a network is set
up and not while it runs.

`load_topology` reads or makes a topology, `choose_separators` finds the separators that each of its
nodes applies, `is_separator` and `check_separator` hold one against the definition.
"""

from antecede.topology.choose import Choice, choose_separators
from antecede.topology.load import load_topology, zoo
from antecede.topology.model import (
    Topology,
    attach,
    build,
    check_connected,
    largest_part,
)
from antecede.topology.separator import Separator, check_separator, is_separator

__all__ = [
    "Choice",
    "Separator",
    "Topology",
    "attach",
    "build",
    "check_connected",
    "check_separator",
    "choose_separators",
    "is_separator",
    "largest_part",
    "load_topology",
    "zoo",
]
