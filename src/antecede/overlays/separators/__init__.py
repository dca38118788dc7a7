"""Causal order over a network, hop by hop (Rodrigues, Verissimo): along a tree with causal
separators, by flooding, or along shortest ways (`routes`).

Application processes are linked to servers, servers to routers, and a message goes from neighbour
to neighbour. On the tree every hop is ordered by `histories`, and every router leaves out of a
stamp what stays behind it (R9). By flooding, headers go over all links in the order in which they
first came, and no stamp is needed. On shortest ways contexts travel with messages and are deposited
at the borders of regions. `protocol` is what others see; each way to route is a file.
"""

from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.protocol import Separators
from antecede.overlays.separators.tree import Hop

__all__ = ["Hop", "Separators", "SeparatorsOptions"]
