"""OTLP as exporters send it over HTTP: a request in protocol buffers, as the JSON of the same.

Only what `antecede.imports.otlp` asks for is decoded, by the field numbers of
opentelemetry-proto 1: everything else is skipped.
"""

import struct
from collections.abc import Iterator
from typing import Any, Final

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_BITS: Final = 64


def decode_request(content: bytes) -> dict[str, Any]:
    """An ExportTraceServiceRequest; a ValueError if it is none."""
    try:
        return {"resourceSpans": [_resource_spans(one) for one in _all(content, 1)]}
    except (IndexError, struct.error, UnicodeDecodeError, TypeError) as error:
        raise ValueError(f"no protocol buffer: {error}") from None


def _resource_spans(content: bytes) -> dict[str, Any]:
    resource = next(_all(content, 1), b"")
    scopes = [{"spans": [_span(span) for span in _all(scope, 2)]} for scope in _all(content, 2)]
    return {"resource": {"attributes": _attributes(resource, 1)}, "scopeSpans": scopes}


def _span(content: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {"links": [], "attributes": _attributes(content, 9)}
    for number, value in _fields(content):
        match number:
            case 1:
                found["traceId"] = value.hex()
            case 2:
                found["spanId"] = value.hex()
            case 4:
                found["parentSpanId"] = value.hex()
            case 5:
                found["name"] = value.decode()
            case 6:
                found["kind"] = value
            case 7:
                found["startTimeUnixNano"] = str(value)
            case 8:
                found["endTimeUnixNano"] = str(value)
            case 13:
                ids = (next(_all(value, number), b"").hex() for number in (1, 2))
                found["links"].append(dict(zip(("traceId", "spanId"), ids, strict=True)))
    return found


def _attributes(content: bytes, number: int) -> list[dict[str, Any]]:
    return [
        {"key": next(_all(one, 1), b"").decode(), "value": _value(next(_all(one, 2), b""))}
        for one in _all(content, number)
    ]


def _value(content: bytes) -> dict[str, Any]:
    for number, value in _fields(content):
        if number == 1:
            return {"stringValue": value.decode()}
        if number == 2:
            return {"boolValue": bool(value)}
        if number == 3:
            return {"intValue": str(value)}
    return {}


def _all(content: bytes, wanted: int) -> Iterator[bytes]:
    """The messages and texts in a field."""
    for number, value in _fields(content):
        if number == wanted:
            if not isinstance(value, bytes):
                raise TypeError(f"field {number} is a number")
            yield value


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(content, at)
            yield key >> 3, value
        elif kind == _FIXED64:
            yield key >> 3, struct.unpack_from("<Q", content, at)[0]
            at += 8
        elif kind == _FIXED32:
            at += 4
        elif kind == _BYTES:
            size, at = _varint(content, at)
            if at + size > len(content):
                raise IndexError("a field ends too early")
            yield key >> 3, content[at : at + size]
            at += size
        else:
            raise TypeError(f"there is no wire type {kind}")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift >= _MOST_BITS:
            raise IndexError("a number is too long")
