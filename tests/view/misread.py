"""Logs that may be misread: columns and words with other meanings than their names have elsewhere,
several candidates for one role, spans as other versions write them. Who draws them knows the truth:
it may be told, asked for, refused or left open, but nothing else may be said."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from antecede.imports.problems import TOLERABLE
from tests.view.dropped import Dropped, Row, as_csv, as_json_lines

ROLES: Mapping[str, Sequence[str]] = {
    "process": ("process", "host", "node", "service", "pod", "instance", "server", "worker", "pid",
                "client", "who", "at", "svc", "zone", "app", "peer", "machine", "thread", "name"),
    "kind": ("kind", "event", "type", "action", "op", "direction", "what", "status", "level"),
    "message": ("message_id", "msg", "message", "id", "uuid", "key", "correlation_id", "event_id",
                "trace", "offset"),
    "destinations": ("destinations", "to", "dst", "receiver", "target", "recipient", "peer",
                     "queue", "remote"),
    "time": ("time", "timestamp", "ts", "when", "date", "at", "t", "created", "logged_at"),
    "other": ("sender", "from", "source", "origin", "number", "seqno", "run", "seq", "layer",
              "text", "line", "log", "detail"),
}  # fmt: skip
"""What people call each column. Which of them the importer knows is its own affair."""
HERE = {*ROLES["process"]} - {"peer", "server", "client", "name"}
"""Names for where something happens. Nobody could know that such a column tells of elsewhere."""
ANY_NAME = sorted({name for names in ROLES.values() for name in names})
SENDS = ("send", "SENT", "publish", "out", "emit", "SEND_URGENT", "dispatch", "enqueue", "push")
DELIVERS = ("deliver", "RECV", "consume", "in", "handled", "RECV_URGENT", "dequeue", "pull", "took")
OTHERS = ("tick", "ack", "retry", "log", "enqueued", "seen", "idle")


def drawn_run(random: Random, *, to_all: bool) -> list[Row]:
    """A run in the order of time. Every delivery has its send and its address."""
    processes = random.sample(["p", "q", "r", "s"], random.randint(2, 4))
    hurry, coming = random.choice([0.0, 0.7]), {name: list[Row]() for name in processes}
    rows: list[Row] = []
    for number in range(1, random.randint(5, 16)):
        process = random.choice(processes)
        if coming[process] and random.random() < 0.6:
            place = random.randrange(len(coming[process])) if random.random() < hurry else 0
            rows.append(coming[process].pop(place))
        elif random.random() < 0.2:
            rows.append({"process": process, "kind": "local"})
        else:
            others = [one for one in processes if one != process]
            to = others if to_all else random.sample(others, random.randint(1, len(others)))
            sent = {"process": process, "message": f"m{number}", "sender": process}
            rows.append({**sent, "kind": "send", "destinations": to})
            for one in to if random.random() < 0.8 else ():
                coming[one].append({**sent, "process": one, "kind": "deliver"})
    for left in coming.values():
        rows += left[: random.choice([0, 9, 9])]
    return rows


def truth_of(rows: Sequence[Row]) -> str:
    """Whether somebody delivers a message before one that it depends on, by sets of messages."""
    past: dict[str, set[str]] = {}
    carried: dict[str, set[str]] = {}
    got: dict[str, set[str]] = {}
    addresses: dict[str, list[str]] = {}
    for row in rows:
        process, message = row["process"], row.get("message", "")
        known, have = past.setdefault(process, set()), got.setdefault(process, set())
        if row["kind"] == "send":
            carried[message], addresses[message] = set(known), row["destinations"]
            known.add(message)
        elif row["kind"] == "deliver":
            if any(process in addresses[one] for one in carried[message] - have):
                return "broken"
            have.add(message)
            known |= carried[message] | {message}
    return "kept"


def drawn_misreads(count: int, first: int = 0) -> Iterator[tuple[Dropped, str]]:
    """So many of them, the same ones each time."""
    return (drawn_misread(Random(seed)) for seed in range(first, first + count))


def drawn_misread(random: Random) -> tuple[Dropped, str]:
    """A log and the truth about it."""
    to_all = random.random() < 0.75
    rows = drawn_run(random, to_all=to_all)
    wishes: dict[str, Any] = {"broadcast": True} if to_all and random.random() < 0.8 else {}
    if random.random() < 0.7:
        wishes["tolerate"] = sorted(TOLERABLE)
    if random.random() < 0.25:
        return Dropped({"spans.jsonl": as_other_spans(random, rows)}, wishes), truth_of(rows)
    draw = _table if random.random() < 0.4 else _trap
    table, said = draw(random, rows, has_addresses=not to_all or random.random() < 0.2)
    wishes |= said
    if random.random() < 0.5:
        return Dropped({"log.csv": as_csv(random, table)}, wishes), truth_of(rows)
    return Dropped({"log.jsonl": as_json_lines(random, table)}, wishes), truth_of(rows)


def drawn_omissions(count: int) -> Iterator[tuple[Dropped, str]]:
    """So many logs of what did not happen as it seems: sends that failed, processes that join late,
    names that are used again, batches of spans."""
    return (_drawn_omission(Random(seed)) for seed in range(count))


def _drawn_omission(random: Random) -> tuple[Dropped, str]:
    case = random.choice(["failed", "joins", "reused", "batches"])
    rows = drawn_run(random, to_all=case != "reused")
    match case:
        case "failed":
            rows, happened = _failing(random, rows)
            wishes: dict[str, Any] = {"broadcast": random.random() < 0.5}
        case "joins":
            rows = happened = _joining(random, rows)
            wishes = {"broadcast": True}
        case "reused":
            rows, happened = _reusing(random, rows), rows
            wishes = {"broadcast": False, "tolerate": sorted(TOLERABLE)}
        case _:
            wishes = {"broadcast": random.random() < 0.8}
            return Dropped({"spans.jsonl": _as_batches(random, rows)}, wishes), truth_of(rows)
    names = {"process": "node", "kind": "event", "message": "msg"}
    if not wishes["broadcast"] and (case != "reused" or random.random() < 0.5):
        names["destinations"] = "to"
    words = {"send": ["send"], "deliver": ["recv"], "local": ["tick"], "join": ["join"],
             "failed": random.sample(["send_failed", "nack", "dropped"], 1)}  # fmt: skip
    table = _written(random, rows, names, {}, words)
    return Dropped({"log.csv": as_csv(random, table)}, wishes), truth_of(happened)


def _failing(random: Random, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """What the log says, and what happened: of messages that nobody delivers some were not sent."""
    got = {row["message"] for row in rows if row["kind"] == "deliver"}
    failed = {row["message"] for row in rows if row["kind"] == "send"} - got
    failed = {message for message in sorted(failed) if random.random() < 0.8}
    told = list[Row]()
    for row in rows:
        told.append(row)
        if row["kind"] == "send" and row["message"] in failed:
            told.append({**row, "kind": "failed", "destinations": None})
    return told, [row for row in rows if row.get("message") not in failed]


def _reusing(random: Random, rows: Sequence[Row]) -> list[Row]:
    """A sender gives the name of a message to a later one, too."""
    sent = [row for row in rows if row["kind"] == "send"]
    pairs = [(a["message"], b["message"]) for at, a in enumerate(sent) for b in sent[at + 1 :]
             if a["process"] == b["process"]]  # fmt: skip
    if not pairs:
        return list(rows)
    first, later = random.choice(pairs)
    return [{**row, "message": first} if row.get("message") == later else row for row in rows]


def _joining(random: Random, rows: Sequence[Row]) -> list[Row]:
    """One of them joins in the middle: what was sent before is not for it, nor what it sends."""
    late = random.choice([row["process"] for row in rows])
    at = random.randrange(len(rows))
    early = {row["message"] for row in rows[:at] if row["kind"] == "send"}
    gone = {row["message"] for row in rows[:at] if row["process"] == late and "message" in row}
    gone &= {row["message"] for row in rows if row["kind"] == "send" and row["process"] == late}
    found = list[Row]()
    for place, row in enumerate(rows):
        found += [{"process": late, "kind": "join"}] if place == at else []
        if row.get("message") in gone or (row["process"] == late and place < at):
            continue
        if row["kind"] == "deliver" and row["process"] == late and row["message"] in early:
            continue
        if row["kind"] == "send" and place < at:
            row = {**row, "destinations": [one for one in row["destinations"] if one != late]}  # noqa: PLW2901
        found.append(row)
    return found


def _as_batches(random: Random, rows: Sequence[Row]) -> bytes:
    """Spans of which some consume several messages, with links in any order."""
    ids = {row["message"]: f"{at:016x}" for at, row in enumerate(rows) if row["kind"] == "send"}
    requests, batch = [], list[dict[str, str]]()
    for at, row in enumerate(rows):
        noted = {"messaging.destination.name": "orders"} if "message" in row else {}
        kind = {"send": 4, "deliver": 5}.get(row["kind"], 1)
        span: Row = {"traceId": "1", "spanId": f"{at:016x}", "name": row["kind"], "kind": kind}
        span["startTimeUnixNano"] = 1_714_564_800_000_000_000 + at
        span["attributes"] = _attributes(noted)
        if kind == 5:
            batch.append({"traceId": "1", "spanId": ids[row["message"]]})
            following = rows[at + 1] if at + 1 < len(rows) else {}
            if (following.get("kind"), following.get("process")) == ("deliver", row["process"]):
                continue
            span["links"], batch = random.sample(batch, len(batch)), []
        resource = {"attributes": _attributes({"service.name": row["process"]})}
        requests.append(
            {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}
        )
    return "".join(json.dumps(one) + "\n" for one in requests).encode()


def _table(random: Random, rows: Sequence[Row], *, has_addresses: bool) -> tuple[list[Row], Row]:
    """Rows, and what somebody says of them, which is true."""
    roles = ["process", "kind", "message"] + ["destinations"] * has_addresses
    roles += ["time"] * (random.random() < 0.6)
    names: dict[str, str] = {}
    for role in roles:
        pool = ROLES[role] if random.random() < 0.9 else ANY_NAME
        names[role] = random.choice([one for one in pool if one not in names.values()])
    free = [one for one in ANY_NAME if one not in names.values()]
    meanings = random.sample(sorted({*MEANINGS} - {"the traffic"}), 3)
    extra = dict(zip(random.sample(free, 3), meanings, strict=True))
    extra = dict(list(extra.items())[: random.randint(0, 3)])
    for name in HERE & extra.keys():
        if extra[name] == "the other side":
            extra[name] = "the machine"
    words = {"send": _some(random, SENDS), "deliver": _some(random, DELIVERS),
             "local": _some(random, OTHERS)}  # fmt: skip
    table = _written(random, rows, names, extra, words)
    return table, {
        "columns": {role: name for role, name in names.items() if random.random() < 0.3},
        "kinds": {kind: ",".join(of) for kind, of in words.items() if random.random() < 0.2},
    }


def _trap(random: Random, rows: Sequence[Row], *, has_addresses: bool) -> tuple[list[Row], Row]:
    """A log that everybody understands, but for one thing."""
    names = {"process": "process", "kind": "event", "message": "msg"}
    names |= {"destinations": "to"} if has_addresses else {}
    words: dict[str, Sequence[str]] = {"send": ["send"], "deliver": ["recv"], "local": ["tick"]}
    extra = {}
    match random.choice(["process", "process", "other", "kind", "send", "deliver"]):
        case "process":
            names["process"] = random.choice(["svc", "svc", "service", "worker"])
            name = random.choice(["at", "host", "peer", "server"])
            here = ["a time", "a time as text", "a time of day", "the machine", "the row"]
            extra[name] = random.choice(here if name in HERE else ["the other side"])
        case "kind":
            extra[random.choice(["direction", "a", "op"])] = "the traffic"
        case "other":
            name = random.choice([*ROLES["destinations"], *ROLES["other"], *ROLES["time"][:3]])
            extra[name] = random.choice(sorted({*MEANINGS} - {"the traffic"}))
        case "send":
            words["send"] = ["send", random.choice(SENDS[5:])]
        case _:
            words["deliver"] = random.sample(DELIVERS, 2)
    extra = {name: meaning for name, meaning in extra.items() if name not in names.values()}
    return _written(random, rows, names, extra, words), {}


def _written(
    random: Random,
    rows: Sequence[Row],
    names: Mapping[str, str],
    extra: Mapping[str, str],
    words: Mapping[str, Sequence[str]],
) -> list[Row]:
    table = []
    for at, row in enumerate(rows):
        found = {role: row.get(role) for role in names}
        found["kind"] = random.choice(words[row["kind"]])
        if "time" in names:
            found["time"] = 1_714_564_800 + at
        if row["kind"] == "local" and random.random() < 0.5:  # of some message
            found["message"] = random.choice(rows).get("message")
        line = {names[role]: value for role, value in found.items()}
        line |= {name: MEANINGS[meaning](at, row) for name, meaning in extra.items()}
        table.append(dict(sorted(line.items())))
    return table


def _some(random: Random, words: Sequence[str]) -> Sequence[str]:
    return random.sample(words, random.choice([1, 1, 1, 2]))


MEANINGS: Mapping[str, Callable[[int, Row], Any]] = {
    "the machine": lambda _, row: "AB"[ord(row["process"]) % 2],
    "the same machine": lambda *_: "A",
    "the other side": lambda _, row: (row.get("destinations") or [row.get("sender", "")])[0],
    "the sender": lambda _, row: row.get("sender", ""),
    "the topic": lambda *_: "orders",
    "a time": lambda at, _: 1_714_564_800 + at,
    "a time as text": lambda at, _: f"2024-05-01T12:00:{at % 60:02}Z",
    "a time of day": lambda at, _: f"12:00:{at % 60:02}",
    "the row": lambda at, _: f"row-{at}",
    "the direction": lambda _, row: {"send": "out", "deliver": "in"}.get(row["kind"], ""),
    "the traffic": lambda _, row: "out" if row["kind"] == "send" else "in",
    "the layer below": lambda _, row: "recv" if row["kind"] == "local" else "sent",
    "the payload": lambda _, row: f"about {row.get('message', 'nothing')}",
    "the size": lambda at, _: at * 37 % 11,
    "nothing": lambda *_: "",
}  # fmt: skip
"""What else a column may hold, whatever it is called."""


def as_other_spans(random: Random, rows: Sequence[Row]) -> bytes:
    """Spans of two exporters, each with the names of its version."""
    versions = [_version(random), _version(random)]
    requests, ids = [], dict[str, str]()
    for at, row in enumerate(rows):
        version = versions[ord(row["process"]) % 2]
        span: Row = {"traceId": "1", "spanId": f"{at:016x}", "name": row["kind"]}
        span["kind"] = {"send": version["send"], "deliver": version["deliver"]}.get(row["kind"], 1)
        span["startTimeUnixNano"] = 1_714_564_800_000_000_000 + at
        noted = {version["topic"]: "orders"} if "message" in row else {}
        if row["kind"] == "send":
            ids[row["message"]] = span["spanId"]
            noted |= {version["operation"]: "publish", version["id"]: row["message"]}
        elif row["kind"] == "deliver":
            noted[version["operation"]] = "process"
            match random.choice(["links", "parent", "id"]):
                case "links":
                    span["links"] = [{"traceId": "1", "spanId": ids[row["message"]]}]
                case "parent":
                    span["parentSpanId"] = ids[row["message"]]
                case _:
                    noted[version["id"]] = row["message"]
        span["attributes"] = _attributes(noted)
        resource = {"attributes": _attributes({"service.name": row["process"]})}
        request = {"resourceSpans": [{"resource": resource, version["scope"]: [{"spans": [span]}]}]}
        requests.append(_snaked(request) if version["snake"] else request)
    return "".join(json.dumps(one) + "\n" for one in requests).encode()


MESSAGE_IDS = ("messaging.message.id", "messaging.message.id", "messaging.message_id",
               "messaging.kafka.id")  # fmt: skip


def _version(random: Random) -> Row:
    is_new = random.random() < 0.6
    send, deliver = random.choice([(4, 5), ("SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER"),
                                   ("PRODUCER", "CONSUMER")][: 3 - is_new])  # fmt: skip
    scopes = ["scopeSpans", "scopeSpans", "instrumentationLibrarySpans", "librarySpans"]
    return {
        "send": send,
        "deliver": deliver,
        "scope": random.choice(scopes[: 2 if is_new else 4]),
        "topic": random.choice(["messaging.destination.name", "messaging.destination"]),
        "operation": random.choice(["messaging.operation.type", "messaging.operation"]),
        "id": random.choice(MESSAGE_IDS),
        "snake": not is_new and random.random() < 0.3,
    }


def _attributes(noted: Mapping[str, str]) -> list[Row]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in noted.items()]


def _snaked(value: Any) -> Any:
    """With names as protocol buffers have them in their text."""
    if isinstance(value, list):
        return [_snaked(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {"".join(f"_{one.lower()}" if one.isupper() else one for one in name): _snaked(of)
            for name, of in value.items()}  # fmt: skip
