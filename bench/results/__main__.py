"""`python -m bench.results [NAME ...]`: run campaigns and write their pages in docs/results.

A campaign goes on where an earlier call stopped. `--quick` runs a few tiny runs of each into pages
beside the work, to see that everything works.
"""

import sys
from argparse import ArgumentParser
from pathlib import Path

from antecede.errors import AntecedeError
from antecede.pipeline.spread import HERE
from bench.docs import ROOT
from bench.results.answers import ANSWERS
from bench.results.page import write_page
from bench.results.shipped import Session, find, run

PAGES = ROOT / "docs" / "results"


def main(arguments: list[str] | None = None) -> int:
    parser = ArgumentParser("python -m bench.results", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ANSWERS))
    parser.add_argument("--master", default="local[2]", help="where Spark runs, or `here`")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "results")
    parser.add_argument("--out", type=Path, help="where pages go; by default docs/results")
    parser.add_argument("--quick", action="store_true", help="a few tiny runs, pages in --work")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in ANSWERS]
    if unknown:
        parser.error(f"no page {', '.join(unknown)}; there are {', '.join(ANSWERS)}")
    work = chosen.work / "quick" if chosen.quick else chosen.work
    pages = chosen.out or (work / "pages" if chosen.quick else PAGES)
    failed = False
    with Session(chosen.master) as session:
        where = None if chosen.master == HERE else session
        for name in chosen.names or ANSWERS:
            try:
                shipped = find(name)
                folder = run(shipped, work / name, where, quick=chosen.quick)
                print(f"written: {write_page(shipped, folder, pages)}", flush=True)
            except AntecedeError as error:
                print(f"{name}: {error}", file=sys.stderr)
                failed = True
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
