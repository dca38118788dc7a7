"""What a protocol costs, estimated instead of simulated: stamps, state, packets and delay.

`traffic_of` says what of a scenario the model knows; `estimate` gives the figures. Each figure is a
closed form (`closed`: counted from the protocol's rules, or a mean field of the traffic) or a law
fitted to the simulator (`fitted`), and says whether it is claimed: held to the simulator within
15 %. `python -m bench.scale` fits and holds them; docs/scale.md tells the arguments.
"""

from antecede.cost.model import MEASURES, Figure, estimate
from antecede.cost.traffic import Kind, Traffic, Tree, traffic_of

__all__ = ["MEASURES", "Figure", "Kind", "Traffic", "Tree", "estimate", "traffic_of"]
