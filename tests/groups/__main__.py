"""Many random schedules of a group: `python -m tests.groups --first 0 --count 10000`.

Prints each seed that fails with its first finding and a smaller schedule that fails, too.
"""

import argparse
import sys
import time

from tests.groups.schedules import draw, judge, shrink


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds")
    arguments = parser.parse_args()
    failed = 0
    began = time.process_time()
    for seed in range(arguments.first, arguments.first + arguments.count):
        schedule = draw(seed)
        findings = judge(schedule)
        if findings:
            failed += 1
            small = shrink(schedule, lambda candidate: bool(judge(candidate)))
            print(f"seed {seed}: {findings[0]}\n  {small}", flush=True)
        if (seed + 1 - arguments.first) % 1000 == 0:
            print(f"{seed + 1 - arguments.first} schedules, {failed} failed", flush=True)
    rate = arguments.count / max(time.process_time() - began, 1e-9)
    print(f"{arguments.count} schedules, {failed} failed, {rate:.0f} a second of one core")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
