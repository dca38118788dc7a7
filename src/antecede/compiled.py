"""Loops over columns of integers: compiled where there is much to do, plain Python where not.

A loop is an ordinary function over numpy arrays, numbers and named tuples of these, written in the
part of Python that numba knows. It is never decorated: importing its module does not import numba,
which takes longer than a small trace, and a test or a debugger can run it as it stands. Functions
of the same module that it calls are compiled with it.
"""

from collections.abc import Callable
from types import FunctionType
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

        whole = _with_compiled_helpers(function)
        try:
            made = numba.njit(cache=True, nogil=True)(whole)
        except RuntimeError:  # no folder for it that can be written
            made = numba.njit(nogil=True)(whole)
        _compiled[function] = made
    return _compiled[function]  # type: ignore[return-value]


def _with_compiled_helpers(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, for which the names of its helpers mean their compiled forms. They are
    those of its own module: numba looks at no other to see whether what it keeps is out of date."""
    if not isinstance(function, FunctionType):
        return function
    scope = function.__globals__
    helpers = {
        name: compiled(helper)
        for name in function.__code__.co_names
        if isinstance(helper := scope.get(name), FunctionType)
        and helper.__module__ == function.__module__
    }
    if not helpers:
        return function
    whole = FunctionType(
        function.__code__, {**scope, **helpers}, function.__name__, function.__defaults__
    )
    whole.__module__, whole.__qualname__ = function.__module__, function.__qualname__
    return whole
