"""An order is a function of its inputs, and stamps are values."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from antecede.errors import Misuse
from antecede.message import NO_GROUP, Membership, Message, MessageId, ProcessSet
from antecede.order import Addressing, Order
from antecede.protocols import find
from tests.conformance.monitors import Recorder, Stamps
from tests.conformance.network import Network
from tests.conformance.protocols import those
from tests.conformance.traffic import layouts

ROOT = Path(__file__).parents[2]


def digest(protocol: str) -> str:
    """All effects and states of some runs, in short."""
    order = find(protocol)
    written = hashlib.sha256()
    for layout in layouts(4, order.traits.addressing):
        network = Network(order, layout, 5, monitors=[Recorder])
        network.play(16)
        network.drain()
        [recorder] = network.monitors
        assert isinstance(recorder, Recorder)
        written.update(repr(recorder.log).encode())
    return written.hexdigest()


def test_the_same_inputs_give_the_same_run_under_another_hash_seed(protocol: str) -> None:
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    program = f"from {__name__} import digest; print(digest({protocol!r}))"
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": other},
        capture_output=True,
        text=True,
        check=False,
    )
    assert elsewhere.returncode == 0, elsewhere.stderr
    here = digest(protocol)
    assert digest(protocol) == here
    assert elsewhere.stdout.strip() == here


def test_stamps_are_values(order: type[Order]) -> None:
    assert order.stamp_type.__struct_config__.frozen
    for layout in layouts(4, order.traits.addressing):
        for seed in range(4):
            network = Network(order, layout, seed, monitors=[Stamps])
            network.play(12)
            network.drain()


def test_the_wire_makes_no_difference(order: type[Order]) -> None:
    for layout in layouts(4, order.traits.addressing):
        logs = []
        for over_wire in (True, False):
            network = Network(order, layout, 3, monitors=[Recorder], over_wire=over_wire)
            network.play(12)
            network.drain()
            [recorder] = network.monitors
            assert isinstance(recorder, Recorder)
            logs.append(recorder.log)
        assert logs[0] == logs[1]


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


def _addressing_at_most(addressing: Addressing) -> list[str]:
    return those(lambda traits: traits.addressing <= addressing)


@pytest.mark.parametrize(
    ("protocol", "mistake"),
    [
        (protocol, mistake)
        for mistake, wrong in WRONG.items()
        for protocol in _addressing_at_most(wrong.addressing)
    ],
)
def test_bad_addressing_is_refused(order: type[Order], mistake: str) -> None:
    wrong = WRONG[mistake]
    there = order(3, wrong.membership)
    before = there.snapshot()
    with pytest.raises(Misuse):
        there.send(Message(MessageId(wrong.sender, 1), wrong.destinations, wrong.group))
    assert there.snapshot() == before


@pytest.mark.parametrize("process", [-1, 4])
def test_a_process_that_does_not_exist_is_refused(order: type[Order], process: int) -> None:
    with pytest.raises(Misuse):
        order(process, Membership(4))
