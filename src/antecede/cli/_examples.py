"""`antecede examples`: the campaigns and scenarios that ship."""

import textwrap
from pathlib import Path
from typing import Annotated, get_args

import typer

from antecede.cli._shared import JsonFlag, print_json
from antecede.errors import Misuse
from antecede.files import make_folder, write_whole
from antecede.shipped import Kind, shipped


def examples(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Copy this one.")] = None,
    out: Annotated[Path, typer.Option(help="The folder to copy it to.")] = Path(),
    as_json: JsonFlag = False,
) -> None:
    """List the campaigns and scenarios that ship, or copy one to begin with.

    `antecede campaign run NAME` and `antecede simulate --scenario NAME` take them by name.

    Example: antecede examples demo --out mine
    """
    found = {(kind, name): path for kind in get_args(Kind) for name, path in shipped(kind).items()}
    if name is not None:
        for path in copy(name, [path for (_, known), path in found.items() if known == name], out):
            print(path)
        return
    rows = [(kind.removesuffix("s"), name, about(path)) for (kind, name), path in found.items()]
    if as_json:
        print_json([dict(zip(("kind", "name", "about"), row, strict=True)) for row in rows])
    else:
        for kind, title, words in rows:
            print(textwrap.fill(f"{kind} {title}: {words}", 80, subsequent_indent="    "))


def about(path: Path) -> str:
    """The first sentence of the comment that a file begins with."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    sentence, _, _ = " ".join(lines).partition(". ")
    return sentence.rstrip(".")


def copy(name: str, files: list[Path], folder: Path) -> list[Path]:
    """Copies of these files and of what they name beside them; nothing that exists is replaced."""
    if not files:
        raise Misuse(f"nothing called '{name}' ships; `antecede examples` lists what does")
    needed = [
        beside
        for file in files
        for beside in file.parent.iterdir()
        if beside == file or beside.name in file.read_text("utf-8")
    ]
    for path in needed:
        if (folder / path.name).exists():
            raise Misuse(f"{folder / path.name} exists already; name another folder with --out")
    make_folder(folder)
    for path in needed:
        write_whole(folder / path.name, path.read_bytes())
    return [folder / path.name for path in needed]
