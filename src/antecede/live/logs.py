"""What a node does, for logs: the standard library's logging, with the facts apart from the words.

Loggers are below `antecede.live`. Every record has the event as its message and the facts as
`record.facts`; `JsonLines` writes both as one line of JSON.
"""

import json
import logging
from typing import Any, Final

LOGGER: Final = logging.getLogger("antecede.live")


def log(event: str, **facts: Any) -> None:
    """Say that something happened."""
    LOGGER.info(event, extra={"facts": facts})


def log_warning(sentence: str, **facts: Any) -> None:
    """Say that somebody should look at something: without any logging set up, Python prints the
    sentence; the event is among the facts."""
    LOGGER.warning(sentence, extra={"facts": facts})


class JsonLines(logging.Formatter):
    """One line of JSON a record."""

    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "facts", {})
        return json.dumps({"time": record.created, "event": record.getMessage(), **facts})
