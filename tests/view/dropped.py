"""Logs to drop onto the page, drawn at random in every format, clean and dirty, and what Python
says of each: what the page has to say, too."""

import base64
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from antecede.errors import BadFile, Misuse
from antecede.imports.imported import write_imported
from antecede.imports.logs import Understood, Wishes, import_logs
from antecede.imports.problems import TOLERABLE
from antecede.verify import verify_trace
from antecede.verify.audit import audit

Row = dict[str, Any]
MASKED = re.compile(
    r"(this is no JSON|this is no OTLP|cannot be read(?: as CSV)?|is no regular expression"
    r"|--format names it): .*?"
    r"(?=, and [\d,]+ more like it|; --tolerate|$)",
    re.DOTALL,
)
"""Where each language has its own words."""

JUDGED = ("messages", "deliveries", "violations", "undelivered", "undelivered_at_crashed",
          "witnesses")  # fmt: skip


@dataclass(frozen=True)
class Dropped:
    """Files as they are dropped, and what is said of them."""

    files: dict[str, bytes]
    wishes: dict[str, Any] = field(default_factory=dict)

    def to_page(self) -> dict[str, Any]:
        files = {name: base64.b64encode(text).decode() for name, text in self.files.items()}
        return {"files": files, "wishes": self.wishes}


def imported(dropped: Dropped, folder: Path) -> Understood:
    """The files, written to a folder and read by Python."""
    wishes = {**dropped.wishes, "tolerate": frozenset(dropped.wishes.get("tolerate", ()))}
    logs = []
    for name, content in dropped.files.items():
        logs.append(folder / name)
        logs[-1].write_bytes(content)
    return import_logs(logs, Wishes(**wishes))


def told_by_python(dropped: Dropped) -> dict[str, Any]:
    """The verdict, or why there is none."""
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        try:
            understood = imported(dropped, Path(folder))
            runs = write_imported(understood.imported, trace)
        except BadFile as error:
            return {"refused": [masked(one).replace(f"{folder}/", "") for one in error.mistakes]}
        except Misuse as error:
            return {"asked": masked(str(error))}
        verdict = verify_trace(trace)
    told = verdict.to_json()
    del told["delays"]
    return {
        **told,
        "reasons": [one.sentence() for one in verdict.doubts],
        "sentences": [one.sentence() for one in verdict.witnesses],
        "understood": list(understood.lines),
        "early by run": {run.name: audit(run, witnesses=0).violations for run in runs},
    }


def judged_by_python(dropped: Dropped) -> dict[str, dict[str, Any]]:
    """Of each run its counts and its witnesses, judged without ever being written."""
    with TemporaryDirectory() as folder:
        runs = imported(dropped, Path(folder)).imported.runs()
    told = {run.name: audit(run).to_json() for run in runs}
    return {run: {name: one[name] for name in JUDGED} for run, one in told.items()}


def masked(text: str) -> str:
    return MASKED.sub(r"\1", text)


def drawn_rows(random: Random, run: str = "", *, dirt: float = 0.0) -> list[Row]:
    """What some processes do, in the order of time; with dirt as real logs have it."""
    processes = random.sample(["p", "q", "r", "s/1", "été", "_t"], random.randint(2, 5))
    hurry, receives = random.choice([0.0, 0.3, 0.9]), random.random() < 0.3
    coming: dict[str, list[Row]] = {name: [] for name in processes}
    rows: list[Row] = []
    for number in range(1, random.randint(4, 40)):
        at = random.choice(processes)
        layer = "hop" if random.random() < 0.05 else None
        if coming[at] and random.random() < 0.6:
            place = random.randrange(len(coming[at])) if random.random() < hurry else 0
            message = coming[at][place]
            if receives and "got" not in message and random.random() < 0.5:
                coming[at][place] = {**message, "got": True}
                rows.append({**message, "kind": "receive"})
                continue
            del coming[at][place]
            if random.random() < 0.97:
                rows.append({key: value for key, value in message.items() if key != "got"})
        elif random.random() < 0.15:
            kind = random.choice(["local", "local", "crash", "join"])
            rows.append({"process": at, "kind": kind, "text": f'a "note"; {number}'})
        else:
            to = random.sample(processes, random.randint(0 if dirt else 1, len(processes)))
            to += ["nobody"] * (random.random() < 0.01)
            # A hop may bear the name of what it carries.
            name = f"m{number - 1 if layer else number}"
            sent = {"process": at, "message": name, "layer": layer}
            rows.append({**sent, "kind": "send", "destinations": to})
            for one in to:
                if one in coming:
                    coming[one].append({**sent, "process": one, "kind": "deliver"})
    if dirt:
        rows = list(_soiled(random, rows, processes, dirt))
    return [{**row, **({"run": run} if run else {})} for row in rows]


def _soiled(
    random: Random, rows: Sequence[Row], processes: Sequence[str], dirt: float
) -> Iterator[Row]:
    for row in rows:
        fault = random.choice(["twice", "unknown", "address", "stranger", "lost"])
        hit = random.random() < dirt
        if hit and fault == "lost":
            continue
        if hit and fault == "address":
            yield {**row, "destinations": None}
            continue
        yield row
        if hit and fault == "twice":
            yield row
        if hit and fault == "unknown":
            yield {"process": row["process"], "kind": "deliver", "message": "m0"}
        if hit and fault == "stranger" and row.get("message"):
            yield {"process": random.choice(processes), "kind": "deliver",
                   "message": row["message"]}  # fmt: skip


def drawn_wishes(random: Random, **more: Any) -> dict[str, Any]:
    wishes: dict[str, Any] = dict(more)
    if random.random() < 0.2:
        wishes["broadcast"] = True
    if random.random() < 0.6:
        names = sorted(TOLERABLE)
        wishes["tolerate"] = random.choice([names, random.sample(names, random.randint(1, 4))])
    return wishes


NAMES = {
    "process": ("process", "host", "Node-ID", "pod_name"),
    "kind": ("kind", "event", "Type", "zzz"),
    "message": ("message", "msg_id", "ID"),
    "destinations": ("destinations", "to", "DST"),
    "time": ("time", "timestamp", "ts"),
    "run": ("run", "Run"),
    "layer": ("layer",),
    "text": ("text", "details"),
    "seq": ("seq",),
}
WORDS = {
    "send": ("send", "SENT", "publish"),
    "deliver": ("deliver", "Delivered", "consume", "deliver", "Delivered", "zap"),
    "receive": ("receive", "RECV", "got"),
    "local": ("local", "tick", "idle"),
}


ZONES = ("Z", "+00:00", "+0200", "", ".250Z", ".123456789Z")


HOWS = ("", "iso", "dashed", "relative", "s", "ms", "us", "ns", "counter")


def drawn_time(random: Random, how: str, zone: str, seconds: float) -> Any:
    if how == "iso":
        zone = random.choice(ZONES) if random.random() < 0.02 else zone
        return f"2024-05-01T12:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}{zone}"
    if how == "dashed":
        return f"2024-W18-3 12:00:{int(seconds) % 60:02}"
    if how == "clock":
        return f"12:00:{int(seconds) % 60:02}"
    scale = {"relative": 1, "s": 1, "ms": 10**3, "us": 10**6}.get(how, 10**9)
    base = {"relative": 0.0, "counter": 97.5}.get(how, 1_714_564_800)
    return round((base + seconds) * scale, 3) if scale == 1 else int((base + seconds) * scale)


@dataclass(frozen=True)
class Style:
    """Somebody's columns and words."""

    names: dict[str, str]
    words: dict[str, str]
    how: str
    """How times are written,"""
    zone: str
    whole: bool
    """and whether in whole seconds."""
    numbered: bool
    doubtful: float

    @classmethod
    def drawn(cls, random: Random) -> "Style":
        names = {column: random.choice(known) for column, known in NAMES.items()}
        words = {kind: random.choice(known) for kind, known in WORDS.items()}
        how = random.choice(HOWS) if random.random() < 0.98 else "clock"
        zone, whole = random.choice(ZONES), random.random() < 0.2
        numbered, doubtful = random.random() < 0.2, random.choice([0.0, 0.0, 0.1])
        return cls(names, words, how, zone, whole, numbered, doubtful)


def drawn_table(
    random: Random,
    rows: Sequence[Row],
    style: Style | None = None,
    start: int = 0,
    counts: dict[Any, int] | None = None,
) -> list[Row]:
    """The same rows with somebody's columns and words; the newest first, perhaps. There may have
    been others before, which were counted."""
    style = style or Style.drawn(random)
    counts = {} if counts is None else counts
    table = []
    for at, row in enumerate(rows, start):
        found = {column: row.get(column) for column in NAMES}
        found["kind"] = style.words.get(row["kind"], row["kind"])
        seconds = at // 7 if style.whole else at / 7
        if style.how and random.random() < 0.97:
            found["time"] = drawn_time(random, style.how, style.zone, seconds)
        if random.random() < 0.005:
            found[random.choice(["time", "process", "kind"])] = "never"
        key = (row.get("run"), row["process"])
        counts[key] = counts.get(key, 0) + (random.random() > style.doubtful)
        found["seq"] = counts[key] if random.random() > style.doubtful / 9 else None
        if not style.numbered:
            del found["seq"]
        table.append({style.names[column]: value for column, value in found.items()})
    if style.numbered and random.random() < 0.5:
        random.shuffle(table)
    return table[::-1] if random.random() < 0.2 else table


def drawn_tables(random: Random, rows: Sequence[Row]) -> list[list[Row]]:
    """One, or the two files of a log that was rotated, or of two hosts that share some processes;
    each may write times in its own way."""
    style = Style.drawn(random)
    if random.random() < 0.75:
        return [drawn_table(random, rows, style)]
    other = style
    if random.random() < 0.4:
        fresh = Style.drawn(random)
        other = replace(style, how=fresh.how, zone=fresh.zone, whole=fresh.whole)
    counts: dict[Any, int] = {}
    middle = random.randint(0, len(rows))
    tables = [
        drawn_table(random, rows[:middle], style, 0, counts),
        drawn_table(random, rows[middle:], other, middle, counts),
    ]
    return [table for table in tables if table] or [[]]


def as_csv(random: Random, table: Sequence[Row]) -> bytes:
    delimiter, separator = random.choice([(",", ";"), (";", ","), ("\t", " "), ("|", " ")])
    end = random.choice(["\n", "\n", "\n", "\r\n", "\r\n", "\r"])

    def field_(value: Any) -> str:
        text = separator.join(value) if isinstance(value, list) else "" if value is None else value
        text = str(text)
        risky = delimiter in text or '"' in text or "\n" in text
        return (
            f'"{text.replace(chr(34), chr(34) * 2)}"' if risky or random.random() < 0.03 else text
        )

    header = list(table[0]) if table else ["process", "kind"]
    lines = [delimiter.join(map(field_, header))]
    lines += [delimiter.join(field_(row[name]) for name in header) for row in table]
    text = end.join(lines) + random.choice([end, end, end, ""])
    return text.encode(random.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))


def as_json_lines(random: Random, table: Sequence[Row]) -> bytes:
    style, nested = random.choice(["text", "number", "large", "float"]), random.random() < 0.1

    def named(row: Row) -> Row:
        def other(value: Any) -> Any:
            if not isinstance(value, str) or not re.fullmatch(r"m\d+", value) or style == "text":
                return value
            number = int(value[1:])
            return {"number": number, "large": 2**60 + number, "float": number + 0.0}[style]

        found = {name: other(value) for name, value in row.items() if value is not None}
        return {**found, "data": found} if nested else found

    return "".join(json.dumps(named(row)) + "\n" for row in table).encode()


def as_clocks(random: Random, rows: Sequence[Row]) -> bytes:
    """GoVector's lines, or the text first; an event that is early leaves no mark there. Lines may
    be missing, at the end, too."""
    text_first, lossy = random.random() < 0.2, random.random() < 0.2
    clocks: dict[str, dict[str, int]] = {}
    sent: dict[str, dict[str, int]] = {}
    text = ""
    for row in rows:
        process = row["process"].replace("/", "")
        clock = clocks.setdefault(process, {})
        if row["kind"] == "deliver":
            for name, count in sent.get(row["message"], {}).items():
                clock[name] = max(clock.get(name, 0), count)
        clock[process] = clock.get(process, 0) + 1
        if row["kind"] == "send":
            sent[row["message"]] = dict(clock)
        if random.random() < 0.01:
            continue
        said = f"{row['kind']} {row.get('message', 'nothing')}"
        lines = [f"{process} {json.dumps(clock)}\n", f"{said}\n"]
        del lines[1 if lossy and random.random() < 0.03 else 2 :]
        text += "".join(reversed(lines) if text_first else lines)
    if random.random() < 0.2:
        text = text.rstrip("\n").rpartition("\n")[0] + random.choice(["", "\n"])
    return text.encode()


CLOCK_PATTERNS = {"send": r"\bsend (?P<message>\S+)", "deliver": r"\bdeliver (?P<message>\S+)",
                  "crash": "^crash"}  # fmt: skip


def as_spans(random: Random, rows: Sequence[Row]) -> bytes:
    """A span an event; consumers are tied by links, parents or ids of messages."""
    requests, ids = [], dict[str, str]()
    coarse = 10**6 if random.random() < 0.2 else 1
    for at, row in enumerate(rows):
        kind = {"send": 4, "deliver": "SPAN_KIND_CONSUMER", "receive": 5}.get(row["kind"], 1)
        span: Row = {"spanId": f"{at:016x}", "name": row["kind"], "kind": kind}
        start = 1_714_564_800_000_000_000 + at * random.choice([1, 50, 10**6])
        start -= start % coarse
        span["startTimeUnixNano"] = random.choice([str(start), start])
        noted = {"messaging.destination.name": "topic"}
        message = row.get("message")
        if message and row["kind"] == "send":
            ids.setdefault(message, span["spanId"])
            noted["messaging.operation.type"] = "send"
            noted["messaging.message.id"] = message
        elif message:
            noted["messaging.operation.type"] = row["kind"].replace("deliver", "process")
            tie = random.choice(["link", "parent", "id"])
            producer = ids.get(message, "f" * 16)
            if tie == "link":
                span["links"] = [{"spanId": producer}]
            elif tie == "parent":
                span["parentSpanId"] = producer
            else:
                noted["messaging.message.id"] = message
        elif at and random.random() < 0.3:
            span["parentSpanId"] = f"{random.randrange(at):016x}"
        if random.random() < 0.005:
            span.setdefault("links", []).append({"spanId": "e" * 16})
        span["attributes"] = [
            {"key": key, "value": {"stringValue": value}} for key, value in noted.items()
        ]
        resource = [{"key": "service.name", "value": {"stringValue": row["process"]}}]
        if random.random() < 0.2:
            resource.append({"key": "host.name", "value": {"stringValue": "h"}})
        scope = {"resource": {"attributes": resource}, "scopeSpans": [{"spans": [span]}]}
        requests.append({"resourceSpans": [scope]})
        if random.random() < 0.01:
            requests.append({random.choice(["resourceMetrics", "resourceLogs", "other"]): []})
    return "".join(json.dumps(one) + "\n" for one in requests).encode()


def as_recordings(random: Random, rows: Sequence[Row]) -> list[bytes]:
    """One, or those before and after a restart. A clock may be set back."""
    begin, ahead = '{"antecede":"recording","version":1}\n', random.choice([0, 0, 3])
    middle = random.randint(0, len(rows)) if random.random() < 0.3 else len(rows)
    lines = []
    for at, row in enumerate(rows):
        time = 1_714_564_800 + at / 7 + (ahead if 2 * at < middle else 0)
        known = {key: value for key, value in row.items() if value is not None}
        lines.append(json.dumps({**known, "time": time}) + "\n")
    cut = len(lines[-1]) // 2 if lines and random.random() < 0.2 else None
    lines = [*lines[:-1], lines[-1][:cut]] if lines else []
    parts = [lines[:middle], lines[middle:]] if middle < len(rows) else [lines]
    return [(begin + "".join(part)).encode() for part in parts]


def drawn_log(random: Random) -> Dropped:
    """One log of one of all formats; every second is dirty."""
    dirt = random.choice([0.0, 0.0, 0.05, 0.2])
    several = random.random() < 0.15
    rows = drawn_rows(random, dirt=dirt)
    if several:
        rows += drawn_rows(random, random.choice(["b", "_hidden", "A b/c"]), dirt=dirt)
    wishes = drawn_wishes(random)
    kind = random.choice(["csv", "csv", "csv", "jsonl", "jsonl", "clocks", "spans", "recording"])
    match kind:
        case "csv" | "jsonl":
            write = as_csv if kind == "csv" else as_json_lines
            seed = random.getrandbits(32)  # which draws the delimiter of all files first
            contents = [write(Random(seed), one) for one in drawn_tables(random, rows)]
            files = {f"{at or ''}log.{kind}": one for at, one in enumerate(contents)}
            return Dropped(_packed(random, files), wishes)
        case "clocks":
            patterns = random.choice([{}, CLOCK_PATTERNS])
            return Dropped({"go.log": as_clocks(random, rows)}, {**wishes, "patterns": patterns})
        case "spans":
            return Dropped({"spans.jsonl": as_spans(random, rows)}, wishes)
        case _:
            recorded = enumerate(as_recordings(random, rows))
            return Dropped({f"{at}.trace": content for at, content in recorded}, wishes)


def _packed(random: Random, files: dict[str, bytes]) -> dict[str, bytes]:
    """The same files, the first perhaps packed, and then perhaps cut off."""
    if random.random() > 0.05:
        return files
    (name, content), *others = files.items()
    packed = gzip.compress(content, mtime=0)
    return {f"{name}.gz": packed[: random.randint(20, 2 * len(packed))], **dict(others)}


STRANGE = [b"\x00", b"\xff", b"\xef\xbb\xbf", b'"', b"\n", b"\r", b"{", b"}", b"[", b",", b";",
           b"-1", b"1e999", b"99999999999999999999", "\u202e東".encode(), b"null", b"\xed\xa0\x80",
           b"\\ud800", b"NaN", b"'", b"\x1f\x8b", b"1.0", b"true", b"\x85", b""]  # fmt: skip


def wounded(random: Random, log: Dropped) -> Dropped:
    """The same with a few bytes put, replaced, cut or doubled, or without its end."""
    name, content = next(iter(log.files.items()))
    for _ in range(random.randint(1, 3)):
        first = random.randint(0, len(content))
        stop = random.randint(first, min(len(content), first + 40))
        match random.choice(["put", "replace", "cut", "double", "truncate"]):
            case "put":
                content = content[:first] + random.choice(STRANGE) + content[first:]
            case "replace":
                content = content[:first] + random.choice(STRANGE) + content[stop:]
            case "cut":
                content = content[:first] + content[stop:]
            case "double":
                content = content[:stop] + content[first:]
            case _:
                content = content[:first]
    return Dropped({**log.files, name: content}, log.wishes)


def drawn_runs(random: Random, count: int) -> Dropped:
    """Many clean runs in one log."""
    rows = [row for number in range(count) for row in drawn_rows(random, f"run {number}")]
    return Dropped({"runs.csv": as_csv(random, drawn_table_of_runs(rows))})


def drawn_table_of_runs(rows: Sequence[Row]) -> list[Row]:
    columns = ("run", "process", "kind", "message", "destinations", "layer", "text")
    return [{name: row.get(name) for name in columns} for row in rows]
