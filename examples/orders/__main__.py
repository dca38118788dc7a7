"""`python -m examples.orders [--careful] [--out DIR]`: run the services and judge what they did."""

import argparse
import asyncio
from pathlib import Path

from antecede.recorder import record
from antecede.view.audited import audit_logs
from examples.orders.services import run

NAMES = ("shop", "billing", "shipping")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--careful", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("orders"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    files = [given.out / f"{name}.trace" for name in NAMES]
    for file in files:
        file.unlink(missing_ok=True)
    recorders = [record(file, name) for file, name in zip(files, NAMES, strict=True)]
    asyncio.run(run(*recorders, careful=given.careful))
    found = audit_logs(files, given.out / "audit")
    print(f"causal order: {found.verdict.answer}; see {found.page}")
    for witness in found.verdict.witnesses[:3]:
        print(f"  {witness.sentence()}")


if __name__ == "__main__":
    main()
