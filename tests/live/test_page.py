"""The page of a node, in a real browser: members, views, links, what is held, the last messages."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from antecede.live import Group, Settings
from antecede.live.metrics import serve
from tests.browser import Visitor
from tests.live.gathering import ENOUGH_S, gathered

if TYPE_CHECKING:
    from playwright.sync_api import Page


class Served:
    """carol, whose page is shown, and alice and bob; what alice says would reach carol in an
    hour."""

    def __init__(self, url: str, members: list[Group], loop: asyncio.AbstractEventLoop) -> None:
        self.url = url
        self.alice, self.bob, self.carol = members
        self._loop = loop

    def send(self, member: Group, payload: bytes) -> None:
        asyncio.run_coroutine_threadsafe(member.send(payload), self._loop).result(ENOUGH_S)


@contextmanager
def served() -> Iterator[Served]:
    started: Future[Served] = Future()
    over: list[Callable[[], Any]] = []

    async def live() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        over.append(lambda: loop.call_soon_threadsafe(stop.set))
        special = {
            "alice": {"settings": Settings(lags_s={"carol": 3600.0})},
            "carol": {"measures": True},
        }
        async with (
            gathered("alice", "bob", "carol", special=special) as members,
            serve([members[2]], ("127.0.0.1", 0)) as (host, port),
        ):
            started.set_result(Served(f"http://{host}:{port}/", members, loop))
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(live()), daemon=True)
    thread.start()
    try:
        yield started.result(ENOUGH_S)
    finally:
        over[0]()
        thread.join(ENOUGH_S)


def eventually(page: "Page", condition: Callable[[], bool]) -> None:
    """The page's own policy forbids what `wait_for_function` does."""
    for _ in range(int(ENOUGH_S / 0.02)):
        if condition():
            return
        page.wait_for_timeout(20)
    raise AssertionError(page.inner_text("main"))


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (360, True)])
def test_what_a_person_sees(visit: Visitor, width: int, dark: bool) -> None:
    with served() as shop:
        visited = visit(shop.url, width=width, dark=dark, moves=True)
        page = visited.page
        page.wait_for_selector("body[data-ready]")
        assert page.title() == "carol in room"
        for name in ("alice", "bob", "carol (here)", "bob: connected", "nothing waits"):
            eventually(page, lambda name=name: name in page.inner_text("main"))  # type: ignore[misc]
        eventually(page, lambda: page.locator("svg .lane").count() == 3)
        shop.send(shop.bob, b"secret")
        page.wait_for_selector("[data-message='bob:1'][data-state='delivered']", state="attached")
        # alice asks, which bob sees and carol does not; so his answer waits.
        shop.send(shop.alice, b"question")
        eventually(page, lambda: shop.bob.pump.counters.deliveries == 2)
        shop.send(shop.bob, b"answer")
        page.wait_for_selector("[data-message='bob:2'][data-state='held']", state="attached")
        page.wait_for_selector("li.held:has-text('bob:2 waits for alice, up to 1')")
        eventually(page, lambda: page.locator("[data-message='bob:2'] .wait").count() == 1)
        assert page.locator("[data-message='bob:1'] .wait").count() == 0
        shop.send(shop.carol, b"hello")
        eventually(page, lambda: page.locator("svg .out").count() == 2)
        moving = page.locator("svg .moving")
        before = moving.get_attribute("transform")
        eventually(page, lambda: moving.get_attribute("transform") != before)
        assert "secret" not in page.content()
        assert not visited.scrolls_sideways()
        assert visited.complaints == []
    eventually(page, lambda: "not answered" in page.inner_text("#silence"))
