"""An authority and members' certificates, for trying a group with TLS.

In production, certificates come from the authority that one has. These are files: whoever reads
`authority.key` can make a member of any name.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from antecede.errors import BadFile, CannotWrite, Misuse

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder

AUTHORITY: Final = "authority"
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_EARLIER: Final = timedelta(hours=1)
"""Clocks differ: a certificate is good a little before it was made."""


@dataclass(frozen=True)
class _Authority:
    certificate: "Certificate"
    key: "EllipticCurvePrivateKey"


def make_certificates(names: Sequence[str], folder: Path, days: int = 365) -> list[Path]:
    """Write `NAME.pem` and `NAME.key` for each of these members into the folder, signed by the
    authority there, which is made if there is none. Nothing is overwritten. Gives the new files."""
    try:
        import cryptography  # noqa: F401, PLC0415 - an extra
    except ImportError:
        raise Misuse(
            "certificates are made with the package cryptography, which is not here; "
            "pip install 'antecede[live]'"
        ) from None
    _check(names, days)
    files = [folder / f"{name}.{kind}" for name in names for kind in ("pem", "key")]
    if there := [str(file) for file in files if file.exists()]:
        raise Misuse(f"{', '.join(there)}: there already; remove it, or name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        authority, made = _authority(folder, days)
        for name in names:
            made += _issue(name, authority, folder, days)
    except OSError as error:
        raise CannotWrite(str(error.filename or folder), error.strerror or str(error)) from None
    return made


def _check(names: Sequence[str], days: int) -> None:
    if not names:
        raise Misuse("name the members that want certificates, for example alice bob carol")
    for name in names:
        if not _NAME.fullmatch(name) or name == AUTHORITY:
            raise Misuse(
                f"'{name}' cannot be a member's name here: take up to 63 letters, digits, '.', '_' "
                f"or '-', beginning and ending with a letter or digit, and not '{AUTHORITY}'"
            )
    if len({name.lower() for name in names}) < len(names):
        raise Misuse(f"{' '.join(names)}: a name stands there twice")
    if not 1 <= days <= 10_000:
        raise Misuse(f"{days} days: a certificate is good for 1 to 10000 days")


def _authority(folder: Path, days: int) -> tuple[_Authority, list[Path]]:
    """The one in the folder, or a new one."""
    from cryptography import x509  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    certificate_file, key_file = folder / f"{AUTHORITY}.pem", folder / f"{AUTHORITY}.key"
    if not certificate_file.exists() and not key_file.exists():
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(AUTHORITY, key, None, days)
        _write_key(key_file, key)
        _write(certificate_file, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
        return _Authority(certificate, key), [certificate_file, key_file]
    for file in (certificate_file, key_file):
        if not file.exists():
            raise BadFile(str(file), ["is missing beside its other half; bring it, or remove both"])
    try:
        found = serialization.load_pem_private_key(key_file.read_bytes(), None)
        certificate = x509.load_pem_x509_certificate(certificate_file.read_bytes())
    except (ValueError, TypeError) as error:
        reason = f"cannot be read as the authority's certificate and key: {error}"
        raise BadFile(f"{certificate_file} and {key_file}", [reason]) from None
    if (
        not isinstance(found, ec.EllipticCurvePrivateKey)
        or found.public_key() != certificate.public_key()
    ):
        raise BadFile(str(key_file), [f"is not the key of {certificate_file}; remove both"])
    if certificate.not_valid_after_utc <= datetime.now(UTC) + timedelta(days=days):
        until = certificate.not_valid_after_utc.date()
        reason = f"is good until {until}, and no longer; name fewer days, or another folder"
        raise BadFile(str(certificate_file), [reason])
    return _Authority(certificate, found), []


def _issue(name: str, authority: _Authority, folder: Path, days: int) -> list[Path]:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _signed(name, key, authority, days)
    files = [folder / f"{name}.pem", folder / f"{name}.key"]
    _write_key(files[1], key)
    _write(files[0], certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return files


def _signed(
    name: str, key: "EllipticCurvePrivateKey", authority: _Authority | None, days: int
) -> "Certificate":
    """A certificate for this name and key, signed by the authority, or by itself."""
    from cryptography import x509  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    is_authority = authority is None
    common = f"antecede {name}" if is_authority else name
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
    signer = key if authority is None else authority.key
    # The authority is to outlast members that are made later.
    good_for = timedelta(days=2 * days + 1 if is_authority else days)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if authority is None else authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + good_for)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    builder = _for_authority(builder) if is_authority else _for_member(builder, name)
    return builder.sign(signer, hashes.SHA256())


def _for_authority(builder: "CertificateBuilder") -> "CertificateBuilder":
    from cryptography import x509  # noqa: PLC0415 - an extra

    may = dict.fromkeys(
        (
            "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
            "key_agreement", "encipher_only", "decipher_only",
        ),
        False,
    )  # fmt: skip
    usage = x509.KeyUsage(key_cert_sign=True, crl_sign=True, **may)
    return builder.add_extension(usage, critical=True)


def _for_member(builder: "CertificateBuilder", name: str) -> "CertificateBuilder":
    from cryptography import x509  # noqa: PLC0415 - an extra
    from cryptography.x509.oid import ExtendedKeyUsageOID  # noqa: PLC0415

    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    names = x509.SubjectAlternativeName([x509.DNSName(name)])
    return builder.add_extension(names, critical=False).add_extension(
        x509.ExtendedKeyUsage(both), critical=False
    )


def _write_key(file: Path, key: "EllipticCurvePrivateKey") -> None:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra

    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write(file, pem, 0o600)


def _write(file: Path, content: bytes, mode: int) -> None:
    """A new file, never an old one; a key is private from its first byte on."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
        opened.write(content)
