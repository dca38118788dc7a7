"""The shop: customers ask and order, the desk answers, the till charges, the dashboard shows it.

Four topics. Nobody sends anything to anybody else: all they have in common is the broker. The
dashboard keeps open questions and unpaid orders in dictionaries, as anybody would write it, and has
no idea what to do with an answer to a question that it has never seen.
"""

import json
import time
from dataclasses import dataclass, field
from typing import Any

from antecede.brokers import Message, causal
from antecede.brokers.record import Record

TOPICS = ("payments", "orders", "answers", "questions")


async def customer(client: Any, name: str, visits: int) -> None:
    async with causal(client) as bus:
        for visit in range(visits):
            thing = f"{name}-{visit}"
            await bus.publish("questions", write(about=thing, text="Is it in stock?"))
            await bus.publish("orders", write(about=thing, price=10 + visit))


async def desk(client: Any, questions: int) -> None:
    async with causal(client, ["questions"], group="desk", start="first") as bus:
        for _ in range(questions):
            question = read(await anext(bus))
            await bus.publish("answers", write(about=question["about"], text="Yes, two of them."))


async def till(client: Any, orders: int) -> None:
    async with causal(client, ["orders"], group="till", start="first") as bus:
        for _ in range(orders):
            order = read(await anext(bus))
            await bus.publish("payments", write(about=order["about"], paid=order["price"]))


@dataclass
class Dashboard:
    """What the people in the office look at."""

    questions: dict[str, str] = field(default_factory=dict)
    orders: dict[str, int] = field(default_factory=dict)
    earned: int = 0
    complaints: list[str] = field(default_factory=list)
    longest_wait_s: float = 0.0

    def show(self, topic: str, told: dict[str, Any]) -> None:
        about = told["about"]
        if topic == "questions":
            self.questions[about] = told["text"]
        elif topic == "orders":
            self.orders[about] = told["price"]
        elif topic == "answers":
            if self.questions.pop(about, None) is None:
                self.complaints.append(f"an answer about {about}, and nobody has asked")
        elif self.orders.pop(about, None) is None:
            self.complaints.append(f"{told['paid']} paid for {about}, which nobody has ordered")
        else:
            self.earned += told["paid"]

    async def follow(self, client: Any, messages: int, hold: bool, record: Record) -> None:
        """Show so many messages, and record them; `hold` is all that is broken or mended."""
        bus: Any
        async with causal(client, TOPICS, start="first", hold=hold) as bus:
            record.reader("dashboard", bus.places())
            for _ in range(messages):
                message = await anext(bus)
                now = time.time()
                self.longest_wait_s = max(self.longest_wait_s, message.held_s)
                record.see("dashboard", message, now, now - message.held_s)
                self.show(message.topic, read(message))


def write(**told: Any) -> bytes:
    return json.dumps(told).encode()


def read(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(message.payload)
    return found
