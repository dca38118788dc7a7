"""An order is a function of its inputs, stamps are values, and what cannot be sent is refused."""

import hashlib
import os
import subprocess
import sys

import msgspec

from antecede.errors import Misuse
from antecede.message import NO_GROUP, Membership, Message, MessageId, ProcessSet
from antecede.order import Addressing, Order
from antecede.protocols import reference
from antecede.testing.monitors import Stamps, log_of
from antecede.testing.network import Failure, Network
from antecede.testing.traffic import layouts


def digest(order: type[Order]) -> str:
    """All effects and states of some runs, in short."""
    written = hashlib.sha256()
    for layout in layouts(4, order.traits.addressing):
        written.update(repr(log_of(Network(order, layout, 5), 16)).encode())
    return written.hexdigest()


def is_a_function_of_its_inputs(order: type[Order]) -> None:
    """The same inputs give the same run, also in another Python with another hash seed."""
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    program = (
        "from antecede.protocols import find; from antecede.testing.purity import digest; "
        f"print(digest(find({reference(order)!r})))"
    )
    path = os.pathsep.join(filter(None, sys.path))
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": other, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if elsewhere.returncode:
        raise Failure(f"in another Python it fails: {elsewhere.stderr}")
    here = digest(order)
    if digest(order) != here:
        raise Failure("the same inputs give another run the second time")
    if elsewhere.stdout.strip() != here:
        raise Failure("the same inputs give another run under another hash seed")


def stamps_are_values(order: type[Order]) -> None:
    """Stamps cannot be changed once they are made, and survive a journey."""
    if not order.stamp_type.__struct_config__.frozen:
        raise Failure(f"{order.stamp_type.__name__} is not frozen")
    for layout in layouts(4, order.traits.addressing):
        for seed in range(4):
            network = Network(order, layout, seed, monitors=[Stamps])
            network.play(12)
            network.drain()


def the_wire_makes_no_difference(order: type[Order]) -> None:
    """Packets that were encoded and decoded have the effects of those that were not."""
    for layout in layouts(4, order.traits.addressing):
        logs = [log_of(Network(order, layout, 3, over_wire=wire), 12) for wire in (True, False)]
        if logs[0] != logs[1]:
            raise Failure(f"{layout.name}: packets that were encoded have other effects")


_NESTED = Membership(4, (0b1111, 0b0111, 0b0011))
_SETS, _GROUPS, _ONE = Addressing.SETS, Addressing.GROUPS, Addressing.ONE_GROUP


class Wrong(msgspec.Struct, frozen=True):
    """What process 3 may not send, if its protocol addresses no more than `addressing`."""

    sender: int
    destinations: ProcessSet
    group: int
    membership: Membership
    addressing: Addressing


WRONG = {
    "another sender": Wrong(1, 0b1111, 0, Membership(4), _SETS),
    "nobody": Wrong(3, 0, NO_GROUP, Membership(4), _SETS),
    "an unknown process": Wrong(3, 0b11111, NO_GROUP, Membership(4), _SETS),
    "a part of the group": Wrong(3, 0b1011, 0, Membership(4), _GROUPS),
    "a part of a group": Wrong(3, 0b1011, 0, _NESTED, _GROUPS),
    "a foreign group": Wrong(3, 0b0111, 1, _NESTED, _GROUPS),
    "an unknown group": Wrong(3, 0b1111, 3, _NESTED, _GROUPS),
    "a negative group": Wrong(3, 0b0011, -1, _NESTED, _GROUPS),
    "one of several groups": Wrong(3, 0b1111, 0, _NESTED, _ONE),
}


def refuses_bad_addressing(order: type[Order]) -> None:
    """What a process may not send is refused as `Misuse`, and leaves no trace."""
    for mistake, wrong in WRONG.items():
        if order.traits.addressing > wrong.addressing:
            continue
        there = order(3, wrong.membership)
        before = there.snapshot()
        try:
            there.send(Message(MessageId(wrong.sender, 1), wrong.destinations, wrong.group))
        except Misuse:
            if there.snapshot() != before:
                raise Failure(f"{mistake}: refused, but the state has changed") from None
        else:
            raise Failure(f"process 3 may address {mistake}, which is to be refused")


def refuses_strange_processes(order: type[Order]) -> None:
    """A process that does not exist is refused."""
    for process in (-1, 4):
        try:
            order(process, Membership(4))
        except Misuse:
            continue
        raise Failure(f"there may be a process {process} of 4")
