"""A node: one process on the network, in any number of groups."""

import secrets
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypedDict, Unpack

import msgspec

from antecede.errors import BadFile, Misuse
from antecede.groups import GroupConfig
from antecede.live.arguments import (
    SomeAddress,
    SomePath,
    check_name,
    check_security,
    to_address,
    to_path,
)
from antecede.live.durable.journal import Durability, Journal
from antecede.live.durable.remembered import Remembered
from antecede.live.events import Settings
from antecede.live.group import Group
from antecede.live.member_machine import MemberMachine
from antecede.live.ordering.items import PART_BYTES
from antecede.live.ordering.seals import Seals
from antecede.live.outputs import Identity
from antecede.live.overlay_machine import OverlayMachine
from antecede.live.protocol_choice import ProtocolChoice
from antecede.live.pump import Pump
from antecede.live.recent import Recent
from antecede.live.recorder import Recorder
from antecede.live.seeding import Seeding
from antecede.live.seeds import SomeSeeds, expected
from antecede.live.transport.incoming import Listener
from antecede.live.transport.outgoing import Address
from antecede.live.transport.tls import Certificates, Security
from antecede.order import Addressing, Order

_WILDCARDS: Final = ("0.0.0.0", "::", "")
LIVE_CONFIG: Final = GroupConfig(
    tick_s=0.1,
    suspect_after_s=2.0,
    flush_timeout_s=2.0,
    patience=5.0,
    heartbeats=4.0,
    join_pause_s=0.15,
    fanout=6,
)
"""More patient than a simulated network needs: a busy machine is not a dead one."""


class JoinSettings(TypedDict, total=False):
    """How a process takes part in a group."""

    seeds: SomeSeeds
    """Addresses of processes that found the group together, whoever of them is there: a list, or a
    function that gives one. A name may stand for several addresses."""
    expect: int | None
    """How many seeds have to meet to found the group; a majority of them, unless it is said."""
    found_anew: bool
    """Found the group even if the log knows others who are not there: they are gone for good."""
    peers: Sequence[SomeAddress]
    """Without seeds: members to be let in by. Without any, this process founds the group."""
    founds: bool | None
    """Without seeds: whether this process founds the group, whatever its peers."""
    protocol: str
    options: Mapping[str, Any] | None
    groups: Mapping[str, Sequence[str]] | None
    """Named, overlapping groups of members."""
    labels: Sequence[str]
    """What is ordered apart from each other."""
    config: GroupConfig | None
    """The clockwork of the group."""
    settings: Settings | None
    may_join: Callable[[str], bool]
    """Who may talk to this process at all."""
    record: SomePath | None
    """A folder for the trace of what happens here."""
    measures: bool
    """Whether the sizes of stamps are counted, and the last messages remembered, for `serve`."""
    wants_state: bool
    """Whether the iteration begins with the application's state, as an older member gives it."""
    log: SomePath | None
    """A file that makes this member durable: it resumes where it was."""
    durability: Durability | None
    codec: Any
    """What makes payloads of bytes: `"json"`, a type of msgspec's or pydantic's, a `Codec`; the
    same at all members. Without one, payloads are bytes."""
    topics: Sequence[str]
    """The topics that this process is in from the start."""


class Node:
    """Made by `open_node`."""

    def __init__(self, name: str, listener: Listener, address: Address) -> None:
        self.name = name
        self.address = address
        self.listener = listener

    @property
    def _proves_names(self) -> bool:
        return isinstance(self.listener.security, Certificates)

    @asynccontextmanager
    async def join(self, group: str, **settings: Unpack[JoinSettings]) -> AsyncIterator[Group]:
        """Take part in a group. With `seeds`, one command serves for every start and restart: the
        seeds found the group when enough of them have met, and whoever comes later joins. Without
        seeds, a process founds the group alone or asks its `peers` to be let in. See `JoinSettings`
        for the rest. Raises `Misuse` for settings that cannot be, `BadFile` for a log that is
        damaged or another member's, and `CannotWrite` for a log or a recording that cannot be
        written."""
        check_name(group, "group")
        if group in self.listener.groups:
            raise Misuse(f"'{self.name}' is in group '{group}' already")
        chosen = ProtocolChoice(
            settings.get("protocol", "vector"),
            settings.get("options") or {},
            settings.get("groups"),
            settings.get("labels", ()),
        )
        limits = settings.get("settings") or Settings()
        log, record = to_path(settings.get("log"), "log"), to_path(settings.get("record"), "record")
        measures = settings.get("measures", False)
        incarnation = time.time_ns() // 1_000_000
        with ExitStack() as undoing:
            journal = None
            if log is not None:
                chosen.check_durable()
                durability = settings.get("durability") or Durability()
                journal = Journal(log, group, self.name, chosen.text, durability)
                undoing.callback(journal.close)
                incarnation = journal.begin_life(incarnation)
            remembered = None if journal is None else journal.remembered
            beginning = self._beginning(settings, remembered)
            core = MemberMachine(
                Identity(self.name, self.address, incarnation),
                chosen,
                msgspec.structs.replace(
                    settings.get("config") or LIVE_CONFIG,
                    transfers_state=True,
                    detours=False,
                    trusts=False,
                ),
                founds=beginning.founds,
                records=measures or record is not None,
                remembered=remembered,
                wants_state=settings.get("wants_state", False),
                part_bytes=min(PART_BYTES, limits.links.item_bytes // 2),
                seeding=beginning.seeding,
                confirms=limits.fully_delivered,
                seals=Seals(secrets.token_bytes(32)) if self._proves_names else None,
                window=limits.window,
            )
            recording = _recorder(
                record, group, self.name, measures=measures, is_in_contexts=chosen.is_in_contexts
            )
            if recording is not None:
                recording.begin(incarnation)
            pump = Pump(
                group,
                core,
                self.listener,
                beginning.peers,
                limits,
                settings.get("may_join", lambda name: True),
                recording,
                journal,
                settings.get("seeds", ()),
            )
            member = Group(
                pump,
                codec=settings.get("codec"),
                topics=settings.get("topics", ()),
                addresses_sets=chosen.addresses_sets,
            )
            undoing.pop_all()  # From here on the member closes what is its own.
        async with _living(member):
            yield member

    def _beginning(self, settings: JoinSettings, remembered: Remembered | None) -> "_Beginning":
        """How a process comes into its group."""
        seeds, peers = settings.get("seeds", ()), settings.get("peers", ())
        if isinstance(peers, str) or isinstance(seeds, str):
            raise Misuse("peers and seeds are lists of addresses: ['host:port', ...]")
        addresses = [to_address(peer, "peers") for peer in peers]
        company = () if remembered is None else remembered.company
        anew = settings.get("found_anew", False)
        if seeds:
            if peers or settings.get("founds"):
                raise Misuse("seeds: with them, neither peers nor founds has a meaning; drop it")
            expect = expected(seeds, settings.get("expect"))
            return _Beginning(False, addresses, Seeding(expect, company, anew=anew))
        if settings.get("expect") is not None:
            raise Misuse("expect: it is the number of seeds that found the group; name the seeds")
        founds = settings.get("founds")
        founds = not addresses if founds is None else founds
        others = sorted({*company} - {self.name})
        if founds and others and not anew:
            raise Misuse(
                f"the log knows {', '.join(others)}: '{self.name}' does not found the group again. "
                "Name seeds or peers to find them by, or found_anew=True if they are gone"
            )
        return _Beginning(founds, addresses, None)


class _Beginning(NamedTuple):
    founds: bool
    peers: list[Address]
    seeding: Seeding | None


@asynccontextmanager
async def join_overlay(
    group: str,
    *,
    name: str,
    addresses: Mapping[str, Address],
    order: Order,
    applications: Collection[str],
    security: Security,
    late: Collection[str] = (),
    settings: Settings | None = None,
    record: Path | None = None,
    measures: bool = False,
    memory: Path | None = None,
) -> AsyncIterator[Group]:
    """A process of an overlay (a router, a server, an application): `addresses` are those of all
    processes, in the order of their numbers, `applications` those of them that send and are
    addressed, `late` those that are not there from the start. `memory` is the file of its stable
    memory, where the overlay keeps one; who takes another's place begins with the other's.

    Raises `Misuse` for a name without an address, and a memory that is missing or not needed;
    `BadFile` for one that cannot be read or is another's; `CannotWrite` for a recording that cannot
    be written; and what `open_node` raises. `antecede node --scenario` calls it."""
    if name not in addresses:
        raise Misuse(f"'{name}' is none of {', '.join(addresses)}")
    _recall(order, memory, is_late=name in late)
    async with open_node(name, addresses[name], security) as node:
        incarnation = time.time_ns() // 1_000_000
        core = OverlayMachine(
            Identity(name, node.address, incarnation),
            order,
            {**addresses, name: node.address},
            f"{order.name} among {len(addresses)}",
            applications=applications,
            late=late,
            records=measures or record is not None,
            memory=memory,
        )
        recording = _recorder(record, group, name, measures=measures)
        if recording is not None:
            recording.begin(0)
        pump = Pump(
            group,
            core,
            node.listener,
            (),
            settings or Settings(),
            addresses.__contains__,
            recording,
        )
        member = Group(pump, addresses_sets=order.traits.addressing is Addressing.SETS)
        async with _living(member):
            yield member


def _recorder(
    folder: Path | None, group: str, name: str, *, measures: bool, is_in_contexts: bool = False
) -> Recorder | None:
    recorder: Recorder | None = None
    if folder is not None:
        from antecede.live.recording import Recording  # noqa: PLC0415 - see `recorder`

        recorder = Recording(folder, group, name, is_in_contexts=is_in_contexts)
    return Recent(name, recorder) if measures else recorder


def _recall(order: Order, memory: Path | None, *, is_late: bool) -> None:
    """Begin with what the one before it had in stable memory."""
    if memory is None:
        if order.remembered():
            raise Misuse(
                f"{order.name} keeps a stable memory here: name a file for it, as `memory`"
            )
    elif not order.remembered():
        raise Misuse(f"memory: {order.name}, as it is set up, keeps nothing in stable memory")
    elif memory.exists():
        if not is_late:
            wrong = (
                "has what another process left: it is for the one that takes its place; remove it"
            )
            raise BadFile(str(memory), [wrong])
        try:
            order.recall(memory.read_bytes())
        except (OSError, msgspec.MsgspecError) as error:
            raise BadFile(str(memory), [f"is no stable memory: {error}"]) from None


@asynccontextmanager
async def _living(member: Group) -> AsyncIterator[None]:
    try:
        member.start()
        yield
        await member.leave()
    finally:
        await member.close()


@asynccontextmanager
async def open_node(
    name: str, listen: SomeAddress, security: Security, advertise: SomeAddress | None = None
) -> AsyncIterator[Node]:
    """Listen for others. `advertise` is where they find this process, if that is another address
    than it listens on; port 0 there stands for the port listened on. Raises `Misuse` for a bad name
    or address, security that was not chosen, and a port that it cannot listen on; `BadFile` for
    certificates that are missing, do not fit together, or are for another name.

        async with open_node("alice", "127.0.0.1:0", PLAIN_TCP) as node:
            async with node.join("room") as room, node.join("office") as office:
                await room.send(b"hello")
    """
    check_name(name, "name")
    check_security(security)
    if isinstance(security, Certificates):
        security.check(name)
    host, port = to_address(listen, "listen")
    if advertise is None and host in _WILDCARDS:
        raise Misuse(f"others cannot dial {host}: advertise an address that they can")
    listener = Listener(security)
    address = await listener.open((host, port))
    if advertise is not None:
        host, port = to_address(advertise, "advertise")
        address = (host, port or address[1])
    try:
        yield Node(name, listener, address)
    finally:
        await listener.close()


@asynccontextmanager
async def join(
    group: str,
    *,
    name: str,
    listen: SomeAddress,
    security: Security,
    advertise: SomeAddress | None = None,
    **settings: Unpack[JoinSettings],
) -> AsyncIterator[Group]:
    """A node in one group, for those who need no more; see `open_node` and `Node.join`. Raises what
    these raise: `Misuse`, `BadFile`, `CannotWrite`. A member that fails later raises the reason
    when it sends or iterates, such as `CannotJoin` when the time to join is over.

        async with join("room", name="alice", listen="127.0.0.1:0", security=PLAIN_TCP) as room:
            await room.send(b"hello")
            async for event in room:
                print(event)
    """
    async with (
        open_node(name, listen, security, advertise) as node,
        node.join(group, **settings) as member,
    ):
        yield member
