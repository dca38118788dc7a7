"""Loops over columns of integers: compiled where there is much to do, plain Python where not.

A loop is an ordinary function over numpy arrays and numbers, written in the part of Python that
numba knows. It is never decorated: importing its module does not import numba, which takes longer
than a small trace, and a test or a debugger can run it as it stands.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

Loop = TypeVar("Loop", bound=Callable[..., Any])

MUCH: Final = 200_000
"""Steps from which on numba repays its import; so many take plain Python some tenths of a
second."""

_compiled: dict[Callable[..., Any], Callable[..., Any]] = {}
_done: dict[Callable[..., Any], int] | None = None
"""The steps that functions have gone, where many small traces are expected."""


def expect_many_traces() -> None:
    """From now on a loop is compiled, too, when all its calls together have had many steps: for a
    process that goes through many small traces."""
    global _done  # noqa: PLW0603 - a process decides once what it is for
    _done = {} if _done is None else _done


def loop_for(function: Loop, steps: int) -> Loop:
    """The function, compiled if it has many steps to go."""
    if _done is not None:
        steps = _done[function] = _done.get(function, 0) + steps
    return function if steps < MUCH else compiled(function)


def compiled(function: Loop) -> Loop:
    """The function in machine code, kept on the disk for later sessions where that is possible."""
    if function not in _compiled:
        import numba  # noqa: PLC0415 - see above

        try:
            made = numba.njit(cache=True, nogil=True)(function)
        except RuntimeError:  # no folder for it that can be written
            made = numba.njit(nogil=True)(function)
        _compiled[function] = made
    return _compiled[function]  # type: ignore[return-value]
