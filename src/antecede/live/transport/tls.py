"""Who is who: mutual TLS, where the name of a member is the name in its certificate."""

import os
import ssl
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from antecede.errors import BadFile


@dataclass(frozen=True)
class Certificates:
    """The files that prove who a member is and whom it believes."""

    authority: str | os.PathLike[str]
    """Certificates of the authorities that are believed."""
    certificate: str | os.PathLike[str]
    """This member's certificate, whose subject alternative name (DNS) is the member's name."""
    key: str | os.PathLike[str]
    revoked: str | os.PathLike[str] | None = None
    """Serial numbers of certificates that are not believed any more, one a line, as `openssl x509
    -serial` prints them. The file is read again when it changes; links that stand are cut off."""

    def why_not(self, certificate: dict[str, Any] | None) -> str:
        """Why a certificate that an authority has signed is not believed; empty if it is."""
        if not certificate:
            return "there is no certificate"
        if time.time() >= _seconds(certificate["notAfter"]):
            return f"the certificate has expired on {certificate['notAfter']}"
        serial = _serial(certificate["serialNumber"])
        if self.revoked is not None and serial in _revoked(self.revoked):
            return f"the certificate {serial} has been revoked"
        return ""

    def check(self, name: str) -> None:
        """Refuse what others would refuse: a certificate for another name, or of an authority that
        is not believed. It shakes hands with itself, in memory."""
        server, client = self.server(), self.client()
        to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = (
            server.wrap_bio(to_server, to_client, server_side=True),
            client.wrap_bio(to_client, to_server),
        )
        for _ in range(_ROUNDS):
            for end in ends:
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    continue
                except ssl.SSLCertVerificationError as error:
                    reason = f"is not believed by {self.authority}: {error.verify_message}"
                    raise BadFile(str(self.certificate), [reason]) from None
        names = certified_names(ends[1].getpeercert())
        reason = self.why_not(ends[1].getpeercert())
        if reason:
            raise BadFile(str(self.certificate), [f"is not believed: {reason}; take another one"])
        if name not in names:
            known = ", ".join(sorted(names)) or "no name at all"
            reason = f"is for {known}, not for '{name}'; name it so, or take the one for '{name}'"
            raise BadFile(str(self.certificate), [reason])

    def server(self) -> ssl.SSLContext:
        return self._context(ssl.PROTOCOL_TLS_SERVER)

    def client(self) -> ssl.SSLContext:
        return self._context(ssl.PROTOCOL_TLS_CLIENT)

    def _context(self, protocol: "ssl._SSLMethod") -> ssl.SSLContext:
        """Of the files as they are now: to load them takes half as long as a handshake."""
        files = []
        for file, fix in (
            (self.authority, "name the PEM file of the authority"),
            (self.certificate, "name the PEM file of this member's certificate"),
            (self.key, "name the PEM file of its key"),
        ):
            path = Path(file)
            if not path.is_file():
                raise BadFile(str(file), [f"there is no such file; {fix}"])
            files.append((str(path), path.stat().st_mtime_ns))
        return _loaded(protocol, *files)


_File = tuple[str, int]
"""Its path, and when it was changed last."""


@lru_cache(maxsize=256)
def _loaded(
    protocol: "ssl._SSLMethod", authority: _File, certificate: _File, key: _File
) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # The name is compared by us: an address found by dialling has no name to expect yet.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    if protocol is ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0  # Nobody takes up a session again.
    try:
        context.load_verify_locations(authority[0])
        # A key under a password would ask for it on the terminal.
        context.load_cert_chain(certificate[0], key[0], password="")
    except ssl.SSLError as error:
        names = f"{authority[0]}, {certificate[0]} and {key[0]}"
        raise BadFile(names, [f"do not go together: {error.reason or error}"]) from None
    return context


_seconds = lru_cache(maxsize=1024)(ssl.cert_time_to_seconds)


def _serial(text: str) -> str:
    """A serial number in one way of many."""
    return text.strip().lower().removeprefix("serial=").replace(":", "").lstrip("0")


def _revoked(file: str | os.PathLike[str]) -> frozenset[str]:
    path = Path(file)
    try:
        return _read_revoked(str(path), path.stat().st_mtime_ns)
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(str(path), [f"cannot be read: {error}; name the list of revoked"]) from None


@lru_cache(maxsize=16)
def _read_revoked(file: str, changed_ns: int) -> frozenset[str]:
    """The list as of its last change."""
    found, mistakes = set(), []
    for number, line in enumerate(Path(file).read_text("utf-8").splitlines(), start=1):
        serial = _serial(line.partition("#")[0])
        if serial and not set(serial) <= set("0123456789abcdef"):
            mistakes.append(f"line {number}: '{line}' is no serial number (hexadecimal digits)")
        elif serial:
            found.add(serial)
    if mistakes:
        raise BadFile(file, mistakes)
    return frozenset(found)


class PlainTcp:
    """No TLS: anybody who reaches the port may join under any name. For one machine, for tests,
    and for networks that are protected otherwise."""


PLAIN_TCP: Final = PlainTcp()
_ROUNDS: Final = 4
"""More than a handshake takes."""
Security = Certificates | PlainTcp


def certified_names(certificate: dict[str, Any] | None) -> frozenset[str]:
    """The names that a peer's certificate gives it."""
    pairs = (certificate or {}).get("subjectAltName", ())
    return frozenset(value for kind, value in pairs if kind == "DNS")
