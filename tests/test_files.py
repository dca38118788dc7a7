"""Files are written whole or not at all."""

import os
from pathlib import Path

import pytest

from antecede.errors import CannotWrite, Misuse
from antecede.files import aside, locked, refuse_existing, write_whole


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("durable", [False, True])
def test_all_of_it(tmp_path: Path, durable: bool) -> None:
    write_whole(tmp_path / "a", "first", durable=durable)
    write_whole(tmp_path / "a", b"second", durable=durable)
    assert (names(tmp_path), (tmp_path / "a").read_text()) == (["a"], "second")


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt()])
def test_nothing_of_it(tmp_path: Path, error: BaseException) -> None:
    (tmp_path / "a").write_text("old")

    def write_half() -> None:
        with aside(tmp_path / "a") as partial:
            partial.write_text("half")
            assert names(tmp_path) == [f".a.partial-{os.getpid()}", "a"]
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert (names(tmp_path), (tmp_path / "a").read_text()) == (["a"], "old")


def test_nothing_written_nothing_named(tmp_path: Path) -> None:
    with aside(tmp_path / "a"):
        pass
    assert names(tmp_path) == []


def test_what_the_disk_refuses_is_named(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "a"
    with pytest.raises(CannotWrite, match=r"cannot write .*missing/a: No such file or directory"):
        write_whole(target, "text")
    full = tmp_path / f".b.partial-{os.getpid()}"
    full.symlink_to("/dev/full")
    with pytest.raises(CannotWrite, match=r"cannot write .*b: No space left on device"):
        write_whole(tmp_path / "b", "text")
    assert names(tmp_path) == []


def test_refused(tmp_path: Path) -> None:
    file = tmp_path / "a"
    refuse_existing(file, force=False)
    file.write_text("old")
    refuse_existing(file, force=True)
    with pytest.raises(Misuse, match="exists already; use --force to replace it"):
        refuse_existing(file, force=False)
    with pytest.raises(Misuse, match="is the trace itself"):
        refuse_existing(file, True, file)
    with pytest.raises(Misuse, match="is a folder; name a file"):
        refuse_existing(tmp_path, force=True)


def test_one_at_a_time(tmp_path: Path) -> None:
    refused = pytest.raises(Misuse, match="another process is working in")
    with locked(tmp_path), refused, locked(tmp_path):
        pass
    with locked(tmp_path):
        pass
