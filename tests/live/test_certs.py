"""`antecede certs` makes what members prove their names with, and spoils nothing that is there."""

import asyncio
import stat
from pathlib import Path

import pytest

from antecede.errors import BadFile
from antecede.live import Certificates, Delivery, join
from tests.cli.conftest import Antecede, antecede
from tests.live.gathering import ENOUGH_S, HERE, until

__all__ = ["antecede"]  # a fixture


def of(folder: Path, name: str) -> Certificates:
    return Certificates(folder / "authority.pem", folder / f"{name}.pem", folder / f"{name}.key")


def test_members_with_them_meet_and_keys_are_private(antecede: Antecede, tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    assert antecede("certs", "alice", "--out", folder).status == 0
    later = antecede("certs", "bob", "--out", folder)  # By the same authority.
    assert "authority.key" not in later.out
    for key in folder.glob("*.key"):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600

    async def run() -> None:
        async with (
            join("room", name="alice", listen=HERE, security=of(folder, "alice")) as alice,
            join(
                "room",
                name="bob",
                listen=HERE,
                security=of(folder, "bob"),
                peers=[alice.address],
            ) as bob,
        ):
            await bob.send(b"hello")
            await until(alice, lambda event: isinstance(event, Delivery) and event.sender == "bob")

    asyncio.run(asyncio.wait_for(run(), ENOUGH_S))
    with pytest.raises(BadFile, match="is for bob, not for 'alice'"):
        of(folder, "bob").check("alice")


def test_nothing_is_overwritten_and_mistakes_are_named(antecede: Antecede, tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    assert antecede("certs", "alice", "--out", folder).status == 0
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    for arguments, message in (
        (["bob", "alice"], "alice.pem, "),
        (["../bob"], "cannot be a member's name"),
        (["authority"], "cannot be a member's name"),
        (["bob", "Bob"], "twice"),
        (["bob", "--days", "0"], "1 to 10000 days"),
        (["bob", "--days", "5000"], "fewer days"),
        (["bob", "--out", folder / "alice.pem"], "cannot write"),
    ):
        outcome = antecede("certs", "--out", folder, *arguments)
        assert (outcome.status, message in outcome.err) == (2, True), outcome.err
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    (folder / "authority.key").write_bytes(before["alice.key"])
    assert "is not the key of" in antecede("certs", "bob", "--out", folder).err
    (folder / "authority.key").write_text("nonsense")
    assert "cannot be read" in antecede("certs", "bob", "--out", folder).err
    (folder / "authority.key").unlink()
    assert "is missing" in antecede("certs", "bob", "--out", folder).err
    assert not (folder / "bob.pem").exists()
