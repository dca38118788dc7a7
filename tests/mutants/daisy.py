"""Planted bugs of `daisy`. `MUTANTS` show without a crash; `RULES` take away what only crashes need:
`tests/overlays/test_daisy_scenarios.py` has a schedule for each."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="delivers-to-all",
        old="            message.destinations >> self.process & 1\n            and sender != self.process\n",
        new="            sender != self.process\n",
    ),
    Mutant(
        name="delivers-its-own-again",
        old="            and sender != self.process\n",
        new="",
    ),
    Mutant(
        name="sends-nothing-down",
        old="        if below is not None and message.destinations & below.node.processes:\n",
        new="        if below is not None and not message.destinations:\n",
    ),
]
