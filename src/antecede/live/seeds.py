"""Finding the seeds: names become addresses, again and again, until there is a group."""

import asyncio
import inspect
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from antecede.errors import AntecedeError, Misuse
from antecede.live.arguments import SomeAddress, to_address
from antecede.live.transport.outgoing import Address, describe

SeedList = Sequence[SomeAddress]
SomeSeeds = SeedList | Callable[[], SeedList | Awaitable[SeedList]]
"""Addresses, each of which may be a name that stands for several; or what gives them."""
_AGAIN_S: Final = 2.0


def expected(seeds: SomeSeeds, expect: int | None) -> int:
    """How many seeds have to meet to found the group: most of them, unless it is said."""
    if expect is None:
        if callable(seeds) or len(seeds) < 2:
            raise Misuse(
                "expect: say how many seeds have to meet to found the group: more than half of all "
                "that there will ever be (2 of 3). With 1, this process founds it alone"
            )
        return len(seeds) // 2 + 1
    if type(expect) is not int or expect < 1:
        raise Misuse(f"expect={expect!r}: it takes 1 seed or more to found a group")
    if not callable(seeds) and len(seeds) > 1 and expect > len(seeds):
        raise Misuse(f"expect={expect}: there are only {len(seeds)} seeds")
    return expect


class SeedFinder:
    """Looks seeds up. `found` is told every address that is not this process' own, `is_own` once
    that this process is a seed itself."""

    def __init__(
        self,
        seeds: SomeSeeds,
        own: Address,
        *,
        found: Callable[[Address], None],
        is_own: Callable[[], None],
        is_in: Callable[[], bool],
        failed: Callable[[AntecedeError], None],
    ) -> None:
        self.looked = False
        """Whether every name has been looked up once."""
        self.troubles: dict[str, str] = {}
        """By name, why it could not be."""
        self._seeds = seeds
        self._own = own
        self._found = found
        self._is_own = is_own
        self._is_in = is_in
        self._failed = failed
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            while True:
                if not self._is_in():
                    await self._look()
                await asyncio.sleep(_AGAIN_S)
        except AntecedeError as error:
            self._failed(error)

    async def _look(self) -> None:
        given = self._seeds() if callable(self._seeds) else self._seeds
        seeds = await given if inspect.isawaitable(given) else given
        addresses = [to_address(seed, "seeds") for seed in seeds]
        own = {self._own, *await self._resolve(self._own)}
        troubles: dict[str, str] = {}
        for address in addresses:
            try:
                resolved = {address} if address == self._own else {*await self._resolve(address)}
            except OSError as error:
                troubles[f"{address[0]}:{address[1]}"] = describe(error)
                continue
            if resolved & own:
                self._is_own()
            for one in sorted(resolved - own):
                self._found(one)
        self.troubles = troubles
        self.looked = True

    @staticmethod
    async def _resolve(address: Address) -> list[Address]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(*address, type=socket.SOCK_STREAM)
        return [(str(sockaddr[0]), int(sockaddr[1])) for *_, sockaddr in found]
