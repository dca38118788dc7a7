"""Real servers on loopback: nats-server and redis-server, from the packages of requirements/dev.in.

A test asks for `redis_server` or `nats_server` and gets a `Server` that it may kill and start again
on the same port and folder. Where there is no such program these tests are skipped, unless
`ANTECEDE_NEEDS_BROKERS` is set.
"""

import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


def find_program(name: str) -> str | None:
    """In this environment, else on the PATH."""
    scripts = sysconfig.get_path("scripts")
    return shutil.which(name, path=scripts) or shutil.which(name)


def require_program(name: str) -> str:
    found = find_program(name)
    if found is None:
        missing = f"there is no {name}; `make setup` installs one"
        if os.environ.get("ANTECEDE_NEEDS_BROKERS"):
            pytest.fail(f"{missing}, and ANTECEDE_NEEDS_BROKERS is set")
        pytest.skip(missing)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A server process that can be killed and started again."""

    def __init__(self, command: list[str], port: int, folder: Path) -> None:
        self.port = port
        self._command = command
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, stdout=output, stderr=output
            )
        self.await_port()

    def await_port(self, seconds: float = 30.0) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError((self._folder / "output").read_text("utf-8", "replace"))

    def kill(self) -> None:
        """As a power cut would end it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(30)
            self._process = None


def redis(folder: Path, sync: str = "always", extra: tuple[str, ...] = ()) -> Server:
    port = free_port()
    command = [
        *(require_program("redis-server"), "--port", str(port), "--bind", "127.0.0.1"),
        *("--appendonly", "yes", "--appendfsync", sync, "--save", "", "--dir", str(folder)),
        *extra,
    ]
    return Server(command, port, folder)


def nats(folder: Path, port: int | None = None, extra: tuple[str, ...] = ()) -> Server:
    port = port or free_port()
    command = [
        *(require_program("nats-server"), "--addr", "127.0.0.1", "--port", str(port)),
        *("--jetstream", "--store_dir", str(folder), *extra),
    ]
    return Server(command, port, folder)


def nats_cluster(folder: Path, size: int = 3) -> list[Server]:
    """Servers that form one cluster."""
    routes = [free_port() for _ in range(size)]
    peers = ",".join(f"nats://127.0.0.1:{route}" for route in routes)
    servers = []
    for number, route in enumerate(routes):
        place = folder / f"n{number}"
        place.mkdir()
        extra = ["--name", f"n{number}", "--cluster_name", "three", "--routes", peers]
        extra += ["--cluster", f"nats://127.0.0.1:{route}"]
        servers.append(nats(place, extra=tuple(extra)))
    return servers


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = redis(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = nats(tmp_path_factory.mktemp("nats"))
    server.start()
    yield server
    server.kill()
