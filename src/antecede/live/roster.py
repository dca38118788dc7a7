"""Who has which number and which address.

Inside a group a process is a small integer. The most senior member gives a newcomer the next free
one, tells everybody through the group itself, and tells the newcomer only when everybody has it: so
no number is ever given twice, whoever dies meanwhile.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec

from antecede.errors import MalformedStamp
from antecede.live.transport.handshake import Name
from antecede.live.transport.outgoing import Address
from antecede.order import Count


class Habits(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What others have to know of a life of a process. The `series` of its log, if it is durable,
    else 0; its messages are numbered from after `base` on. Whether it wants the application's state
    when it comes in. The number of the last message in its log."""

    series: Count = 0
    base: Count = 0
    wants_state: bool = False
    sent: Count = 0


NO_HABITS: Final = Habits()


class Entry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    number: Count
    name: Name
    host: str
    port: Count
    habits: Habits = NO_HABITS

    @property
    def address(self) -> Address:
        return self.host, self.port


_decoder = msgspec.msgpack.Decoder(tuple[Entry, ...])
_encoder = msgspec.msgpack.Encoder()


def encode_entries(entries: tuple[Entry, ...]) -> bytes:
    return _encoder.encode(entries)


def decode_entries(wire: bytes) -> tuple[Entry, ...]:
    try:
        return _decoder.decode(wire)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedStamp("roster", str(error)) from None


_DEPARTED: Final = 256


class Roster:
    """The processes that were let in: those who are there, and the last of those who were."""

    def __init__(self) -> None:
        self._by_number: dict[int, Entry] = {}
        self._by_name: dict[str, Entry] = {}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._by_number.values())

    def add(self, entry: Entry) -> None:
        """A process, or its new address."""
        self._by_number[entry.number] = entry
        self._by_name[entry.name] = entry

    def forget(self, present: Collection[int]) -> None:
        """Forget the oldest of those who are not there, if they are many. The highest number stays:
        the next one follows it."""
        departed = [number for number in self._by_number if number not in present]
        highest = max(self._by_number, default=-1)
        for number in departed[: max(0, len(departed) - _DEPARTED)]:
            if number != highest:
                entry = self._by_number.pop(number)
                if self._by_name.get(entry.name) == entry:
                    del self._by_name[entry.name]

    def clear(self) -> None:
        """Another group begins."""
        self._by_number.clear()
        self._by_name.clear()

    def named(self, name: str) -> Entry | None:
        return self._by_name.get(name)

    def name_of(self, number: int) -> str:
        entry = self._by_number.get(number)
        return f"?{number}" if entry is None else entry.name

    def next_number(self) -> int:
        return max(self._by_number, default=-1) + 1

    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._by_number.values())


class Numbers:
    """The numbers of named processes, as far as the roster knows them at the time of asking."""

    def __init__(self, roster: Roster, names: Sequence[str]) -> None:
        self._roster = roster
        self._names = names

    def __iter__(self) -> Iterator[int]:
        entries = map(self._roster.named, self._names)
        return iter([entry.number for entry in entries if entry is not None])
