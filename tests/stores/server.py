"""A server on loopback that speaks the protocol of S3, as a process of its own."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BUCKET = "antecede"


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of an empty bucket. The environment says where it is."""
    log = folder / "server.log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with log.open("wb") as told, subprocess.Popen(command, stdout=told, stderr=told) as server:
        try:
            address = _address(log, server)
            made = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")
            urllib.request.urlopen(made).close()
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("AWS_ENDPOINT_URL", address)
                patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
                patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
                patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
                patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
                yield f"s3://{BUCKET}"
        finally:
            server.terminate()


def _address(log: Path, server: "subprocess.Popen[bytes]") -> str:
    """Where it listens, once it does."""
    while not (found := re.search(r"Running on (http://127\.0\.0\.1:\d+)", log.read_text())):
        if server.poll() is not None:
            raise AssertionError(log.read_text())
        time.sleep(0.02)
    return found[1]


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("store")) as address:
        yield address


def names_in(folder: os.PathLike[str]) -> set[str]:
    """All files under a folder of a store, by their names from there on."""
    from antecede.stores import StoredPath  # noqa: PLC0415

    assert isinstance(folder, StoredPath)
    found = folder.listed(recursive=True)
    return {"/".join(file.relative_to(folder).parts) for file, size in found.items() if size >= 0}
