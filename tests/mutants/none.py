"""Planted bugs of `none`, which keeps no order: what it delivers twice, and what not at all."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="delivered-twice",
        old="return [Deliver(message)] if",
        new="return 2 * [Deliver(message)] if",
    ),
    Mutant(
        name="one-message-a-sender",
        old="self.state.delivered.add(message.id) else",
        new="self.state.delivered.add(message.id._replace(number=1)) else",
    ),
    Mutant(
        name="own-copy-forgotten",
        old="return self.multicast(message, EMPTY)",
        new="return self.multicast(message, EMPTY)[:1]",
    ),
]
