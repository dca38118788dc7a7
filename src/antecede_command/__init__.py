"""The entry point of the command `antecede`, apart from the package: importing that takes a while,
and control-C ends the command then, too, in silence."""

import os
import signal

INTERRUPTED = 130
"""The status that a shell gives to a command ended by control-C."""


def main() -> None:
    """Import the command line and run it. Nothing is begun before, so nothing is to be tidied."""
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_ours:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from antecede.cli import main as run  # noqa: PLC0415

    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()
