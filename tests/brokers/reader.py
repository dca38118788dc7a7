"""A durable reader that is killed: `python -m tests.brokers.reader KIND PORT COUNT FILE`.

Writes a line for each message that it has processed.
"""

import asyncio
import sys
from pathlib import Path

from antecede.brokers import causal
from tests.brokers.questions import ANSWERS, QUESTIONS, client_of


async def main(kind: str, port: int, count: int, path: str) -> None:
    done = Path(path)
    if done.exists() and f"{ANSWERS} {count - 1}\n" in done.read_text("utf-8"):
        return  # A former life got to the end before it was killed.
    with open(path, "a", encoding="utf-8", buffering=1) as file:
        async with (
            client_of(kind, port) as client,
            causal(
                client, [ANSWERS, QUESTIONS], group="carol", start="first", commit_every=20
            ) as bus,
        ):
            async for message in bus:
                print(message.topic, message.payload.decode(), file=file)
                if message.topic == ANSWERS and int(message.payload) == count - 1:
                    break


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
