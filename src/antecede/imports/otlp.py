"""OpenTelemetry spans as a log: producers send, consumers deliver, other spans are local events.

Spans come as OTLP JSON, one request a line (the collector's file exporter, `audit --listen`) or one
in the whole file. A consumer span is tied to its producer by a link, by its parent, or by
`messaging.message.id`. A process is a service, or one of its instances where there are several; its
own clock orders what it does. Nothing in a span says whom a message is for: with `broadcast`, it is
for every process that consumes from its destination.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from antecede.errors import BadFile
from antecede.imports.assemble import assemble
from antecede.imports.detect import OTLP_SIGNALS
from antecede.imports.events import LOCAL, OTHERWISE, LogEvent, Places
from antecede.imports.imported import Imported
from antecede.imports.local_order import Order
from antecede.imports.problems import Problems
from antecede.imports.reading import (
    LONGEST,
    UNREADABLE,
    name_of,
    open_text,
    parse_json,
    read_lines,
    read_whole,
    unreadable,
    whole_of,
)
from antecede.trace import DELIVER, RECEIVE, SEND, Assumed

SERVER, PRODUCER, CONSUMER = 2, 4, 5
UNKNOWN: Final = "unknown"
NO_SPAN: Final = (
    "there is no span in it; messages are seen in spans, which the collector's file exporter "
    "writes in a pipeline of traces"
)
KINDS: Final = {f"SPAN_KIND_{name}": code for code, name in enumerate(
    ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"))}  # fmt: skip
SENDING: Final = {"send", "publish", "create"}
RECEIVING: Final = {"receive"}
CONSUMING: Final = {"process", "deliver", *RECEIVING}
SCOPES: Final = ("scopeSpans", "instrumentationLibrarySpans")
"""Where the spans of a resource stand; the second is how it was called before 2022."""
INSTANCE: Final = ("service.instance.id", "k8s.pod.name", "host.name")
OPERATION: Final = ("messaging.operation.type", "messaging.operation")
MESSAGE: Final = ("messaging.message.id", "messaging.message_id")
DESTINATION: Final = ("messaging.destination.name", "messaging.destination")

CALLS: Final = Assumed(
    "calls",
    "services call each other, which is no message here",
    "what depends on what through a call is not seen",
)
APART: Final = Assumed(
    "parents",
    "spans have a parent or a link that is not in the log",
    "if that is of another process, what depends on what through it is not seen",
)
SAME_START: Final = Assumed(
    "ties",
    "spans of a process begin at the same time and none is within the other; the one that the log "
    "has first counts as earlier",
    OTHERWISE,
    unsure=True,
)
AT_ONCE: Final = Assumed(
    "ties",
    "spans consume several messages at once; these count as delivered in the order of the links",
    OTHERWISE,
    unsure=True,
)
UNNAMED: Final = Assumed(
    "unnamed",
    "spans whose resource has neither service.name nor an instance count as those of one process",
    "if they are of several, what these did counts as ordered",
    unsure=True,
)
NO_START: Final = Assumed(
    "ties",
    "spans that do not say when they began count as the first of their process",
    OTHERWISE,
    unsure=True,
)
BY_CLOCK: Final = Assumed(
    "clock",
    "what a process did is ordered by the start times of its spans",
    "what its threads did independently counts as ordered",
    doubt=False,
)


@dataclass(slots=True, eq=False)
class Span:
    """What matters of a span."""

    file: int
    line: int
    id: str
    service: str
    instance: str
    kind: int
    name: str
    start_ns: int
    causes: list[str]
    """The spans that it links to, and its parent."""
    parent: str
    operation: str
    destination: str
    message: str
    process: str = ""

    @property
    def sends(self) -> bool:
        return self.kind == PRODUCER or (self.operation in SENDING and bool(self.destination))

    @property
    def consumes(self) -> bool:
        return not self.sends and (
            self.kind == CONSUMER or (self.operation in CONSUMING and bool(self.destination))
        )


def import_otlp(
    files: Sequence[Path], *, broadcast: bool = False, tolerate: Iterable[str] = ()
) -> Imported:
    """The single run that spans tell of."""
    places, problems = Places(files), Problems(tolerate)
    ids = _Ids()
    spans = [
        span
        for index, file in enumerate(files)
        for span in _spans(index, file, ids, places, problems)
    ]
    if not spans:
        problems.refuse(places.source)
        raise BadFile(places.source, [NO_SPAN])
    _name_processes(spans)
    known = _Known.of(spans)
    calls = known.count_calls(spans)
    # By nanoseconds, of which a time in seconds forgets some hundreds.
    in_order = sorted(spans, key=lambda span: (span.start_ns, len(known.around(span))))
    events = [event for span in in_order for event in known.events(span, broadcast)]
    assumed = [BY_CLOCK]
    unnamed = [span for span in in_order if span.service == UNKNOWN and not span.instance]
    found = {
        SAME_START: known.tied(in_order),
        AT_ONCE: [one for one in in_order if known.delivers(one) > 1],
        UNNAMED: unnamed,
        NO_START: [one for one in in_order if not one.start_ns and (one.sends or one.consumes)],
        APART: known.apart(in_order),
    }
    for what, of in found.items():
        if of:
            first = places.line(of[0].file, of[0].line)
            where = tuple(dict.fromkeys(span.process for span in of)) if what.unsure else ()
            assumed.append(replace(what, count=len(of), first=first, processes=where))
    if calls:
        assumed.append(Assumed(CALLS.what, CALLS.happened, CALLS.meaning, calls))
    return assemble(files, events, problems, assumed=assumed, is_absolute=True, order=Order.GIVEN)


def _name_processes(spans: Sequence[Span]) -> None:
    """A service, or its instances where it has several."""
    instances: dict[str, dict[str, None]] = {}
    for span in spans:
        instances.setdefault(span.service, {})[span.instance] = None
    for span in spans:
        alone = len(instances[span.service]) == 1
        span.process = span.service if alone else f"{span.service}/{span.instance}"


@dataclass
class _Known:
    """What the spans say together."""

    by_id: dict[str, Span]
    by_message: dict[tuple[str, str], Span]
    """Producers by destination and message."""
    consumers: dict[str, dict[str, None]]
    """By destination, who consumes from it."""
    batches: dict[str, list[str]] = field(default_factory=dict)
    """By the span that sends a batch, those that created its messages; it sends none of its own."""
    processed: set[tuple[str, str]] = field(default_factory=set)
    """Process and producer, where the message was processed, so that receiving it is not all."""

    @classmethod
    def of(cls, spans: Sequence[Span]) -> "_Known":
        known = cls({span.id: span for span in spans}, {}, {})
        for span in spans:
            links = span.causes[:-1] if span.parent else span.causes
            created = [one for one in links if one in known.by_id and known.by_id[one].sends]
            if span.sends and created and span.id not in created:
                known.batches[span.id] = created
        for span in spans:
            if span.sends and span.message and span.id not in known.batches:
                known.by_message[span.destination, span.message] = span
            if span.consumes:
                known.consumers.setdefault(span.destination, {})[span.process] = None
        for span in spans:
            if span.consumes and span.operation not in RECEIVING:
                known.processed |= {(span.process, one) for one in known.producers(span)}
        return known

    def producers(self, span: Span) -> list[str]:
        """The producers of what a span consumes, by their ids; one that is unknown counts."""
        found = [one for one in span.causes if one in self.by_id and self.by_id[one].sends]
        if not found and (sent := self.by_message.get((span.destination, span.message))):
            found = [sent.id]
        if not found:
            found = [one for one in span.causes if one not in self.by_id] or [f"of {span.id}"]
        return list(dict.fromkeys(one for each in found for one in self.batches.get(each, [each])))

    def name(self, producer: str) -> str:
        """A message as people know it: by its own id, else by what sent it."""
        sent = self.by_id.get(producer)
        if sent is None:
            return f"span {producer}"
        if not sent.message:
            return f"{sent.name} {sent.id}"
        return f"{sent.destination} {sent.message}".strip()

    def events(self, span: Span, broadcast: bool) -> Iterator[LogEvent]:
        def event(kind: int, message: str | None = None, to: list[str] | None = None) -> LogEvent:
            seconds = span.start_ns / 1e9
            return LogEvent(span.file, span.line, "spans", span.process, kind, message, to,
                            time=seconds, text=span.name)  # fmt: skip

        if span.sends and span.id not in self.batches:
            readers = [name for name in self.consumers.get(span.destination, ())
                       if name != span.process]  # fmt: skip
            yield event(SEND, self.name(span.id), readers if broadcast else None)
        elif span.consumes:
            for producer in self.producers(span):
                kind = RECEIVE if self._is_later(span, producer) else DELIVER
                yield event(kind, self.name(producer))
        else:
            yield event(LOCAL)

    def delivers(self, span: Span) -> int:
        """How many messages a span delivers of which the log has the sends."""
        return sum(
            one in self.by_id and not self._is_later(span, one)
            for one in (self.producers(span) if span.consumes else ())
        )

    def _is_later(self, span: Span, producer: str) -> bool:
        """Whether what a span receives is processed, and so delivered, by another."""
        return span.operation in RECEIVING and (span.process, producer) in self.processed

    def around(self, span: Span) -> list[Span]:
        """The spans that this one is within and that begin with it, at the same process."""
        found: list[Span] = []
        outer = self.by_id.get(span.parent)
        while (
            outer is not None
            and (outer.start_ns, outer.process) == (span.start_ns, span.process)
            and outer is not span
            and outer not in found
        ):
            found.append(outer)
            outer = self.by_id.get(outer.parent)
        return found

    def tied(self, in_order: Sequence[Span]) -> list[Span]:
        """Spans that could as well stand before the one that stands before them."""
        last: dict[str, Span] = {}
        found = []
        for span in in_order:
            if not span.sends and not span.consumes:
                continue
            before, last[span.process] = last.get(span.process), span
            if before is not None and before.start_ns == span.start_ns:
                found += [] if before in self.around(span) else [span]
        return found

    def apart(self, spans: Iterable[Span]) -> list[Span]:
        """Spans that refer to one that is not there, which is told in no other way: neither as a
        call from elsewhere nor as a message that nobody sends."""
        found = []
        for span in spans:
            unknown = {one for one in span.causes if one not in self.by_id}
            if span.consumes:
                unknown -= set(self.producers(span))
            elif span.kind == SERVER:
                unknown -= {span.parent}
            found += [span] if unknown else []
        return found

    def count_calls(self, spans: Sequence[Span]) -> int:
        """Spans that refer to one of another process, and that is no message. Who is called by
        somebody unknown is called from elsewhere."""
        return sum(self._is_call(span) for span in spans)

    def _is_call(self, span: Span) -> bool:
        near = {span.process}
        if span.consumes:
            near |= {self.by_id[one].process for one in self.producers(span) if one in self.by_id}
        elif span.kind == SERVER and span.parent and span.parent not in self.by_id:
            return True
        known = (self.by_id[one] for one in span.causes if one in self.by_id)
        return any(one.process not in near for one in known)


class _Ids:
    """Names for spans, whose own ids tell them apart within a trace alone."""

    def __init__(self) -> None:
        self._traces: dict[str, str] = {}

    def name(self, trace: Any, span: Any) -> str:
        """The id itself for the trace in which it comes first; so for a link without a trace."""
        found = str(span)
        if trace is None or self._traces.setdefault(found, str(trace)) == str(trace):
            return found
        return f"{found} of trace {trace}"


def _spans(file: int, path: Path, ids: _Ids, places: Places, problems: Problems) -> Iterator[Span]:
    for line, request in _requests(file, path, places, problems):
        try:
            yield from _of_request(file, line, ids, request)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            told = f"{error} is missing" if isinstance(error, KeyError) else error
            detail = f"this is no OTLP: {told}"
            problems.add("bad-rows", places.line(file, line), detail, "otlp")


def _requests(
    file: int, path: Path, places: Places, problems: Problems
) -> Iterator[tuple[int, Any]]:
    """The JSON objects of a file: one a line, or one in all."""
    try:
        with open_text(path, problems) as text:
            first = text.readline(LONGEST)
            try:
                yield 1, parse_json(first)
            except ValueError:
                whole = read_whole(text, name_of(path), first)
                try:
                    yield 1, parse_json(whole)
                except (ValueError, RecursionError) as error:
                    raise BadFile(name_of(path), [f"this is no JSON: {error}"]) from None
                return
            for line, content in enumerate(read_lines(text, name_of(path), 1), 2):
                if content.strip():
                    try:
                        yield line, parse_json(content)
                    except (ValueError, RecursionError) as error:
                        name = "bad-rows" if content.endswith("\n") else "truncated"
                        problems.add(name, places.line(file, line), f"this is no JSON: {error}")
    except (*UNREADABLE, RecursionError) as error:
        raise unreadable(path, error) from error


def _of_request(file: int, line: int, ids: _Ids, request: Mapping[str, Any]) -> Iterator[Span]:
    if any(name in request for name in OTLP_SIGNALS[1:]):
        request = {"resourceSpans": (), **request}
    for resource_spans in _list(request["resourceSpans"]):
        found = resource_spans.get("resource")
        resource = _attributes({} if found is None else found)
        service = str(resource.get("service.name", UNKNOWN))
        instance = str(_first(resource, INSTANCE) or "")
        for name in resource_spans:
            if "spans" in name.lower() and name not in SCOPES:
                raise ValueError(f"spans are in scopeSpans, not in {name}")
        for scope in (one for name in SCOPES for one in _list(resource_spans.get(name))):
            for span in _list(scope.get("spans")):
                yield _span(file, line, ids, service, instance, span)


def _list(found: Any) -> Any:
    """What is in a list; in protocol buffers nothing is an empty one."""
    return () if found is None else found


def _span(
    file: int, line: int, ids: _Ids, service: str, instance: str, found: Mapping[str, Any]
) -> Span:
    attributes = _attributes(found)
    trace = found.get("traceId", "")
    id_ = ids.name(trace, found["spanId"])
    links = [
        ids.name(link.get("traceId") or None, link["spanId"]) for link in _list(found.get("links"))
    ]
    parent = ids.name(trace, found["parentSpanId"]) if found.get("parentSpanId") else ""
    return Span(
        file,
        line,
        id_,
        service,
        instance,
        _kind(found.get("kind")),
        str(found.get("name", "")),
        _nanoseconds(found["startTimeUnixNano"]),
        [*links, *([parent] if parent else [])],
        parent,
        str(_first(attributes, OPERATION) or ""),
        str(_first(attributes, DESTINATION) or ""),
        str(_first(attributes, MESSAGE) or ""),
    )


def _kind(found: Any) -> int:
    if isinstance(found, str) and found not in KINDS:
        raise ValueError(f"there is no kind {found!r}")
    return KINDS[found] if isinstance(found, str) else whole_of(0 if found is None else found)


def _nanoseconds(found: Any) -> int:
    if abs(number := whole_of(found)) >= 2**64:
        raise ValueError(f"startTimeUnixNano has {len(str(number))} digits")
    return number


def _attributes(holder: Mapping[str, Any]) -> dict[str, Any]:
    return {
        str(one["key"]): next(iter(one.get("value", {}).values()), None)
        for one in _list(holder.get("attributes"))
    }


def _first(attributes: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((attributes[name] for name in names if attributes.get(name)), None)
