"""Commands as pages show them: whether they could be called."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from antecede.cli import COMMANDS, load

ROOT = Path(__file__).resolve().parent.parent


def flaws_of_command(words: list[str]) -> list[str]:
    """What is wrong with a command; nothing is run."""
    match words:
        case ["antecede", name, *arguments]:
            return _flaws_of_ours(name, arguments)
        case ["python", "-m", module, *_]:
            return [] if find_spec(module) else [f"no module {module}"]
        case ["make", target, *_]:
            targets = (ROOT / "Makefile").read_text("utf-8")
            return [] if f"\n{target}:" in targets else [f"no target {target}"]
        case _:
            return [f"what is {words[0]}?"]


def _flaws_of_ours(name: str, arguments: list[str]) -> list[str]:
    if name not in COMMANDS:
        return [f"no command {name}"]
    command: Any = load(name)
    try:
        while hasattr(command, "commands") and arguments:  # those that have commands of their own
            name, *arguments = arguments
            if name not in command.commands:
                return [f"no command {name}"]
            command = command.commands[name]
        command.make_context(name, list(arguments))
    except Exception as error:  # noqa: BLE001 - Typer has them from a Click of its own
        told = error.format_message() if hasattr(error, "format_message") else ""
        return [f"antecede {name}: {told}"] if told else []  # empty: it only prints its help
    return []
