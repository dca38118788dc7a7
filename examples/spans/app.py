"""Questions and answers over two Redis streams, instrumented with the OpenTelemetry SDK.

A customer asks in one stream, a desk answers in another, a dashboard reads both. Every publication
is a span of kind PRODUCER whose context travels with the message; every consumption is a span of
kind CONSUMER with a link to it, as the semantic conventions for messaging say.
"""

from collections.abc import Iterator
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

CONTEXT = TraceContextTextMapPropagator()


class Service:
    """A service with its tracer and its connection."""

    def __init__(self, name: str, endpoint: str, redis: Any) -> None:
        self._redis = redis
        self._provider = TracerProvider(resource=Resource.create({"service.name": name}))
        exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")
        self._provider.add_span_processor(SimpleSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("examples.spans")

    def publish(self, stream: str, number: int) -> None:
        """Send a message; its context goes with it."""
        attributes = self._attributes(stream, number, "send")
        with self._tracer.start_as_current_span(
            f"send {stream}", kind=trace.SpanKind.PRODUCER, attributes=attributes
        ):
            carrier: dict[str, str] = {}
            CONTEXT.inject(carrier)
            self._redis.xadd(stream, {"number": number, **carrier})

    def consume(self, *streams: str) -> Iterator[int]:
        """Whatever stands in these streams, one after the other."""
        for stream in streams:
            for _, fields in self._redis.xrange(stream):
                found = {key.decode(): value.decode() for key, value in fields.items()}
                sent = trace.get_current_span(CONTEXT.extract(found)).get_span_context()
                number = int(found["number"])
                with self._tracer.start_as_current_span(
                    f"process {stream}",
                    kind=trace.SpanKind.CONSUMER,
                    links=[trace.Link(sent)],
                    attributes=self._attributes(stream, number, "process"),
                ):
                    yield number

    def _attributes(self, stream: str, number: int, operation: str) -> dict[str, str]:
        return {
            "messaging.system": "redis",
            "messaging.destination.name": stream,
            "messaging.operation.type": operation,
            "messaging.message.id": str(number),
        }

    def close(self) -> None:
        self._provider.shutdown()


def run(redis: Any, endpoint: str, *, questions: int = 3, first: str = "answers") -> None:
    """Ask, answer, and show both; the dashboard reads the stream `first` before the other."""
    names = ("customer", "desk", "dashboard")
    customer, desk, dashboard = services = [Service(name, endpoint, redis) for name in names]
    for number in range(1, questions + 1):
        customer.publish("questions", number)
    for number in desk.consume("questions"):
        desk.publish("answers", number)
    second = "questions" if first == "answers" else "answers"
    list(dashboard.consume(first, second))
    for service in services:
        service.close()
