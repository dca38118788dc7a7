"""What can be chosen about a protocol, and what whoever draws, explores or compares has to know of
it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import ClassVar

import msgspec

from antecede.drawn import Chance, Drawn, Fields


class Says(StrEnum):
    """What an option says of single processes. The explorer takes processes for alike only where
    no option tells them apart."""

    NOTHING = "nothing"
    """It holds for all."""
    EACH = "each"
    """A list has one value for each process, in their order; anything else holds for all."""
    PROCESSES = "processes"
    """It lists processes, or lists of them, and the order of no list matters."""
    NUMBERS = "numbers"
    """Unless it is left at its default, it depends on the numbers of the processes."""


def stated(**says: Says) -> Mapping[str, Says]:
    """What each option says of single processes."""
    return MappingProxyType(says)


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be chosen about a protocol. A protocol with options subclasses this, and states of
    each what it says of single processes; one of which it does not is taken to tell all apart."""

    says: ClassVar[Mapping[str, Says]] = stated()
    unset: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What None means, by option, as a person would write it."""

    # For the fuzzer.

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        """Values for this scenario under which the protocol keeps its promises; not what a paper
        prints and the errata refute."""
        return {}

    @classmethod
    def drawn_variant(cls, chance: Chance) -> Drawn:
        """Options that make another protocol of it, which bears other faults."""
        return {}

    @classmethod
    def needed(cls, fields: Fields) -> Drawn:
        """Those without which the protocol promises less than it is judged by."""
        return {}

    @classmethod
    def fitting(cls, fields: Fields) -> Drawn:
        """The options of a scenario whose faults have changed: without those that were needed for
        others, or promise nothing with these."""
        return dict(fields["options"])

    @classmethod
    def among(cls, options: Fields, kept: Sequence[int]) -> Drawn:
        """These options where only some processes are left."""
        return dict(options)

    @property
    def waits_s(self) -> float:
        """How long it may wait, at most, for somebody who never comes before it goes on."""
        return 0.0

    @property
    def replaces_s(self) -> float:
        """How long it may take, at most, until others serve where a link is cut for good."""
        return 0.0

    # For advice.

    @classmethod
    def compared(cls, processes: int) -> list[Drawn]:
        """The options that are worth comparing among so many processes, as a person writes them."""
        return [{}]
