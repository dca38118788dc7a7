"""What executors do in tests of `spread`; they import it from here."""

import os
import time
from pathlib import Path


def square(number: int) -> int:
    return number * number


def square_unless_seven(number: int) -> int:
    if number == 7:
        raise ValueError("seven is no number to square")
    return number * number


def die(number: int) -> int:
    os._exit(number)


def wait_for(file: str) -> str:
    """Until the file is there, however long that takes; the name of another one comes back at
    once."""
    while file.endswith(".go") and not Path(file).exists():
        time.sleep(0.01)
    return file


def leave_mark(folder: str) -> str:
    """Leave a file of the time that this takes."""
    time.sleep(0.05)
    mark = Path(folder) / str(time.time_ns())
    mark.touch()
    return mark.name
