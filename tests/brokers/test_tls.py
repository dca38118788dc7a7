"""TLS and credentials are the client's: certificates made here, a real server behind them.

The Redis of the tests is built without TLS, so a proxy ends it, as they do in front of Redis.
"""

import asyncio
import json
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import nats
import pytest
import redis.asyncio
import trustme
from typer.testing import CliRunner

from antecede.brokers import causal
from antecede.cli import app
from antecede.errors import Misuse
from tests.brokers import servers
from tests.brokers.questions import ANSWERS, QUESTIONS, answer, ask, judge, plain, read

COUNT = 20
LIMIT_S = 60


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, trustme.CA]:
    """A folder with ca.pem, and a server's and a client's certificate and key."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    for name in ("server", "client"):
        issued = authority.issue_cert("127.0.0.1", "localhost")
        issued.private_key_pem.write_to_path(folder / f"{name}.key")
        issued.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    return folder, authority


def nats_over_tls(folder: Path, store: Path) -> servers.Server:
    """Client certificates are required, and a password."""
    return servers.nats(
        store,
        extra=(
            *("--tls", "--tlsverify", "--tlscacert", str(folder / "ca.pem")),
            *("--tlscert", str(folder / "server.pem"), "--tlskey", str(folder / "server.key")),
            *("--user", "alice", "--pass", "secret"),
        ),
    )


def audit(url: str, out: Path) -> dict[str, Any]:
    topics = f"{ANSWERS},{QUESTIONS}"
    options = ["--subjects", topics, "--start", "first", "--messages", str(2 * COUNT)]
    result = CliRunner().invoke(
        app, ["broker", "audit", url, *options, "--out", str(out), "--json"]
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    found: dict[str, Any] = json.loads(result.output)
    return found


def test_nats_over_tls_with_a_password_and_a_restart(
    authority: tuple[Path, trustme.CA], tmp_path: Path
) -> None:
    folder, _ = authority
    server = nats_over_tls(folder, tmp_path)
    server.start()
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    context.load_cert_chain(folder / "client.pem", folder / "client.key")

    async def quiet(_: Exception) -> None:
        return None

    async def test() -> None:
        client = await nats.connect(
            f"tls://127.0.0.1:{server.port}",
            tls=context,
            user="alice",
            password="secret",
            reconnect_time_wait=0.1,
            max_reconnect_attempts=-1,
            error_cb=quiet,
        )
        streams = client.jetstream(timeout=3)
        for name in (QUESTIONS, ANSWERS):
            await streams.add_stream(name=name, subjects=[name])
        reading = asyncio.create_task(read(streams, COUNT, group="carol"))
        answering = asyncio.create_task(answer(streams, COUNT))
        asking = asyncio.create_task(ask(streams, COUNT, pause_s=0.01))
        await asyncio.sleep(0.1)
        server.kill()
        server.start()
        await asyncio.gather(asking, answering)
        judge(plain(await reading), COUNT, twice=5)
        await client.close()

    files = f"ca={folder / 'ca.pem'}&cert={folder / 'client.pem'}&key={folder / 'client.key'}"
    try:
        asyncio.run(asyncio.wait_for(test(), LIMIT_S))
        address = f"127.0.0.1:{server.port}"
        found = audit(f"tls://alice:secret@{address}?{files}", tmp_path / "audit")
        again = found["messages"] - 2 * COUNT  # what was unconfirmed, published again
        assert (0 <= again <= 10, found["unstamped"]) == (True, 0)
        with pytest.MonkeyPatch.context() as hurry:
            hurry.setattr("antecede.brokers.connect._CONNECT_S", 1.0)
            for wrong in (f"alice:guess@{address}?{files}", f"alice:secret@{address}"):
                with pytest.raises(Misuse, match=f"tls://{address}: ") as refused:
                    audit(f"tls://{wrong}", tmp_path / "refused")
                assert "guess" not in str(refused.value)
    finally:
        server.kill()


async def proxy(certificate: ssl.SSLContext, to: int) -> asyncio.Server:
    """TLS on one side, plain TCP on the other."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", to)
        await asyncio.gather(pump(reader, back), pump(there, writer))

    return await asyncio.start_server(serve, "127.0.0.1", 0, ssl=certificate)


def test_redis_over_tls_with_a_password(authority: tuple[Path, trustme.CA], tmp_path: Path) -> None:
    folder, _ = authority
    server = servers.redis(tmp_path, extra=("--requirepass", "secret"))
    server.start()
    certificate = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.load_cert_chain(folder / "server.pem", folder / "server.key")

    async def test() -> None:
        front = await proxy(certificate, server.port)
        port = front.sockets[0].getsockname()[1]
        url = f"rediss://127.0.0.1:{port}?ssl_ca_certs={folder / 'ca.pem'}"
        client = redis.asyncio.Redis.from_url(url, password="secret")
        await asyncio.gather(ask(client, COUNT), answer(client, COUNT))
        judge(plain(await read(client, COUNT)), COUNT)
        async with causal(client.pubsub(), [QUESTIONS]) as bus:
            await bus.publish(QUESTIONS, b"over TLS")
            assert (await anext(bus)).payload == b"over TLS"
        await client.aclose()
        stranger = redis.asyncio.Redis.from_url(url)
        with pytest.raises(redis.exceptions.AuthenticationError):
            async with causal(stranger, [QUESTIONS]):
                pass
        await stranger.aclose()
        front.close()

    try:
        asyncio.run(asyncio.wait_for(test(), LIMIT_S))
    finally:
        server.kill()
