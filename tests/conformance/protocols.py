"""Which protocols a test of the suite is about, where it is not about all."""

from collections.abc import Callable

from antecede.order import Traits
from antecede.protocols import find, names


def those(that: Callable[[Traits], object]) -> list[str]:
    """The protocols whose traits are so."""
    return [name for name in names() if that(find(name).traits)]
