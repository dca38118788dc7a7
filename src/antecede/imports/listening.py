"""A place to send spans to: OTLP over HTTP, JSON or protocol buffers, appended to a file as JSON
lines."""

import gzip
import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from antecede.errors import Misuse
from antecede.files import complaining
from antecede.imports.otlp_wire import decode_request
from antecede.imports.reading import parse_json

LARGEST: Final = 1 << 26
"""Bytes of a request."""
TRACES: Final = "/v1/traces"


def parse_address(text: str) -> tuple[str, int]:
    """`host:port`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) >= 1 << 16:
        raise Misuse(f"--listen {text}: write it as HOST:PORT, such as 127.0.0.1:4318")
    return host or "127.0.0.1", int(port)


@contextmanager
def listening(address: tuple[str, int], out: Path) -> Iterator[ThreadingHTTPServer]:
    """Take spans and append them to this file, until the block is left."""
    with complaining(out):
        file = out.open("a", encoding="utf-8")
    with file:
        handler = type("Handler", (_Handler,), {"file": file, "lock": threading.Lock()})
        try:
            server = ThreadingHTTPServer(address, handler)
        except OSError as error:
            host, port = address
            raise Misuse(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    file: Any
    lock: Any

    def do_POST(self) -> None:
        """Spans; metrics and logs are taken and forgotten."""
        try:
            size = int(self.headers.get("Content-Length", ""))
        except ValueError:
            return self._answer(411, b"")
        if not 0 <= size <= LARGEST:
            return self._answer(413, b"")
        content = self.rfile.read(size)
        if self.path != TRACES:
            return self._answer(200, b"")
        is_json = "json" in (self.headers.get("Content-Type") or "")
        try:
            if self.headers.get("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
            request = parse_json(content) if is_json else decode_request(content)
            if not isinstance(request, dict) or "resourceSpans" not in request:
                raise ValueError("no spans")
        except (ValueError, RecursionError, OSError, EOFError, zlib.error):
            return self._answer(400, b"")
        with self.lock:
            self.file.write(json.dumps(request) + "\n")
            self.file.flush()
        return self._answer(200, b"{}" if is_json else b"")

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        kind = "application/json" if content else "application/x-protobuf"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing: whoever audits does not want an access log."""
