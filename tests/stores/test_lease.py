"""One writer at a time, without locks."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from antecede import lease
from antecede.errors import CannotWrite, Misuse
from antecede.files import locked, path_of
from antecede.stores import StoredPath
from tests.stores.server import names_in

CLAIM = "elsewhere 7 1 x"


def folder_of(store: str, name: str) -> StoredPath:
    found = path_of(f"{store}/{name}")
    assert isinstance(found, StoredPath)
    return found


def test_the_second_is_refused(store: str) -> None:
    folder = folder_of(store, "second")
    with (
        locked(folder) as check,
        pytest.raises(Misuse, match=r"another process is working in s3://.*ends in 90 s"),
        locked(folder),
    ):
        pytest.fail("both are in")
    check()
    with locked(folder):
        assert len(names_in(folder)) == 2
    assert names_in(folder) == {".lock/about"}


def test_of_two_at_once_one_is_refused(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one comes when the first has put its claim and not looked yet."""
    folder = folder_of(store, "at-once")
    look: Callable[[StoredPath, StoredPath], float | None] = lease._others_left_s

    def look_late(claims: StoredPath, mine: StoredPath) -> float | None:
        monkeypatch.setattr(lease, "_others_left_s", look)
        with pytest.raises(Misuse, match="another process"), locked(folder):
            pytest.fail("the second is in, and the first will be")
        return look(claims, mine)

    monkeypatch.setattr(lease, "_others_left_s", look_late)
    with locked(folder):
        pass


def test_a_dead_process_of_this_machine_holds_nothing(store: str) -> None:
    folder = folder_of(store, "dead")
    code = (
        "import os; from antecede.files import locked, path_of\n"
        f"with locked(path_of('{folder}')): os._exit(7)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7
    assert len(names_in(folder)) == 2
    with locked(folder):
        assert len(names_in(folder)) == 2


def test_a_claim_of_another_machine_ends(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(store, "ends")
    (folder / ".lock" / CLAIM).write_bytes(b"")
    with pytest.raises(Misuse, match="another process"), locked(folder):
        pytest.fail("it counts")
    monkeypatch.setattr(lease, "LEASE_S", -1.0)
    with locked(folder):
        assert f".lock/{CLAIM}" not in names_in(folder)


def test_who_lost_its_claim_is_told(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(store, "lost")
    monkeypatch.setattr(lease, "RENEW_S", 0.01)
    with locked(folder) as check:
        (mine,) = (claim for claim in (folder / ".lock").listed() if claim.name != "about")
        before = mine.stat().st_mtime
        while mine.stat().st_mtime == before:  # it is renewed
            check()

        def delete() -> None:
            while True:  # a renewal that has begun may put it back
                mine.unlink(missing_ok=True)
                check()

        with pytest.raises(CannotWrite, match="another process may be there"):
            delete()
    monkeypatch.setattr(lease, "LEASE_S", 0.0)  # as after a long sleep
    monkeypatch.setattr(lease, "RENEW_S", 60.0)
    with locked(folder) as check, pytest.raises(CannotWrite, match="claim was lost"):
        check()
