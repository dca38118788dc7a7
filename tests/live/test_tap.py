"""What a member delivers, in segments: each message once, whoever is killed."""

import asyncio
from pathlib import Path

import pyarrow as pa
import pytest

from antecede.errors import BadFile, Misuse
from antecede.groups import MemberId
from antecede.live import tap
from antecede.live.ordering.effects import Delivery
from antecede.live.tap import Spot, Tap
from tests.live.cluster import MAIN, cluster

BOB = MemberId(1, 1)


def delivery(number: int) -> Delivery:
    return Delivery("bob", b"%d" % number, number, member=BOB)


def rows(folder: Path, since: Spot, until: Spot) -> list[int]:
    """The payloads between two spots."""
    parts = [
        pa.Table.from_batches(tap.read_stretch(folder, *one))
        for one in tap.stretches(folder, since, until)
    ]
    return [int(row["payload"]) for part in parts for row in part.to_pylist()]


def test_killed_at_any_place(tmp_path: Path) -> None:
    """A writer that dies within a record, and is given the last ones again; a reader that takes
    what there is, and another that takes seven at a time."""
    folder = tmp_path / "tap"
    spot = first = Spot(1)
    slow = first
    read: list[int] = []
    read_slowly: list[int] = []
    for life in range(5):
        writer = Tap(folder, "g", "alice", segment_bytes=200)
        assert writer.position == 10 * life
        for number in range(max(1, 10 * life - 2), 10 * life + 11):  # the last are not marked
            if writer.append(delivery(number)) and number % 10 == 5 and writer.is_full:
                writer.roll()
        writer.close()
        last = tap.segment_file(folder, tap.segments(folder)[-1])
        last.write_bytes(last.read_bytes() + b"\0\0\0\x40half")
        now = tap.last_spot(folder, spot)
        read += rows(folder, spot, now)
        spot = now
        step = tap.last_spot(folder, slow, most=7)
        read_slowly += rows(folder, slow, step)
        slow = step
    assert read == list(range(1, 51))
    assert spot.position == 50
    assert read_slowly == list(range(1, 36))
    assert len(tap.segments(folder)) > 2
    assert rows(folder, first, spot) == read
    tap.prune(folder, slow)
    assert rows(folder, slow, spot) == list(range(36, 51))
    with pytest.raises(Misuse, match=r"messages 1 to .* were deleted before they were read"):
        tap.last_spot(folder, first)
    assert tap.first_spot(folder).position == tap.first_spot(folder).segment - 1
    with pytest.raises(Misuse, match="is the tap of 'alice' in group 'g', not of 'carol' in 'g'"):
        Tap(folder, "g", "carol")
    (folder / tap.ABOUT).write_text("?")
    with pytest.raises(BadFile, match="does not say whose tap this is"):
        tap.read_about(folder)


def test_a_durable_node_that_is_killed(tmp_path: Path) -> None:
    """In mid-stream, with kill -9: after its return the tap has all, once and in order."""
    count = 300

    async def run() -> None:
        async with cluster(tmp_path) as nodes:
            common = ("-c", MAIN, "node", "--plain-tcp", "--suspect-after", "1.5", "--durable")
            alice = await nodes.spawn("alice", *common, f"{tmp_path}/a.log", "--name", "alice")
            address = (await alice.says("listening"))["address"]
            own = (f"{tmp_path}/b.log", "--name", "bob", "--tap", f"{tmp_path}/tap")
            bob_as = (*common, *own, "--peer", address)
            bob = await nodes.spawn("bob", *bob_as)
            await alice.until(lambda said: said.get("members") == ["alice", "bob"])
            await bob.until(lambda said: said.get("members") == ["alice", "bob"])
            twin = await nodes.spawn(
                "twin",
                "-c",
                MAIN,
                "node",
                "--plain-tcp",
                "--name",
                "bob",
                "--tap",
                f"{tmp_path}/tap",
            )
            assert await twin.over() == 2  # one writer
            for number in range(1, count + 1):
                alice.tell(str(number))
            await bob.until(lambda said: said.get("text") == "20")
            bob.process.kill()
            await alice.until(lambda said: said.get("departed") == ["bob"])
            again = await nodes.spawn("bob", *bob_as)
            await again.until(lambda said: said.get("text") == str(count))

    asyncio.run(run())
    folder = tmp_path / "tap"
    until = tap.last_spot(folder, Spot(1))
    assert rows(folder, Spot(1), until) == list(range(1, count + 1))
