"""`python -m bench.resequence`: what causal order costs inside the operator of
`antecede.spark.resequence`, without Spark: rows a CPU second, and the state of a group. Four
senders a group; each message names what its sender had heard of; arrivals are out of order."""

from random import Random
from time import process_time

import pyarrow as pa

from antecede.spark.resequencing import Columns, order_bucket

ROWS = 40_000
BATCHES = 5
SENDERS = "abcd"
SPREAD = 64.0
COLUMNS = Columns("group", "sender", "number", "after", "time")
AFTER = pa.map_(pa.string(), pa.int64())


def main() -> None:
    print("| groups of a bucket | rows a CPU s | state, bytes a group |\n|---:|---:|---:|")
    for groups in (1, 10, 1_000, 10_000):
        rows = arrivals(groups)
        known = None
        started = process_time()
        for batch in range(BATCHES):
            part = rows.slice(batch * ROWS // BATCHES, ROWS // BATCHES)
            known, _ = order_bucket(COLUMNS, None, known, [part])
        speed = ROWS / (process_time() - started)
        print(f"| {groups:,} | {speed:,.0f} | {len(known or b'') / groups:,.0f} |", flush=True)


def arrivals(groups: int, count: int = ROWS) -> pa.Table:
    """Messages in the order in which they come, with a payload of 32 bytes."""
    random = Random(groups)
    heard: dict[tuple[int, str], dict[str, int]] = {}
    rows = []
    for index in range(count):
        group, sender = random.randrange(groups), random.choice(SENDERS)
        known = heard.setdefault((group, sender), {})
        for who, number in heard.get((group, random.choice(SENDERS)), {}).items():
            known[who] = max(known.get(who, 0), number)
        after = [(who, number) for who, number in known.items() if who != sender]
        known[sender] = known.get(sender, 0) + 1
        time = index + random.random() * SPREAD
        rows.append((str(group), sender, known[sender], after, time, b"x" * 32))
    rows.sort(key=lambda row: row[4])
    columns = list(zip(*rows, strict=True))
    kinds = (pa.string(), pa.string(), pa.int64(), AFTER, pa.float64(), pa.binary())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=[*COLUMNS, "payload"])


if __name__ == "__main__":
    main()
