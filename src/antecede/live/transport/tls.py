"""Who is who: mutual TLS, where the name of a member is the name in its certificate."""

import os
import ssl
from dataclasses import dataclass
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
        if name not in names:
            known = ", ".join(sorted(names)) or "no name at all"
            reason = f"is for {known}, not for '{name}'; name it so, or take the one for '{name}'"
            raise BadFile(str(self.certificate), [reason])

    def server(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        return self._loaded(context)

    def client(self) -> ssl.SSLContext:
        return self._loaded(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def _loaded(self, context: ssl.SSLContext) -> ssl.SSLContext:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # The name is compared by us: an address found by dialling has no name to expect yet.
        context.check_hostname = False
        for file, fix in (
            (self.authority, "name the PEM file of the authority"),
            (self.certificate, "name the PEM file of this member's certificate"),
            (self.key, "name the PEM file of its key"),
        ):
            if not Path(file).is_file():
                raise BadFile(str(file), [f"there is no such file; {fix}"])
        try:
            context.load_verify_locations(self.authority)
            # A key under a password would ask for it on the terminal.
            context.load_cert_chain(self.certificate, self.key, password="")
        except ssl.SSLError as error:
            names = f"{self.authority}, {self.certificate} and {self.key}"
            raise BadFile(names, [f"do not go together: {error.reason or error}"]) from None
        return context


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
