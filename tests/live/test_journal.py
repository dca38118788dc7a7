"""The log of a durable member as a file: what it gives back, what it refuses, what it forgets."""

import sqlite3
from pathlib import Path

import pytest

from antecede.errors import BadFile, CannotWrite, Misuse
from antecede.groups import MemberId
from antecede.live import Delivery
from antecede.live.durable.journal import Durability, Journal, Synchronous
from antecede.live.durable.remembered import Outgone
from antecede.live.events import Excluded
from antecede.live.ordering.offers import HadOf, Mark
from antecede.live.outputs import Begun, Kept, Learnt, Raised, Reached


def opened(
    path: Path,
    group: str = "g",
    name: str = "a",
    protocol: str = "vector",
    durability: Durability | None = None,
) -> Journal:
    return Journal(path, group, name, protocol, durability or Durability())


def kept(position: int, sender: str = "b", *, number: int | None = None, series: int = 7) -> Kept:
    number = position if number is None else number
    member = MemberId(1, 7)
    return Kept(position, Delivery(sender, b"%d" % position, number, member=member), series, True)


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    journal = opened(tmp_path / "sub" / "log")
    series = journal.remembered.series
    sent = [Outgone(n, ("b",) if n == 2 else None, None, b"%d" % n) for n in (1, 2, 3)]
    journal.write([Begun(), *sent, kept(1), kept(2), kept(3)], None)
    journal.write([Reached(1), Learnt((Mark("c", 9, 4),), (Mark("c", 9, 4),))], 2)
    journal.close()
    again = opened(tmp_path / "sub" / "log", durability=Durability(Synchronous.FULL))
    memory = again.remembered
    assert (memory.series, memory.begins, memory.reached) == (series, False, 1)
    assert list(memory.outbox) == sent[1:]
    assert memory.last == {("b", 7): 3, ("c", 9): 4, ("a", series): 0}
    assert memory.lacks["c", 9] == 4
    assert [(at, one.payload, one.number) for at, one in again.untaken()] == [(3, b"3", 3)]
    again.close()


def test_what_was_had_of_durable_members_is_there_again(tmp_path: Path) -> None:
    journal = opened(tmp_path / "log")
    known = HadOf("c", 99, 2, (4, 6))
    mine = [kept(1, "d", number=5, series=88), kept(2, "d", number=6, series=88)]
    journal.write([Begun(), Learnt(had=(known,)), *mine, Raised("d", 88, 5)], None)
    series = journal.remembered.series
    journal.close()
    again = opened(tmp_path / "log")
    assert set(again.remembered.had) == {
        known, HadOf("d", 88, 5, (6,)), HadOf("a", series, 0, ())
    }  # fmt: skip
    again.close()


def test_who_had_not_taken_its_state_begins_anew(tmp_path: Path) -> None:
    journal = opened(tmp_path / "log")
    journal.write([Outgone(1, None, None, b"x"), kept(1)], None)
    journal.close()
    again = opened(tmp_path / "log")
    assert again.remembered.begins
    assert not again.untaken()
    assert not again.remembered.last
    assert [one.number for one in again.remembered.outbox] == [1]
    again.close()


def test_the_past_in_parts_beyond_marks(tmp_path: Path) -> None:
    journal = opened(tmp_path / "log")
    journal.write([kept(at) for at in range(1, 21)], None)
    rows, after, more = journal.past([Mark("b", 7, 5)], 0, 18, 600)
    assert [row.number for row in rows] == list(range(6, 6 + len(rows)))
    assert 2 < len(rows) < 13
    assert more
    rest, after, more = journal.past([Mark("b", 7, 5)], after, 18, 10_000)
    assert [row.number for row in (*rows, *rest)] == list(range(6, 19))
    assert (after, more) == (18, False)
    journal.close()


def test_old_messages_are_forgotten_and_said_to_be(tmp_path: Path) -> None:
    journal = opened(tmp_path / "log", durability=Durability(kept_messages=10))
    durable = [kept(at, "d", number=at, series=88) for at in range(1, 6)]
    journal.write([Begun(), Raised("d", 88, 3), *durable], None)
    journal.write([kept(at) for at in range(6, 1206)], 1100)
    assert journal.remembered.lacks == {("b", 7): 1100, ("d", 88): 3}
    rows, _, _ = journal.past((), 0, 1205, 10**6)
    # Nothing that is not taken, nothing that may be sent again.
    assert [row.number for row in rows] == [4, 5, *range(1101, 1206)]
    missing = journal.remembered.lacking([Mark("b", 7, 1099), Mark("d", 88, 3)])
    assert missing == (Mark("b", 7, 1100),)
    journal.close()
    again = opened(tmp_path / "log")
    assert again.remembered.lacks["b", 7] == 1100
    again.close()


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("group", "group 'g', not 'x'"),
        ("name", "name 'a', not 'x'"),
        ("protocol", "protocol 'vector', not 'x'"),
    ],
)
def test_a_log_of_somebody_else_is_refused(tmp_path: Path, field: str, message: str) -> None:
    opened(tmp_path / "log").close()
    before = (tmp_path / "log").read_bytes()
    with pytest.raises(BadFile, match=message):
        opened(tmp_path / "log", **{field: "x"})  # type: ignore[arg-type]
    assert (tmp_path / "log").read_bytes() == before


def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes"
    text.write_text("no database, but a long enough text " * 40)
    with pytest.raises(BadFile, match="no log of a member"):
        opened(text)
    assert "no database" in text.read_text()
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    with pytest.raises(BadFile, match="is no log of a member; name another file"):
        opened(other)


def test_a_log_of_another_format_is_refused(tmp_path: Path) -> None:
    opened(tmp_path / "log").close()
    database = sqlite3.connect(tmp_path / "log")
    database.execute("PRAGMA user_version = 9")
    database.close()
    with pytest.raises(BadFile, match="format 9, this is 4"):
        opened(tmp_path / "log")


@pytest.mark.parametrize("harm", ["cut", "overwrite"])
def test_a_damaged_log_is_refused(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "log"
    journal = opened(path)
    journal.write([Begun(), *(kept(at) for at in range(1, 2000))], None)
    journal.close()
    content = path.read_bytes()
    if harm == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        middle = len(content) // 2
        path.write_bytes(content[:middle] + b"\xa5" * 5000 + content[middle + 5000 :])
    with pytest.raises(BadFile, match=r"damaged: .*restore it from a copy if .*, or remove it"):
        opened(path)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    journal = opened(tmp_path / "log")
    with pytest.raises(Misuse, match="in use"):
        opened(tmp_path / "log")
    journal.close()
    opened(tmp_path / "log").close()


def test_a_full_disk_fails_and_leaves_no_half(tmp_path: Path) -> None:
    journal = opened(tmp_path / "log")
    journal.write([Begun(), kept(1)], None)
    pages = journal._database.execute("PRAGMA page_count").fetchone()[0]
    journal._database.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(CannotWrite, match="full"):
        journal.write([kept(at) for at in range(2, 5000)], 1)
    journal.close()
    again = opened(tmp_path / "log")
    assert [position for position, _ in again.untaken()] == [1]
    again.close()


def test_a_clock_that_was_set_back(tmp_path: Path) -> None:
    numbers = []
    for now_ms in (1000, 2000, 500):
        journal = opened(tmp_path / "log")
        numbers.append(journal.begin_life(now_ms))
        if now_ms == 2000:
            journal.write([Excluded(2001)], None)
        journal.close()
    assert numbers == [1000, 2000, 2002]


def test_files_beside_the_log_that_cannot_be_opened(tmp_path: Path) -> None:
    opened(tmp_path / "log").close()
    (tmp_path / "log-wal").mkdir()
    with pytest.raises(CannotWrite, match="make files beside it"):
        opened(tmp_path / "log")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite):
        opened(tmp_path / "file" / "log")
    with pytest.raises(CannotWrite):
        opened(tmp_path)
    with pytest.raises(Misuse, match="0 messages or more"):
        Durability(kept_messages=-1)


def test_an_empty_log_is_refused(tmp_path: Path) -> None:
    """None is ever made so: whoever emptied it has lost messages."""
    (tmp_path / "log").touch()
    with pytest.raises(BadFile, match="is empty"):
        opened(tmp_path / "log")


def test_the_end_of_a_log_that_was_removed_is_refused(tmp_path: Path) -> None:
    """It would become a part of the new one."""
    journal = opened(tmp_path / "log")
    journal.write([Begun(), kept(1)], None)
    (tmp_path / "copy-wal").write_bytes((tmp_path / "log-wal").read_bytes())
    journal.close()
    with pytest.raises(BadFile, match=r"is not there, though its end is, copy-wal;.*remove"):
        opened(tmp_path / "copy")


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("inbox", "payload = x'ff'"), ("outbox", "payload = x'ff'"), ("marks", "last = last + 1"),
        ("had", "number = number + 1"), ("meta", "value = 7 WHERE key = 'taken'"),
    ],
)  # fmt: skip
def test_a_changed_row_is_noticed(tmp_path: Path, table: str, change: str) -> None:
    journal = opened(tmp_path / "log")
    had = HadOf("b", 7, 1, (3,))
    learnt = Learnt(lasts=(Mark("b", 7, 4),), lacks=(), had=(had,))
    journal.write([Begun(), Outgone(1, None, None, b"true"), kept(1), learnt], 1)
    journal.close()
    opened(tmp_path / "log").close()
    database = sqlite3.connect(tmp_path / "log")
    assert database.execute(f"UPDATE {table} SET {change}").rowcount
    database.commit()
    database.close()
    with pytest.raises(BadFile, match=f"in {table} was changed"):
        opened(tmp_path / "log")


@pytest.mark.parametrize("end", [False, True])
def test_a_damaged_write_ahead_file_is_noticed(tmp_path: Path, end: bool) -> None:
    """Not so its end, which a power cut may leave half written."""
    journal = opened(tmp_path / "log")
    journal.write([Begun()], None)
    for number in range(1, 6):
        journal.write([kept(number)], None)
    for name in ("log", "log-wal"):  # As a process that is killed leaves them.
        (tmp_path / f"copy{name}").write_bytes((tmp_path / name).read_bytes())
    journal.close()
    wal = tmp_path / "copylog-wal"
    whole = bytearray(wal.read_bytes())
    whole[-100 if end else len(whole) // 2] ^= 1
    wal.write_bytes(whole)
    if end:
        journal = opened(tmp_path / "copylog")
        assert journal.remembered.position == 4
        journal.close()
    else:
        with pytest.raises(BadFile, match="is damaged, and"):
            opened(tmp_path / "copylog")
