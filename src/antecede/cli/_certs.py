"""`antecede certs`: certificates for trying a group with TLS."""

from pathlib import Path
from typing import Annotated

import typer


def certs(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME", help="The members, each by its own name.")
    ],
    out: Annotated[Path, typer.Option(help="The folder; an authority in it is used again.")] = (
        Path("certs")
    ),
    days: Annotated[int, typer.Option(help="How long the members' certificates are valid.")] = 365,
) -> None:
    """Make an authority and a certificate for each member, for trying a group with TLS.

    NAME.pem and NAME.key are one member's; authority.pem goes to all of them, authority.key to
    nobody: whoever reads it can make members. Nothing is overwritten.

    Example: antecede certs alice bob carol
    """
    from antecede.live.certificates import make_certificates  # noqa: PLC0415 - only where needed

    for file in make_certificates(names, out, days):
        print(file)
    first = names[0]
    print(
        f"\n{first} starts with --authority {out}/authority.pem --certificate {out}/{first}.pem "
        f"--key {out}/{first}.key"
    )
