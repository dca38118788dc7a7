"""Ends processes whose owner has gone, for nobody can clean up after their own SIGKILL.

A process by itself, `python reaper.py FOLDER`, of the standard library alone. It reads the numbers
of process groups, one a line, until nobody holds the other end of the pipe any more: it was closed,
or its owner died. Then it kills these groups and removes the folder.
"""

import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

PAUSE_S = 0.1
ATTEMPTS = 100
"""The Python that Java had started notices that Java is gone, but it may write until then."""


def main(folder: Path) -> None:
    """Wait, and then leave nothing."""
    for group in [int(line) for line in sys.stdin]:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    for _ in range(ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
