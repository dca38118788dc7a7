"""Fully delivered messages: what everybody has delivered need not be remembered (Rodrigues,
Verissimo, section 4.5). Two ways to know it, each on top of `histories`: by the passage of time on
a network that is declared synchronous, and by evidence in what arrives."""

from antecede.delivered.evidence import Confirming, ConfirmingOptions
from antecede.delivered.timely import Late, Timely, TimelyOptions

__all__ = ["Confirming", "ConfirmingOptions", "Late", "Timely", "TimelyOptions"]
