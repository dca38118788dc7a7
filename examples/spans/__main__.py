"""`python -m examples.spans [--first questions] [--endpoint URL]`, with a Redis of its own."""

import argparse

import redis

from examples.questions.__main__ import broker
from examples.spans.app import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", choices=("questions", "answers"), default="answers")
    parser.add_argument("--endpoint", default="http://127.0.0.1:4318")
    given = parser.parse_args()
    with broker("redis") as url, redis.Redis.from_url(url) as client:
        run(client, given.endpoint, first=given.first)


if __name__ == "__main__":
    main()
