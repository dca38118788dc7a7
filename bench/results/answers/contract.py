"""What the answer to a question consists of."""

from collections.abc import Callable
from typing import NamedTuple

from bench.results.reading import Reading


class Picture(NamedTuple):
    """A figure of the campaign's report that belongs on the page."""

    name: str
    """Of the file, after that of the campaign."""
    figure: str
    """The name of the figure in the report, as a pattern."""
    workload: str
    """Its surroundings, or a part of their name; empty where there is only one."""
    caption: str


class Answer(NamedTuple):
    """How a page answers the question of its campaign."""

    title: str
    paper: str
    """What the paper says, in our words, and where."""
    body: Callable[[Reading], str]
    """Sections with tables and conclusions, all from the campaign's tables."""
    pictures: tuple[Picture, ...] = ()
