"""From what a log tells to the rows of a trace: messages get numbers, addresses are found or taken
as they are, and what does not fit together is a problem."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from antecede.imports.events import LOCAL, LogEvent, Places
from antecede.imports.imported import NO_ADDRESSES, Imported, Rows
from antecede.imports.local_order import Order, in_local_order
from antecede.imports.newest_first import NEWEST_FIRST
from antecede.imports.problems import Problems
from antecede.trace import APP, DELIVER, JOIN, KINDS, LAYERS, RECEIVE, SEND, Assumed
from antecede.trace.assumed import OWN, merge_assumed

NAMED: Final = 3
"""So many names stand for all in a sentence."""

UNDELIVERED: Final = Assumed(
    "undelivered",
    "messages that were not delivered where they are addressed count as not addressed there",
    "what was left out may have been the delivery",
    doubt=False,
)
JOINED: Final = Assumed(
    "joins",
    "processes join; what is for all the others and one of them did not get counts as not for it",
    "what it missed is not seen",
)
REUSED: Final = Assumed(
    "resends",
    "a message that was sent again was delivered where nothing addresses its first send",
    "it may have been the later one",
    unsure=True,
)
BROADCAST: Final = Assumed(
    "broadcast",
    "messages count as addressed to all others, as --broadcast says, whatever the log says",
    doubt=False,
)


def assemble(
    files: Sequence[Path],
    events: Iterable[LogEvent],
    problems: Problems,
    *,
    broadcast: bool = False,
    assumed: Sequence[Assumed] = (),
    is_absolute: bool = False,
    order: Order = Order.SEEMS,
    guessed_seq: str = "",
) -> Imported:
    """The runs in these events. With `broadcast` every message is for all other processes of its
    run; `order` says how sure it is that those of a process stand in its order, `guessed_seq` which
    column numbers them by its name alone. An error lists all problems that are not tolerated."""
    places = Places(files)
    runs: dict[str, list[LogEvent]] = {}
    for event in events:
        if event.layer == LAYERS[APP]:
            event.layer = None  # which means the same
        runs.setdefault(event.run, []).append(event)
    has_addresses = broadcast or any(
        event.to is not None for found in runs.values() for event in found
    )
    told = list(assumed)
    addressed = sum(event.to is not None for found in runs.values() for event in found)
    if broadcast and addressed:
        told.append(replace(BROADCAST, count=addressed))
    has_sends = any(event.kind == SEND for found in runs.values() for event in found)
    if has_sends and not has_addresses:
        told.append(NO_ADDRESSES)
    made = []
    for name, found in runs.items():
        ordered, doubts = in_local_order(places, found, order, guessed_seq)
        told += doubts
        run = _Run(places, problems, ordered)
        run.number()
        run.check_deliveries()
        run.address(broadcast=broadcast, has_addresses=has_addresses)
        told += run.joined() if broadcast else run.reused()
        told += run.silent()
        told += run.own_only()
        is_in_file = order is not Order.GIVEN and not any(
            one.what == NEWEST_FIRST.what for one in doubts
        )
        # Of what a span delivers, nobody may know the name.
        unnamed = ("unknown-sends",) if order is Order.GIVEN else ()
        if problems.has("bad-rows", "clocks", *unnamed) or (
            problems.has("truncated")
            # What is torn off the end of the only file comes after all that is in it.
            and not (len(files) == 1 and is_in_file and any(one.seq is None for one in found))
        ):
            told += run.forget_undelivered()
        made.append(run.rows(name))
    problems.refuse(places.source)
    told += problems.assumed()
    tables = [table for rows in made if (table := rows.table()).num_rows]
    return Imported(places.source, tables, merge_assumed(told), is_absolute)


@dataclass
class _Run:
    """One run under way into a trace."""

    places: Places
    problems: Problems
    events: list[LogEvent]
    ids: dict[tuple[str | None, str], tuple[str, int]] = field(default_factory=dict)
    """By layer and name, sender and number of every message."""
    got: dict[tuple[str | None, str], dict[str, None]] = field(default_factory=dict)
    """By layer and name, who delivered or received the message."""
    to: dict[tuple[str | None, str], dict[str, None]] = field(default_factory=dict)
    again: dict[tuple[str | None, str], Sequence[str]] = field(default_factory=dict)
    """Of messages that are sent again, whom the first send addresses."""
    dropped: set[int] = field(default_factory=set)
    """The events that are left out, by their places in the list."""

    def number(self) -> None:
        """Messages are counted by their senders, in the order of their sends."""
        counts: dict[tuple[str | None, str], int] = {}
        first: dict[tuple[str | None, str], LogEvent] = {}
        self._leave_out_shared_names()
        for at, event in enumerate(self.events):
            if event.kind != SEND or at in self.dropped:
                continue
            key = (event.layer, str(event.message))
            if key in self.ids:
                detail = f"message '{event.message}' is sent again"
                self.problems.add("resends", self.places.of(event), detail)
                self.dropped.add(at)
                self.again[key] = first[key].to or ()
                continue
            first[key] = event
            sender = (event.layer, event.process)
            counts[sender] = counts.get(sender, 0) + 1
            self.ids[key] = (event.process, counts[sender])

    def _leave_out_shared_names(self) -> None:
        """Where several send something of one name, nothing says whose was delivered."""
        senders: dict[tuple[str | None, str], str] = {}
        shared: set[tuple[str | None, str]] = set()
        for event in self.events:
            key = (event.layer, str(event.message))
            if event.kind == SEND and senders.setdefault(key, event.process) != event.process:
                shared.add(key)
                detail = f"message '{event.message}' is sent by '{event.process}', too"
                self.problems.add("resends", self.places.of(event), detail)
        if shared:
            self.dropped |= {
                at
                for at, event in enumerate(self.events)
                if 0 <= event.kind <= DELIVER and (event.layer, str(event.message)) in shared
            }

    def check_deliveries(self) -> None:
        """Every message that arrives was sent, and arrives once."""
        seen: set[tuple[int, str | None, str, str]] = set()
        for at, event in enumerate(self.events):
            if event.kind not in {RECEIVE, DELIVER} or at in self.dropped:
                continue
            key = (event.layer, str(event.message))
            mark = (event.kind, *key, event.process)
            if key not in self.ids:
                detail = f"nobody sends the message '{event.message}'"
                self.problems.add("unknown-sends", self.places.of(event), detail)
                self.dropped.add(at)
            elif mark in seen:
                detail = f"'{event.process}' {KINDS[event.kind]}s '{event.message}' again"
                self.problems.add("duplicates", self.places.of(event), detail)
                self.dropped.add(at)
            else:
                self.got.setdefault(key, {})[event.process] = None
            seen.add(mark)

    def address(self, *, broadcast: bool, has_addresses: bool) -> None:
        """Whom every message is for."""
        everybody = list(dict.fromkeys(event.process for event in self.events))
        for at, event in enumerate(self.events):
            if event.kind != SEND or at in self.dropped:
                continue
            key = (event.layer, str(event.message))
            got = [name for name in self.got.get(key, ()) if name != event.process]
            if broadcast:
                self.to[key] = dict.fromkeys(everybody)
                del self.to[key][event.process]
            elif event.to is not None:
                self.to[key] = dict.fromkeys(event.to)
            else:
                self.to[key] = dict.fromkeys(got)
                if has_addresses:
                    detail = f"nothing says whom '{event.message}' is addressed to"
                    advice = "an empty list says nobody" if not got else ""
                    self.problems.add("no-addresses", self.places.of(event), detail, "", advice)
        self._add_unaddressed()

    def _add_unaddressed(self) -> None:
        for at, event in enumerate(self.events):
            if event.kind not in {RECEIVE, DELIVER} or at in self.dropped:
                continue
            key = (event.layer, str(event.message))
            if event.process not in self.to[key] and event.process != self.ids[key][0]:
                detail = (
                    f"'{event.process}' {KINDS[event.kind]}s '{event.message}', "
                    f"which is not addressed to it"
                )
                self.problems.add("unaddressed", self.places.of(event), detail)
                self.to[key][event.process] = None

    def reused(self) -> list[Assumed]:
        """The doubt about names that a sender uses again: is what is delivered the first?"""
        found = []
        for at, event in enumerate(self.events):
            key = (event.layer, str(event.message))
            if event.kind == DELIVER and key in self.again and at not in self.dropped:
                known = {*self.again[key], self.ids[key][0]}
                found += [event] if event.process not in known else []
        return self.places.assumed({REUSED: found})

    def joined(self) -> list[Assumed]:
        """Take messages for all as not addressed to a process that joins and did not get them: it
        may have joined later. Leaves a doubt."""
        joins = {event.process for event in self.events if event.kind == JOIN}
        count = 0
        for key, to in self.to.items():
            for name in [one for one in to if one in joins and one not in self.got.get(key, ())]:
                del to[name]
                count += 1
        return [replace(JOINED, count=count)] if count else []

    def silent(self) -> list[Assumed]:
        """The doubt about processes that are addressed but not heard of."""
        heard = {event.process for event in self.events}
        named = dict.fromkeys(name for to in self.to.values() for name in to)
        silent = [name for name in named if name not in heard]
        if not silent:
            return []
        listed = ", ".join(silent[:NAMED]) + (" ..." if len(silent) > NAMED else "")
        happened = f"processes are addressed, but the log has no event of theirs: {listed}"
        return [Assumed("silent", happened, "what they delivered is not known", len(silent))]

    def own_only(self) -> list[Assumed]:
        """The doubt about a run in which nobody delivers what another sent."""
        got = [(self.ids[key][0], name) for key, names in self.got.items() for name in names]
        if not got or any(sender != name for sender, name in got):
            return []
        return [OWN]

    def forget_undelivered(self) -> list[Assumed]:
        """Take messages as not addressed to those who did not deliver them, so that what seems to
        have overtaken them is not taken for early; what is early then was overtaken in the log."""
        delivered = {
            (event.layer, event.message, event.process)
            for at, event in enumerate(self.events)
            if event.kind == DELIVER and at not in self.dropped
        }
        count = 0
        for (layer, message), to in self.to.items():
            for name in [one for one in to if (layer, message, one) not in delivered]:
                del to[name]
                count += 1
        self.dropped |= {
            at
            for at, event in enumerate(self.events)
            if event.kind == RECEIVE
            and (event.layer, event.message, event.process) not in delivered
        }
        return [replace(UNDELIVERED, count=count)] if count else []

    def rows(self, name: str) -> Rows:
        """What is left, as rows. What is left out can be seen as a local event."""
        rows = Rows(name)
        for at, event in enumerate(self.events):
            place = self.places.of(event)
            if event.kind == LOCAL:
                rows.local(place, event.process, event.text, event.time)
            elif at in self.dropped:
                told = f"{KINDS[event.kind]} {event.message}, left out"
                text = f"{told}: {event.text}" if event.text else told
                rows.local(place, event.process, text, event.time)
            else:
                key = (event.layer, str(event.message))
                is_message = event.kind <= DELIVER
                rows.add(
                    place,
                    event.process,
                    event.kind,
                    self.ids[key] if is_message else None,
                    list(self.to[key]) if event.kind == SEND else None,
                    time=event.time,
                    layer=event.layer,
                    name=event.message if is_message else None,
                    text=event.text,
                )
        return rows
