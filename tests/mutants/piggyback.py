"""Planted bugs of `piggyback`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="nothing-carried",
        old="for each in (*carried, message):",
        new="for each in (message,):",
    ),
    Mutant(
        name="carried-delivered-last",
        old="for each in (*carried, message):",
        new="for each in (message, *carried):",
    ),
    Mutant(
        name="own-message-not-kept",
        old="        if others:  # what a site tells itself alone precedes nothing elsewhere\n",
        new="        if not others:\n",
    ),
    Mutant(
        name="acknowledged-before-arrival",
        old="        return all(\n            self._has_delivered(self.process, MessageId(",
        new="        return any(\n            True or self._has_delivered(self.process, MessageId(",
    ),
]
