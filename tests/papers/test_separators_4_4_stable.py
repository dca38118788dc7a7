"""Rodrigues and Verissimo, section 4.4: stable memory outlives the process that wrote it."""

import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from antecede.errors import BadFile, CannotWrite
from antecede.histories.history import Cited, History
from antecede.histories.joins import Remembering, take_over
from antecede.histories.stable import StableMemory
from antecede.message import Membership, Message, MessageId
from antecede.orders._surroundings import Surroundings
from antecede.orders.histories import Histories, HistoriesOptions
from antecede.topology.separator import Separator

HISTORY = History((Cited(0, 3, 0b110, 0b001), Cited(2, 1, 1 << 90, 0)))

WRITER = """
import sys
from pathlib import Path
from antecede.histories.history import Cited, History
from antecede.histories.stable import StableMemory

memory = StableMemory(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    memory.save(History(tuple(Cited(sender, number, 1, 0) for sender in range(1, 1000))))
    print(number, flush=True)
"""
"""Saves ever newer histories of 999 messages, and says so after each."""


def test_what_was_saved_last_is_loaded(tmp_path: Path) -> None:
    memory = StableMemory(tmp_path / "member-1")
    assert memory.load() == History()
    for history in (HISTORY, History(), HISTORY):
        memory.save(history)
        assert StableMemory(tmp_path / "member-1").load() == history
    assert [file.name for file in tmp_path.iterdir()] == ["member-1"]


@pytest.mark.parametrize("saves", [1, 4, 15])
def test_it_survives_kill_9_of_the_process_that_wrote_it(tmp_path: Path, saves: int) -> None:
    file = tmp_path / "member"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, file], stdout=subprocess.PIPE, text=True
    ) as writer:
        if writer.stdout is None:
            pytest.fail("the writer says nothing")
        said = [int(writer.stdout.readline()) for _ in range(saves)]
        writer.kill()  # in the midst of whatever it is doing now
        said += [int(line) for line in writer.stdout if line.endswith("\n")]
    assert writer.returncode == -signal.SIGKILL
    stored = StableMemory(file).load()
    numbers = {cited.number for cited in stored.entries}
    assert len(stored.entries) == 999
    assert numbers in ({said[-1]}, {said[-1] + 1})  # whole, and not older than the last it claimed


def test_a_new_version_that_was_not_finished_is_not_looked_at(tmp_path: Path) -> None:
    memory = StableMemory(tmp_path / "member")
    memory.save(HISTORY)
    (tmp_path / "member.new").write_bytes(b"antecede hist")
    assert memory.load() == HISTORY
    memory.save(History())
    assert memory.load() == History()


@pytest.mark.parametrize("damage", ["shorter", "one bit", "another file", "no history"])
def test_a_damaged_memory_is_refused(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "member"
    memory = StableMemory(file)
    memory.save(HISTORY)
    stored = bytearray(file.read_bytes())
    if damage == "shorter":
        del stored[-1]
    elif damage == "one bit":
        stored[-2] ^= 4
    elif damage == "another file":
        stored[0] ^= 1
    else:
        memory.save(HISTORY)
        content = b"\x91\x91\x93\x01\x02\x03"  # an entry of three numbers
        checksum = zlib.crc32(content).to_bytes(4, "big")
        stored[19:] = checksum + content
    file.write_bytes(stored)
    with pytest.raises(BadFile, match="member"):
        memory.load()


def test_a_memory_that_cannot_be_written_or_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match="missing"):
        StableMemory(tmp_path / "missing" / "member").save(HISTORY)
    with pytest.raises(BadFile):
        StableMemory(tmp_path).load()


def test_nothing_is_sent_that_could_not_be_remembered(tmp_path: Path) -> None:
    order = Histories(0, Membership(2))
    before = order.snapshot()
    with pytest.raises(CannotWrite):
        Remembering(order, StableMemory(tmp_path / "missing" / "member")).send(
            Message(MessageId(0, 1), 0b10)
        )
    assert order.snapshot() == before


def test_an_unchanged_history_is_not_written_again(tmp_path: Path) -> None:
    file = tmp_path / "member"
    member = Remembering(Histories(0, Membership(2)), StableMemory(file))
    member.send(Message(MessageId(0, 1), 0b01))  # to itself alone: orders nothing
    file.unlink()
    member.send(Message(MessageId(0, 2), 0b01))
    assert not file.exists()
    member.send(Message(MessageId(0, 3), 0b10))
    member.send(Message(MessageId(0, 4), 0b10))
    assert StableMemory(file).load().entries == (Cited(0, 3, 0b10, 0),)


def test_a_newcomer_takes_the_place_of_a_process_that_was_killed(tmp_path: Path) -> None:
    """1 sends n to 2 and then m to 0, which does not cite n; it dies; 3 takes over."""
    file = tmp_path / "member-1"
    links = [0b010, 0b101, 0b010]
    cut = Separator(0b010, 0b001, 0b100)
    options = HistoriesOptions(rules="R1-R9")
    order = Histories(1, Membership(3), options, Surroundings(1, links[1], (cut,)))
    member = Remembering(order, StableMemory(file))
    member.send(Message(MessageId(1, 1), 0b100))
    (m,) = member.send(Message(MessageId(1, 2), 0b001))
    assert m.packet.stamp.H == ()  # type: ignore[union-attr]
    around = Surroundings(3, 0b101, (Separator(0b1000, 0b001, 0b100),))
    newcomer = take_over(3, Membership(4), around, [StableMemory(file).load()])
    (k,) = newcomer.send(Message(MessageId(3, 1), 0b100))
    assert [cited[:2] for cited in k.packet.stamp.H] == [(1, 1)]  # type: ignore[union-attr]
