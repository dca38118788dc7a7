"""What the engines find, told with all that the trace says of itself: what its maker assumed, what
the log it was made from calls its messages, and whether its times are times of the day."""

import os
from dataclasses import replace

from antecede.trace.assumed import read_assumed
from antecede.trace.called import Called, is_absolute, read_called
from antecede.verify.verdict import Verdict, Witness


def tell_verdict(path: str | os.PathLike[str], verdict: Verdict, layer: str) -> Verdict:
    """The same verdict on a layer with what the trace says of itself."""
    told = name_witnesses(path, verdict.witnesses, layer)
    return replace(verdict, assumed=read_assumed(path), witnesses=told)


def name_witnesses(
    path: str | os.PathLike[str], witnesses: tuple[Witness, ...], layer: str
) -> tuple[Witness, ...]:
    """The same witnesses in the words of the log, if there is one."""
    called = read_called(path, {(w.run, message) for w in witnesses for message in w.path}, layer)
    absolute = bool(witnesses) and is_absolute(path)
    return tuple(_named(witness, called, absolute) for witness in witnesses)


def _named(witness: Witness, called: Called, absolute: bool) -> Witness:
    names = tuple(called.names.get((witness.run, message), message) for message in witness.path)
    place = called.places.get((witness.run, witness.process, witness.second), "")
    known = names if names != witness.path else ()
    return replace(witness, names=known, place=place, is_absolute=absolute)
