"""A node: one process on the network, in any number of groups."""

import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypedDict, Unpack

import msgspec

from antecede.errors import Misuse
from antecede.groups import GroupConfig
from antecede.live.arguments import (
    SomeAddress,
    SomePath,
    check_name,
    check_security,
    to_address,
    to_path,
)
from antecede.live.chosen import Chosen
from antecede.live.durable.journal import Durability, Journal
from antecede.live.durable.remembered import Remembered
from antecede.live.events import Settings
from antecede.live.group import Group
from antecede.live.ordering.items import PART_BYTES
from antecede.live.outputs import Identity
from antecede.live.overlaid import Overlaid
from antecede.live.recording import Recording
from antecede.live.seeding import Seeding
from antecede.live.seeds import SomeSeeds, expected
from antecede.live.transport.incoming import Listener
from antecede.live.transport.outgoing import Address
from antecede.live.transport.tls import Certificates, Security
from antecede.live.viewed import Viewed
from antecede.order import Order

_WILDCARDS: Final = ("0.0.0.0", "::", "")
LIVE_CONFIG: Final = GroupConfig(suspect_after_s=2.0, flush_timeout_s=2.0, detours=False)
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
    """Whether the sizes of stamps are counted."""
    wants_state: bool
    """Whether the iteration begins with the application's state, as an older member gives it."""
    log: SomePath | None
    """A file that makes this member durable: it resumes where it was."""
    durability: Durability | None


class Node:
    """Made by `open_node`."""

    def __init__(self, name: str, listener: Listener, address: Address) -> None:
        self.name = name
        self.address = address
        self.listener = listener

    @asynccontextmanager
    async def join(self, group: str, **settings: Unpack[JoinSettings]) -> AsyncIterator[Group]:
        """Take part in a group. With `seeds`, one command serves for every start and restart: the
        seeds found the group when enough of them have met, and whoever comes later joins. Without
        seeds, a process founds the group alone or asks its `peers` to be let in. See `JoinSettings`
        for the rest."""
        check_name(group, "group")
        if group in self.listener.groups:
            raise Misuse(f"'{self.name}' is in group '{group}' already")
        chosen = Chosen(
            settings.get("protocol", "vector"),
            settings.get("options") or {},
            settings.get("groups"),
            settings.get("labels", ()),
        )
        limits = settings.get("settings") or Settings()
        log, record = to_path(settings.get("log"), "log"), to_path(settings.get("record"), "record")
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
            core = Viewed(
                Identity(self.name, self.address, incarnation),
                chosen,
                msgspec.structs.replace(
                    settings.get("config") or LIVE_CONFIG, transfers_state=True
                ),
                founds=beginning.founds,
                records=settings.get("measures", False) or record is not None,
                remembered=remembered,
                wants_state=settings.get("wants_state", False),
                part_bytes=min(PART_BYTES, limits.links.item_bytes // 2),
                seeding=beginning.seeding,
            )
            recording = None if record is None else Recording(record, group, self.name)
            if recording is not None:
                recording.begin(incarnation)
            member = Group(
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
    applications: int,
    security: Security,
    late: Collection[str] = (),
    settings: Settings | None = None,
    record: Path | None = None,
) -> AsyncIterator[Group]:
    """A process of an overlay (a router, a server, an application): `addresses` are those of all
    processes, in the order of their numbers, `applications` how many of them send and are
    addressed, `late` those that are not there from the start."""
    if name not in addresses:
        raise Misuse(f"'{name}' is none of {', '.join(addresses)}")
    async with open_node(name, addresses[name], security) as node:
        incarnation = time.time_ns() // 1_000_000
        core = Overlaid(
            Identity(name, node.address, incarnation),
            order,
            {**addresses, name: node.address},
            f"{order.name} among {len(addresses)}",
            applications=applications,
            late=late,
            records=record is not None,
        )
        recording = None if record is None else Recording(record, group, name)
        if recording is not None:
            recording.begin(0)
        member = Group(
            group,
            core,
            node.listener,
            (),
            settings or Settings(),
            addresses.__contains__,
            recording,
        )
        async with _living(member):
            yield member


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
    than it listens on; port 0 there stands for the port listened on."""
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
    """A node in one group, for those who need no more; see `open_node` and `Node.join`."""
    async with (
        open_node(name, listen, security, advertise) as node,
        node.join(group, **settings) as member,
    ):
        yield member
