"""The campaigns and scenarios that come with Antecede, by name.

They stand in the folders of the repository, where people read them; an installed package has them
in a folder of its own.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from antecede.errors import Misuse
from antecede.stores import path_of

Kind = Literal["campaigns", "scenarios"]
_PACKAGE = Path(__file__).parent


def shipped(kind: Kind) -> Mapping[str, Path]:
    """The files of that kind, by name."""
    installed = _PACKAGE / "examples" / kind
    folder = installed if installed.is_dir() else _PACKAGE.parent.parent / kind
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find(kind: Kind, file: str | os.PathLike[str]) -> Path:
    """The file that is meant: one of the user's, or one that ships, by its name. A folder is
    neither: one of the same name, such as a campaign's results, hides nothing."""
    path = path_of(file)
    if path.is_file() or path.suffix or len(path.parts) > 1:
        return path
    known = shipped(kind)
    if path.name not in known:
        what = kind.removesuffix("s")
        raise Misuse(
            f"there is no file '{path}', and no {what} of that name ships; there are "
            + ", ".join(known)
        )
    return known[path.name]
