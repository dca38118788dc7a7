"""Who is let in, who is not, and what those who are not may learn."""

import asyncio
import dataclasses
from pathlib import Path

import pytest
import trustme

from antecede.errors import BadFile
from antecede.live.transport import incoming
from antecede.live.transport.frames import Kind, encode_frame
from antecede.live.transport.handshake import VERSION, Hello, Refusal, Refused, Welcome, encode
from antecede.live.transport.tls import Certificates
from tests.live.served import ENOUGH_S, Notebook, certificates, connected, hello, linked, listening


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def refusal(greeting: Hello, group: Notebook | None = None) -> str:
    """What the listening end answers to a hello that it does not like."""

    async def run() -> str:
        async with listening(group or Notebook()) as (listener, address):
            async with connected(address) as raw:
                answer = await raw.greet(greeting)
                assert isinstance(answer, Refusal)
                assert await raw.is_closed()
            assert listener.counters.refused == 1
            assert not listener.connections
            return answer.reason

    return asyncio.run(run())


def test_reasons() -> None:
    assert "version" in refusal(hello(version=VERSION + 1))
    assert refusal(hello(group="hall")) == "there is no group 'hall' here"
    assert "runs vector, not none" in refusal(hello(protocol="none"))
    assert "this is 'server', not 'other'" in refusal(hello(receiver="other"))
    assert "the name 'server' is taken" in refusal(hello("server"))


def test_a_former_life_is_refused() -> None:
    async def run() -> None:
        async with listening(Notebook()) as (_, address):
            async with connected(address) as raw:
                assert isinstance(await raw.greet(hello(incarnation=5)), Welcome)
            async with connected(address) as raw:
                answer = await raw.greet(hello(incarnation=4))
                assert isinstance(answer, Refusal)
                assert "started anew" in answer.reason

    asyncio.run(run())


def test_who_may_not_join_learns_only_that() -> None:
    group = Notebook()
    group.may_join = lambda name: False
    # Neither version nor protocol is told to those who may not join.
    assert refusal(hello(version=VERSION + 1, protocol="none"), group) == "refused"


def test_later_versions_may_say_more() -> None:
    body = encode((VERSION + 1, "room", "vector", "client", 1, None, 1, "more", {"to": "come"}))

    async def run() -> None:
        async with listening(Notebook()) as (_, address), connected(address) as raw:
            raw.write(encode_frame(Kind.HELLO, body))
            answer = await raw.frame()
            assert answer is not None
            assert answer[0] == Kind.REFUSAL

    asyncio.run(run())


def test_names_are_bound_to_certificates(tmp_path: Path, authority: trustme.CA) -> None:
    server = certificates(tmp_path, authority, "server")
    mallory = certificates(tmp_path, authority, "mallory")

    async def run() -> None:
        async with listening(Notebook(), security=server) as (_, address):
            async with connected(address, mallory) as raw:
                assert await raw.greet(hello("alice")) == Refusal("refused")
            async with connected(address, mallory) as raw:
                assert isinstance(await raw.greet(hello("mallory")), Welcome)

    asyncio.run(run())


def test_a_server_under_a_false_name_gets_nothing(tmp_path: Path, authority: trustme.CA) -> None:
    """Its certificate is for mallory, whatever it calls itself."""
    mallory = certificates(tmp_path, authority, "mallory")
    alice = certificates(tmp_path, authority, "alice")
    group = Notebook("server")

    async def run() -> None:
        async with (
            listening(group, security=mallory) as (listener, address),
            linked(address, greeting=lambda: hello("alice"), security=alice) as (link, _),
        ):
            link.put(encode(b"secret"))
            while listener.counters.accepted < 2:  # It is dialled again, in vain.
                await asyncio.sleep(0.01)
            assert not link.connected

    asyncio.run(asyncio.wait_for(run(), ENOUGH_S))
    assert not group.items


def test_strangers_do_not_get_through_tls(tmp_path: Path, authority: trustme.CA) -> None:
    server = certificates(tmp_path / "ours", authority, "server")
    stranger = certificates(tmp_path / "theirs", trustme.CA(), "client")
    # It believes the server, but the server does not believe it.
    stranger = Certificates(server.authority, stranger.certificate, stranger.key)

    async def run() -> str:
        async with (
            listening(Notebook(), security=server) as (listener, address),
            linked(address, security=stranger) as (_, task),
        ):
            with pytest.raises(Refused) as refused:
                await asyncio.wait_for(task, ENOUGH_S)
            assert listener.counters.accepted == 0
            return str(refused.value)

    assert "room" not in asyncio.run(run())


def test_a_server_that_is_not_believed_is_refused(tmp_path: Path, authority: trustme.CA) -> None:
    server = certificates(tmp_path / "theirs", trustme.CA(), "server")
    client = certificates(tmp_path / "ours", authority, "client")

    async def run() -> None:
        async with (
            listening(Notebook(), security=server) as (_, address),
            linked(address, security=client) as (_, task),
        ):
            with pytest.raises(Refused, match="certificate verify failed"):
                await asyncio.wait_for(task, ENOUGH_S)

    asyncio.run(run())


def test_bad_files_are_named(tmp_path: Path, authority: trustme.CA) -> None:
    good = certificates(tmp_path, authority, "server")
    other = certificates(tmp_path / "other", authority, "other")
    with pytest.raises(BadFile, match="no such file"):
        Certificates(good.authority, tmp_path / "none.pem", good.key).server()
    with pytest.raises(BadFile, match=r"(?s)server\.pem.*do not go together"):
        Certificates(good.authority, good.certificate, other.key).server()
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nonsense")
    for bad in (
        Certificates(nonsense, good.certificate, good.key),
        Certificates(good.authority, nonsense, good.key),
        Certificates(good.authority, good.certificate, nonsense),
    ):
        with pytest.raises(BadFile, match="nonsense"):
            bad.client()


def test_a_key_under_a_password_does_not_ask(tmp_path: Path, authority: trustme.CA) -> None:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    good = certificates(tmp_path, authority, "server")
    key = serialization.load_pem_private_key(Path(good.key).read_bytes(), None)
    locked = tmp_path / "locked.key"
    locked.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(BadFile, match="locked"):
        Certificates(good.authority, good.certificate, locked).server()


def test_revoked_certificates_are_cut_off(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is read again: who is on it is let in no more, and a link that stands is ended."""
    monkeypatch.setattr(incoming, "_CERTIFICATES_S", 0.05)
    revoked = tmp_path / "revoked"
    revoked.write_text("# nobody yet\n")
    server = dataclasses.replace(certificates(tmp_path, authority, "server"), revoked=revoked)
    mallory = certificates(tmp_path, authority, "mallory")

    async def run() -> None:
        async with listening(Notebook(), security=server) as (listener, address):
            async with connected(address, mallory) as raw:
                assert isinstance(await raw.greet(hello("mallory")), Welcome)
                (connection,) = listener.connections.values()
                assert connection.certificate is not None
                revoked.write_text(f"serial={connection.certificate['serialNumber']}\n")
                assert await raw.is_closed()
            async with connected(address, mallory) as raw:
                assert await raw.greet(hello("mallory")) == Refusal("refused")

    asyncio.run(run())
    revoked.write_text("no serial\n")
    with pytest.raises(BadFile, match="line 1"):
        server.why_not({"notAfter": "Jan  1 00:00:00 2999 GMT", "serialNumber": "01"})
    revoked.unlink()
    with pytest.raises(BadFile, match="cannot be read"):
        server.why_not({"notAfter": "Jan  1 00:00:00 2999 GMT", "serialNumber": "01"})
    assert "expired" in server.why_not({"notAfter": "Jan  1 00:00:00 1999 GMT"})


def test_a_handshake_that_takes_too_long_is_ended(
    tmp_path: Path, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time runs from accept, before any TLS."""
    monkeypatch.setattr(incoming, "_HELLO_S", 0.2)
    server = certificates(tmp_path, authority, "server")

    async def run() -> None:
        async with listening(Notebook(), security=server) as (_, there), connected(there) as raw:
            raw.write(b"\x16")
            assert await raw.is_closed()

    asyncio.run(run())
