"""The command line.

Exit status 0 for success, 1 for "the answer is no" (a violation was found), 2 for misuse or bad
input, with one clear message and no traceback. One file a command; what they share is in `_shared`.
"""

import sys

import typer

from antecede.cli import (
    _campaign,
    _chat,
    _cluster,
    _explain,
    _explore,
    _fuzz,
    _import,
    _node,
    _protocols,
    _simulate,
    _topology,
    _verify,
    _view,
)
from antecede.errors import BadInput, Misuse

app = typer.Typer(
    name="antecede",
    help="Causal order for messages: run it, simulate it, verify it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("protocols")(_protocols.protocols)
app.command("simulate")(_simulate.simulate)
app.command("explore")(_explore.explore)
app.command("verify")(_verify.verify)
app.command("explain")(_explain.explain)
app.command("import")(_import.import_)
app.command("fuzz")(_fuzz.fuzz)
app.command("view")(_view.view)
app.command("node")(_node.node)
app.command("chat")(_chat.chat)
app.command("cluster")(_cluster.cluster)
app.add_typer(_campaign.app, name="campaign")
app.add_typer(_topology.app, name="topology")

INTERRUPTED = 130
"""The status that a shell gives to a command ended by control-C."""


def main() -> None:
    """The entry point of the command `antecede`."""
    try:
        app()
    except (Misuse, BadInput) as error:
        print(f"antecede: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("antecede: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
