"""Logs with vector clocks: by their clocks alone, and by the texts of their events."""

from pathlib import Path

import pytest

from antecede.errors import BadFile, Misuse
from antecede.imports import import_shiviz, write_imported
from antecede.imports.imported import NO_ADDRESSES
from antecede.imports.shiviz import BLIND
from antecede.verify import Answer, verify_trace
from tests.trace.builders import shown

LOG = Path(__file__).parent.parent / "data" / "shiviz" / "reliable-broadcast.log"
SEND = r"Initiating RBBroadcast\(DataMessage\((?P<message>\d+)"
DELIVER = r"RBDeliver of message DataMessage\((?P<message>\d+)"


def test_the_messages_of_the_application(tmp_path: Path) -> None:
    """The orders of delivery that the log's authors tell: messages 1 and 3 are node0's, 2 is
    node3's. The node that crashed delivers nothing."""
    imported = import_shiviz(LOG, send=SEND, deliver=DELIVER, crash="^Crashing", broadcast=True)
    (run,) = write_imported(imported, tmp_path / "t.parquet")
    names = {"node0:1": "1", "node3:1": "2", "node0:2": "3"}
    orders = {
        node: [names[text.split()[2]] for text in shown(run) if text.startswith(f"{node} deliver")]
        for node in ("node0", "node1", "node2", "node3")
    }
    assert orders == {
        "node0": ["2", "1", "3"],
        "node1": [],
        "node2": ["2", "1", "3"],
        "node3": ["1", "3", "2"],
    }
    assert [(one.what, one.first, one.doubt) for one in imported.assumed] == [
        ("lines", "line 8", False)
    ]
    verdict = verify_trace(tmp_path / "t.parquet")
    assert verdict.answer is Answer.KEPT
    assert (verdict.messages, verdict.deliveries) == (3, 9)
    assert (verdict.undelivered, verdict.undelivered_at_crashed) == (3, 3)


def test_clocks_alone(tmp_path: Path) -> None:
    """Each message between two nodes shows once, and the import says what cannot show."""
    imported = import_shiviz(LOG)
    write_imported(imported, tmp_path / "t.parquet")
    assert [one.what for one in imported.assumed] == ["clocks", "lines"]
    verdict = verify_trace(tmp_path / "t.parquet")
    assert (verdict.messages, verdict.deliveries, verdict.violations) == (48, 48, 0)
    assert (verdict.answer, verdict.doubts) == (Answer.CANNOT_TELL, (BLIND,))


@pytest.mark.parametrize(
    ("events", "answer", "doubts"),
    [
        # The clock of put 2 knows of put 1, which no delivery shows; r takes 2 first.
        (['a {"a":1}', "put 1", 'b {"a":1,"b":1}', "put 2", 'r {"a":1,"b":1,"r":1}', "got 2",
          'r {"a":1,"b":1,"r":2}', "got 1"], Answer.CANNOT_TELL, ["hidden"]),
        (['a {"a":1}', "put 1", 'b {"a":1,"b":1}', "got 1 put 2", 'r {"a":1,"b":1,"r":1}', "got 2",
          'r {"a":1,"b":1,"r":2}', "got 1"], Answer.BROKEN, []),
        (['a {"a":1}', "put 1 put 2", 'b {"a":1,"b":1}', "got 1 got 2", "  at line 7"],
         Answer.KEPT, []),
        (['a {"a":1}', "put 1 put 2", 'b {"a":1,"b":1}', "got 2 got 1"], Answer.BROKEN, []),
    ],
)  # fmt: skip
def test_what_texts_say_beside_clocks(
    tmp_path: Path, events: list[str], answer: Answer, doubts: list[str]
) -> None:
    """All that is in a text counts, what was delivered before what was sent."""
    (tmp_path / "log").write_text("\n".join(events) + "\n")
    patterns = (r"put (?P<message>\d)", r"got (?P<message>\d)")
    imported = import_shiviz(tmp_path / "log", None, *patterns)
    assert [one.count for one in imported.assumed if one.what == "lines"] == [1] * (len(events) % 2)
    write_imported(imported, tmp_path / "t.parquet")
    verdict = verify_trace(tmp_path / "t.parquet")
    found = [one.what for one in verdict.doubts if one != NO_ADDRESSES]
    expected = Answer.CANNOT_TELL if answer is Answer.KEPT else answer
    assert (verdict.answer, found) == (expected, doubts)


def test_without_addresses(tmp_path: Path) -> None:
    """Who got a message was meant; that nobody else was is an assumption."""
    imported = import_shiviz(LOG, send=SEND, deliver=DELIVER)
    write_imported(imported, tmp_path / "t.parquet")
    verdict = verify_trace(tmp_path / "t.parquet")
    assert (verdict.undelivered, verdict.doubts) == (0, (NO_ADDRESSES,))
    assert verdict.answer is Answer.CANNOT_TELL


def log(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "small.log"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_who_learned_from_whom(tmp_path: Path) -> None:
    """c learns of a's event by way of b, whose message it is."""
    file = log(
        tmp_path,
        *['a {"a":1}', "sends"],
        *['b {"a":1, "b":1}', "gets it, and sends"],
        *['c {"a":1, "b":1, "c":1}', "gets that"],
    )
    (run,) = import_shiviz(file).runs()
    assert sorted(shown(run)) == ["a send a:1", "b deliver a:1", "b send b:1", "c deliver b:1"]


def test_one_event_that_two_processes_learn_of(tmp_path: Path) -> None:
    file = log(tmp_path, 'a {"a":1}', "x", 'b {"a":1,"b":1}', "y", 'c {"a":1,"c":1}', "z")
    (run,) = import_shiviz(file).runs()
    assert run.events.destination.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("lines", "mistake"),
    [
        (["nothing here"], "there is no event with a vector clock; --pattern says how"),
        (['a {"a":one}', "x"], r'line 1: the clock {"a":one} is no JSON object of counts'),
        (['a {"a":Infinity}', "x"], "line 1: the clock {.*} is no JSON object of counts"),
        *(
            ([f'a {{"a":{count}}}', "x"], "line 1: the clock {.*} is no JSON object of counts")
            for count in ("1.5", "true", '1,"a":1')
        ),
        (['a {"b":1}', "x"], "line 1: the clock has no entry for its host 'a'"),
        (['a {"a":1}', "x", 'a {"a":3}', "y"], "line 3: the own entry of 'a' is 3, expected 2"),
        (['a {"a":1, "b":4}', "x"], "line 1: the log has no event 4 of 'b'"),
    ],
)
def test_mistakes(tmp_path: Path, lines: list[str], mistake: str) -> None:
    with pytest.raises(BadFile, match=mistake) as caught:
        import_shiviz(log(tmp_path, *lines))
    assert caught.value.file == str(tmp_path / "small.log")


def test_mistakes_of_texts(tmp_path: Path) -> None:
    file = log(tmp_path, 'a {"a":1}', "put 1", 'a {"a":2}', "put 1", 'b {"b":1}', "got 2")
    with pytest.raises(BadFile, match="line 3: message '1' is sent again"):
        import_shiviz(file, send="put (?P<message>.)", deliver="got (?P<message>.)")
    with pytest.raises(BadFile, match="line 5: nobody sends the message '2'"):
        import_shiviz(file, send="pot (?P<message>.)", deliver="got (?P<message>.)")


def test_misuse(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="a pattern for sends needs one for deliveries"):
        import_shiviz(LOG, send=SEND)
    with pytest.raises(Misuse, match=r"has no group \(\?P<message>...\)"):
        import_shiviz(LOG, send="put", deliver="got")
    with pytest.raises(Misuse, match="is no regular expression"):
        import_shiviz(LOG, pattern="(")
    with pytest.raises(BadFile, match="cannot be read"):
        import_shiviz(tmp_path / "absent.log")
