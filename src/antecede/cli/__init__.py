"""The command line.

Exit status 0 for success, 1 for "the answer is no" (a violation was found), 2 for misuse or bad
input, with one clear message and no traceback, 3 for "cannot tell". One file a command; what they
share is in `_shared`. A command's file is imported when the command is called, so that help and
completion are prompt.
"""

import os
import sys
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from antecede import __version__
from antecede.cli._plain import Command, CommandGroup
from antecede.errors import BadInput, Misuse

INTERRUPTED = 130
"""The status that a shell gives to a command ended by control-C."""
NOBODY_READS = 141
"""The status that a shell gives to a command whose output nobody reads any more."""


class Listed(NamedTuple):
    """A command before its file is imported."""

    module: str
    help: str


COMMANDS = {
    "protocols": Listed("_protocols", "List the protocols: what each needs and gives."),
    "advise": Listed("_advise", "Recommend a protocol for some traffic."),
    "simulate": Listed("_simulate", "Run traffic through a protocol on a simulated network."),
    "explore": Listed("_explore", "Run every interleaving of every small program."),
    "audit": Listed("_audit", "Say whether the logs of any system kept causal order."),
    "verify": Listed("_verify", "Say whether a trace kept causal order."),
    "watch": Listed("_watch", "Report broken causal order while a system runs."),
    "explain": Listed("_explain", "Tell what happened to one message at one process."),
    "import": Listed("_import", "Turn a log of another system into a trace."),
    "fuzz": Listed("_fuzz", "Look for a scenario in which a protocol breaks its word."),
    "view": Listed("_view", "Show a trace as a space-time diagram."),
    "node": Listed("_node", "Take part in a live group, from a script."),
    "chat": Listed("_chat", "Chat in several terminals of one machine or network."),
    "certs": Listed("_certs", "Make certificates, for trying a live group with TLS."),
    "examples": Listed("_examples", "List the campaigns and scenarios that ship, or copy one."),
    "cluster": Listed("_cluster", "Start a Spark cluster on this machine."),
    "broker": Listed("_broker", "Say how often a broker breaks causal order, and the price of it."),
    "bridge": Listed("_bridge", "Re-publish topics of a broker in causal order."),
    "campaign": Listed("_campaign", "Run many simulations from one file and compare them."),
    "topology": Listed("_topology", "Look at a network and at what separates it."),
}


class Commands(CommandGroup):
    """The commands by name; each is imported when it is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, listed in COMMANDS.items():
            self.add_command(Command(name, callback=None, help=listed.help))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the arguments name, with its file imported."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Run a command. Output that nobody reads, or that no disk takes, is not its answer."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115  Python flushes once more at its end
            sys.exit(NOBODY_READS)


def load(name: str) -> Any:
    """The command of that name: the application, or the one function, that its file defines."""
    module = import_module(f"antecede.cli.{COMMANDS[name].module}")
    if (application := getattr(module, "app", None)) is None:
        application = typer.Typer(add_completion=False, rich_markup_mode="rich")
        function = name if hasattr(module, name) else f"{name}_"  # `import` is a word of Python's
        application.command(name, cls=Command)(getattr(module, function))
    command = typer.main.get_command(application)
    command.name = name
    return command


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"antecede {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="antecede",
    cls=Commands,
    help="Causal order for messages: run it, simulate it, verify it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback()
def _antecede(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """The entry point of the command `antecede`."""
    try:
        app()
    except (Misuse, BadInput) as error:
        print(f"antecede: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:  # a full disk, say; what commands expect, they report themselves
        print(f"antecede: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("antecede: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
