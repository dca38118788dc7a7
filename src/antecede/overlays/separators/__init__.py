"""Causal order over a network, hop by hop: along a tree with causal separators, by flooding, or
along shortest ways. `protocol` is what others see; each way to route is a file."""

from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.protocol import Separators
from antecede.overlays.separators.tree import Hop

__all__ = ["Hop", "Separators", "SeparatorsOptions"]
