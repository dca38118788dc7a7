"""Stable memory: a history in a file that outlives the process which wrote it.

A new version is written beside the old one, forced to the disk, and then takes its name: whatever
happens, a reader finds the old version or the new one, whole. A checksum tells a damaged disk.
"""

import zlib
from pathlib import Path

from antecede.errors import BadFile, BadInput
from antecede.files import write_whole
from antecede.histories.history import History

_MAGIC = b"antecede history 1\n"
_CHECKSUM_BYTES = 4


class StableMemory:
    """The memory of one process."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def save(self, history: History) -> None:
        """Store a history. When this returns, it is on the disk."""
        content = history.to_bytes()
        checksum = zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "big")
        write_whole(self.file, _MAGIC + checksum + content, durable=True)

    def load(self) -> History:
        """What was stored last; an empty history if nothing ever was."""
        try:
            stored = self.file.read_bytes()
        except FileNotFoundError:
            return History()
        except OSError as error:
            raise BadFile(str(self.file), [error.strerror or str(error)]) from None
        head = len(_MAGIC)
        checksum, content = stored[head:][:_CHECKSUM_BYTES], stored[head + _CHECKSUM_BYTES :]
        if stored[:head] != _MAGIC:
            raise BadFile(str(self.file), ["is no stable memory of a history"])
        if checksum != zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "big"):
            raise BadFile(str(self.file), ["is damaged: its checksum is wrong"])
        try:
            return History.from_bytes(content)
        except BadInput as error:
            raise BadFile(str(self.file), [str(error)]) from None
