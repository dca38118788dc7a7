"""A node: one process on the network, in any number of groups."""

import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from antecede.errors import Misuse
from antecede.groups import GroupConfig
from antecede.live.chosen import Chosen
from antecede.live.durable.journal import Durability, Journal
from antecede.live.events import Settings
from antecede.live.group import Group
from antecede.live.ordering.items import PART_BYTES
from antecede.live.outputs import Identity
from antecede.live.overlaid import Overlaid
from antecede.live.recording import Recording
from antecede.live.transport.incoming import Listener
from antecede.live.transport.outgoing import Address
from antecede.live.transport.tls import Security
from antecede.live.viewed import Viewed
from antecede.order import Order

_WILDCARDS: Final = ("0.0.0.0", "::", "")
LIVE_CONFIG: Final = GroupConfig(suspect_after_s=2.0, flush_timeout_s=2.0)
"""More patient than a simulated network needs: a busy machine is not a dead one."""


class Node:
    """Made by `open_node`."""

    def __init__(self, name: str, listener: Listener, address: Address) -> None:
        self.name = name
        self.address = address
        self.listener = listener

    @asynccontextmanager
    async def join(
        self,
        group: str,
        *,
        peers: Sequence[Address] = (),
        protocol: str = "vector",
        options: Mapping[str, Any] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        labels: Sequence[str] = (),
        founds: bool | None = None,
        config: GroupConfig | None = None,
        settings: Settings | None = None,
        may_join: Callable[[str], bool] = lambda name: True,
        record: Path | None = None,
        measures: bool = False,
        wants_state: bool = False,
        log: Path | None = None,
        durability: Durability | None = None,
    ) -> AsyncIterator[Group]:
        """Take part in a group. Without peers this process founds it. `groups` are named,
        overlapping groups of members; `labels` are ordered apart from each other; with the
        protocol 'contexts' the application holds what messages follow. `record` is a folder for
        the trace of what happens here; `measures` asks for the sizes of stamps. With `wants_state`
        the iteration begins with the application's state, as an older member gives it. `log` is a
        file that makes this member durable: it resumes where it was."""
        if group in self.listener.groups:
            raise Misuse(f"'{self.name}' is in group '{group}' already")
        chosen = Chosen(protocol, options or {}, groups, labels)
        limits = settings or Settings()
        incarnation = time.time_ns() // 1_000_000
        with ExitStack() as undoing:
            journal = None
            if log is not None:
                chosen.check_durable()
                journal = Journal(log, group, self.name, chosen.text, durability or Durability())
                undoing.callback(journal.close)
                incarnation = journal.begin_life(incarnation)
            core = Viewed(
                Identity(self.name, self.address, incarnation),
                chosen,
                msgspec.structs.replace(config or LIVE_CONFIG, transfers_state=True),
                founds=not peers if founds is None else founds,
                records=measures or record is not None,
                remembered=None if journal is None else journal.remembered,
                wants_state=wants_state,
                part_bytes=min(PART_BYTES, limits.links.item_bytes // 2),
            )
            recording = None if record is None else Recording(record, group, self.name)
            if recording is not None:
                recording.begin(incarnation)
            member = Group(group, core, self.listener, peers, limits, may_join, recording, journal)
            undoing.pop_all()  # From here on the member closes what is its own.
        async with _living(member):
            yield member


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
    name: str, listen: Address, security: Security, advertise: Address | None = None
) -> AsyncIterator[Node]:
    """Listen for others. `advertise` is where they find this process, if that is another address
    than it listens on; port 0 there stands for the port listened on."""
    if advertise is None and listen[0] in _WILDCARDS:
        raise Misuse(f"others cannot dial {listen[0]}: advertise an address that they can")
    listener = Listener(security)
    address = await listener.open(listen)
    if advertise is not None:
        address = (advertise[0], advertise[1] or address[1])
    try:
        yield Node(name, listener, address)
    finally:
        await listener.close()


@asynccontextmanager
async def join(
    group: str,
    *,
    name: str,
    listen: Address,
    security: Security,
    advertise: Address | None = None,
    **settings: Any,
) -> AsyncIterator[Group]:
    """A node in one group, for those who need no more. The settings are those of `Node.join`."""
    async with (
        open_node(name, listen, security, advertise) as node,
        node.join(group, **settings) as member,
    ):
        yield member
