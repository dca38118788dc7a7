"""`antecede audit`: from the logs of any system to a verdict and a page."""

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Annotated, Any, NamedTuple

import typer

from antecede.cli._import import (
    TABLE,
    BroadcastFlag,
    CrashFlag,
    DeliverFlag,
    PatternFlag,
    SendFlag,
    TolerateFlag,
    pairs_of,
)
from antecede.cli._shared import JsonFlag, end_by_signal, exit_with, print_json
from antecede.cli._verify import tell
from antecede.errors import BadFile, BadInput, Misuse, counted
from antecede.files import path_of
from antecede.imports.detect import Format
from antecede.imports.logs import Wishes, keeping_readers
from antecede.imports.problems import parse_tolerance
from antecede.imports.reading import STANDARD_INPUT, find_logs, name_of, standard_input
from antecede.trace import Assumed
from antecede.verify import Answer, Verdict
from antecede.view.audited import Audited, audit_logs

POLL_S = 1.0
"""How often files that may grow are looked at; never more than a fifth of the time is spent."""
BEGINNING = 1 << 12
"""Bytes by which a file is known again."""
SHRANK = Assumed(
    "shrank",
    "a log that was followed lost what it had said before",
    "that is no longer judged",
)
HINT = "if every message is for all the others, --broadcast says so"


def audit(
    logs: Annotated[
        list[str] | None,
        typer.Argument(metavar="LOG...", help="Files, folders, or - for what is piped in."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="A folder for the trace and the page.")
    ] = Path("audit"),
    format_: Annotated[
        Format | None, typer.Option("--format", help="What the logs are, if that is not detected.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FIELD", help="The field for a column; may repeat.", rich_help_panel=TABLE
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=WORD",
            help="The words, separated by commas, for send, deliver, local ...; may repeat.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Between destinations.", rich_help_panel=TABLE)
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Between fields of CSV.", rich_help_panel=TABLE)
    ] = None,
    pattern: PatternFlag = None,
    send: SendFlag = None,
    deliver: DeliverFlag = None,
    crash: CrashFlag = None,
    broadcast: BroadcastFlag = False,
    tolerate: TolerateFlag = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep reading, and report as the logs grow.")
    ] = False,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Take OpenTelemetry spans (OTLP over HTTP) there, and report as they come.",
        ),
    ] = None,
    for_: Annotated[
        float | None,
        typer.Option("--for", metavar="SECONDS", help="How long to follow or to listen."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace what is there.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Say whether the logs of any system kept causal order, and draw them.

    Detects the format: CSV, JSON lines, Parquet, logs with vector clocks (ShiViz, GoVector),
    OpenTelemetry spans (OTLP JSON), files of antecede.recorder, traces; compressed or not. Asks
    for what it cannot know. Exit status: 0 if order was kept, 1 if not, 2 if the logs cannot be
    read, 3 if it cannot be told.

    Example: antecede audit orders.csv billing.csv
    """
    patterns = {"pattern": pattern, "send": send, "deliver": deliver, "crash": crash}
    wishes = Wishes(
        format=format_,
        columns=pairs_of("--column", column) or {},
        kinds=pairs_of("--kind", kind) or {},
        separator=separator,
        delimiter=delimiter,
        patterns={name: text for name, text in patterns.items() if text is not None},
        broadcast=broadcast,
        tolerate=parse_tolerance(tolerate or ()),
    )
    if listen is not None and (logs or follow):
        raise Misuse("--listen goes without logs and without --follow")
    if listen is None and not logs:
        raise Misuse("name a log, a folder, or - for what is piped in; or --listen HOST:PORT")
    _refuse_existing(out, force)
    end_by_signal()
    if listen is not None:
        found = _listen(listen, out, wishes, for_, as_json)
    else:
        found = _audit_files(logs or [], out, wishes, follow, for_, as_json)
    exit_with(found.verdict.answer)


def _refuse_existing(out: Path, force: bool) -> None:
    for name in ("trace.parquet", "trace", "page.html", "spans.jsonl"):
        if (out / name).exists() and not force:
            raise Misuse(
                f"{out / name} exists already; use --force to replace it, or another --out"
            )


@contextmanager
def _opened(logs: Sequence[str], ended: Event | None) -> Iterator[list[Path]]:
    """The files to read; what is piped in becomes one."""
    if STANDARD_INPUT not in logs:
        yield [path_of(name) for name in logs]
        return
    with standard_input(ended) as piped:
        yield [piped if name == STANDARD_INPUT else path_of(name) for name in logs]


def _tell(found: Audited, as_json: bool) -> None:
    if as_json:
        page = None if found.page is None else str(found.page)
        told: dict[str, Any] = {"trace": str(found.trace), "page": page}
        print_json({**found.verdict.to_json(), **told, "understood": list(found.lines)})
        return
    for line in found.lines:
        print(line)
    tell(found.verdict)
    if any(one.what == "addresses" for one in found.verdict.doubts):
        print(HINT)
    page = "there is nothing to draw" if found.page is None else f"the page {found.page}"
    print(f"the trace is {found.trace}, {page}")
    sys.stdout.flush()


def _until(seconds: float | None) -> float:
    return math.inf if seconds is None else time.monotonic() + seconds


def _audit_files(
    logs: Sequence[str],
    out: Path,
    wishes: Wishes,
    follow: bool,
    seconds: float | None,
    as_json: bool,
) -> Audited:
    """Judge files, and again as they grow if they are followed; of a pipe all when it has ended."""
    ended = Event() if follow and STANDARD_INPUT in logs else None
    if follow:
        wishes = replace(wishes, readers=keeping_readers())
    with _opened(logs, ended) as files:
        find_logs(files, out, passed := list[Path]())
        for one in passed:
            print(f"{one} is skipped: it is not named as logs are", file=sys.stderr)
        follower = _Follower(files, out, wishes, as_json)
        if ended is not None:  # which may have nothing in it yet
            follower.follow(_until(seconds), ended)
        follower.look()  # before they are read: what comes meanwhile is read next time
        _tell(follower.judge(), as_json)
        if follow and ended is None:
            follower.follow(_until(seconds))
    return follower.last()


class _Follower:
    """Judges logs as they grow. An early delivery that was found in a log that lost it stays found:
    that verdict is given."""

    def __init__(self, names: Sequence[Path], out: Path, wishes: Wishes, as_json: bool) -> None:
        self._names = names
        self._out = out
        self._wishes = wishes
        self._as_json = as_json
        self._seen: dict[Path, _Seen] = {}
        self._found: Audited | None = None
        self._broken: Audited | None = None
        """What was found in a log that has lost it."""

    def look(self) -> bool:
        """Whether there is something else than at the last look, if anything."""
        now = _look(self._names, self._out)
        if now == self._seen:
            return False
        if not all(one.goes_on_in(now) for one in self._seen.values()):
            self._wishes = replace(self._wishes, assumed=[SHRANK])
            if self._found is not None and self._found.verdict.answer is Answer.BROKEN:
                self._broken = self._broken or self._found
            print(f"antecede: {SHRANK.sentence()}", file=sys.stderr)
        self._seen = now
        return any(one.size for one in now.values())

    def judge(self, *tolerated: str) -> Audited:
        """The verdict on what was seen last."""
        wishes = replace(self._wishes, tolerate=self._wishes.tolerate | {*tolerated})
        self._found = audit_logs(list(self._seen), self._out, wishes)
        return self._found

    def follow(self, until: float, ended: Event | None = None) -> None:
        """Judge anew whenever the logs have grown, until that time, control-C or the end of the
        pipe. The last line may be under way, and so may be the send of what was delivered."""
        spent = 0.0
        try:
            while time.monotonic() < until:
                pause_s = min(max(POLL_S, 4 * spent), max(0.0, until - time.monotonic()))
                if ended is None:
                    time.sleep(pause_s)
                elif ended.wait(pause_s):
                    break
                try:
                    if not self.look():
                        continue
                    began = time.monotonic()
                    found = self.judge("truncated", "unknown-sends")
                except BadInput as error:  # a line, or a file, may be half there
                    print(f"antecede: {error}", file=sys.stderr)
                    continue
                spent = time.monotonic() - began
                if self._as_json:
                    _tell(found, self._as_json)
                else:
                    _tell_briefly(found.verdict)
        except KeyboardInterrupt:
            pass

    def last(self) -> Audited:
        """What is to be said in the end."""
        if self._found is None:
            raise Misuse("nothing was judged")
        if self._broken is not None and self._found.verdict.answer is not Answer.BROKEN:
            told = "causal order was BROKEN in what a log has lost; the trace and the page lack it"
            print(f"antecede: {told}", file=sys.stderr)
            return self._broken
        return self._found


def _listen(
    address: str, out: Path, wishes: Wishes, seconds: float | None, as_json: bool
) -> Audited:
    """Take spans and judge what has come, until the time is over or control-C; then all of it."""
    from antecede.imports.listening import listening, parse_address  # noqa: PLC0415 - seldom

    parsed = parse_address(address)
    out.mkdir(parents=True, exist_ok=True)
    spans = out / "spans.jsonl"
    spans.unlink(missing_ok=True)
    with listening(parsed, spans) as server:
        host, port = str(server.server_address[0]), server.server_address[1]
        print(f"listening on http://{host}:{port}/v1/traces", file=sys.stderr, flush=True)
        _Follower([spans], out, wishes, as_json).follow(_until(seconds))
    if not spans.stat().st_size:
        raise Misuse("no span came; does the exporter know the address?")
    found = audit_logs([spans], out, wishes)
    _tell(found, as_json)
    return found


class _Seen(NamedTuple):
    """A file at some time."""

    size: int
    beginning: bytes

    def goes_on_in(self, files: "dict[Path, _Seen]") -> bool:
        """Whether one of these is this one, perhaps with more, perhaps under another name."""
        return any(
            one.size >= self.size and one.beginning.startswith(self.beginning)
            for one in files.values()
        )


def _look(names: Sequence[Path], out: Path) -> dict[Path, _Seen]:
    found = {}
    for path in find_logs(names, out):
        try:
            with path.open("rb") as file:
                found[path] = _Seen(path.stat().st_size, file.read(BEGINNING))
        except OSError as error:  # it may be on its way to another name
            raise BadFile(name_of(path), [f"cannot be read: {error.strerror}"]) from error
    return found


def _tell_briefly(verdict: Verdict) -> None:
    answer = str(verdict.answer)
    early = f", {verdict.violations:,} early" if verdict.violations else ""
    counts = counted(verdict.messages, "message"), counted(verdict.deliveries, "delivery")
    print(f"{', '.join(counts)}: {answer}{early}")
    for witness in verdict.witnesses[:1]:
        print(f"  {witness.sentence()}")
    sys.stdout.flush()
