"""A node: one process on the network, in any number of groups."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from antecede.groups import GroupConfig
from antecede.live.group import Group, Settings
from antecede.live.incoming import Listener
from antecede.live.outgoing import Address
from antecede.live.recording import Recording
from antecede.live.tls import Security
from antecede.live.viewed import Identity, Viewed


class Node:
    """Made by `open_node`."""

    def __init__(self, name: str, listener: Listener, address: Address) -> None:
        self.name = name
        self.address = address
        self._listener = listener

    @asynccontextmanager
    async def join(
        self,
        group: str,
        *,
        peers: Sequence[Address] = (),
        protocol: str = "vector",
        options: Mapping[str, Any] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        founds: bool | None = None,
        config: GroupConfig | None = None,
        settings: Settings | None = None,
        may_join: Callable[[str], bool] = lambda name: True,
        record: Path | None = None,
    ) -> AsyncIterator[Group]:
        """Take part in a group. Without peers this process founds it."""
        incarnation = time.time_ns() // 1_000_000
        identity = Identity(self.name, self.address, incarnation)
        core = Viewed(
            identity,
            protocol,
            options or {},
            msgspec.structs.replace(config or GroupConfig(), transfers_state=True),
            founds=not peers if founds is None else founds,
            named_groups=groups,
            records=record is not None,
        )
        recording = None if record is None else Recording(record, group, self.name)
        if recording is not None:
            recording.begin(incarnation)
        member = Group(
            group, core, self._listener, peers, settings or Settings(), may_join, recording
        )
        member.start()
        try:
            yield member
            await member.leave()
        finally:
            await member.close()


@asynccontextmanager
async def open_node(name: str, listen: Address, security: Security) -> AsyncIterator[Node]:
    """Listen for others."""
    listener = Listener(security)
    address = await listener.open(listen)
    try:
        yield Node(name, listener, address)
    finally:
        await listener.close()


@asynccontextmanager
async def join(
    group: str, *, name: str, listen: Address, security: Security, **settings: Any
) -> AsyncIterator[Group]:
    """A node in one group, for those who need no more. The settings are those of `Node.join`."""
    async with open_node(name, listen, security) as node, node.join(group, **settings) as member:
        yield member
