"""Payloads as an application has them, and as bytes: JSON, msgspec's types, pydantic's models.

A codec has two methods; whatever has them is one. What `join(codec=...)` takes besides: `"json"`, a
type that msgspec knows (a `Struct`, a dataclass, a union of them), or a model of pydantic.
"""

import sys
import typing
from collections.abc import Iterator
from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from antecede.errors import Misuse


@runtime_checkable
class Codec(Protocol):
    """Makes bytes of a payload, and a payload of bytes. `decode` raises whatever it likes for bytes
    that are none of its own."""

    def encode(self, value: Any, /) -> bytes: ...

    def decode(self, payload: bytes, /) -> Any: ...


class NotEncoded(Misuse):
    """A payload that the codec does not take."""


class Json:
    """Whatever JSON can say: dictionaries, lists, texts, numbers, true, false and null."""

    def encode(self, value: Any, /) -> bytes:
        return msgspec.json.encode(value)

    def decode(self, payload: bytes, /) -> Any:
        return msgspec.json.decode(payload)


class Msgspec:
    """Values of a type that msgspec knows, as MessagePack."""

    def __init__(self, kind: Any) -> None:
        try:
            self._decoder = msgspec.msgpack.Decoder(kind)
        except TypeError as error:
            raise Misuse(f"codec={kind!r}: {error}") from None

    def encode(self, value: Any, /) -> bytes:
        return msgspec.msgpack.encode(value)

    def decode(self, payload: bytes, /) -> Any:
        return self._decoder.decode(payload)


class Pydantic:
    """Values of a model, or of a union of models, as JSON."""

    def __init__(self, kind: Any) -> None:
        from pydantic import TypeAdapter  # noqa: PLC0415 - only where it is used

        self._adapter: Any = TypeAdapter(kind)

    def encode(self, value: Any, /) -> bytes:
        encoded: bytes = self._adapter.dump_json(value, warnings="error")
        return encoded

    def decode(self, payload: bytes, /) -> Any:
        return self._adapter.validate_json(payload)


_WAYS: Final = (
    "name 'json', a msgspec.Struct, a pydantic model, or something with encode and decode"
)


def to_codec(given: Any) -> Codec | None:
    """A codec from what a caller may write."""
    if given is None:
        return None
    if given == "json":
        return Json()
    if not isinstance(given, type) and isinstance(given, Codec):
        return given
    if isinstance(given, str | bytes) or given is bytes:
        raise Misuse(f"codec={given!r}: {_WAYS}; without any, payloads are bytes")
    if not isinstance(given, type) and typing.get_origin(given) is None:
        raise Misuse(f"codec={given!r}: {_WAYS}")
    return Pydantic(given) if any(map(_is_model, _parts(given))) else Msgspec(given)


def _parts(kind: Any) -> Iterator[Any]:
    yield kind
    for part in typing.get_args(kind):
        yield from _parts(part)


def _is_model(kind: Any) -> bool:
    pydantic = sys.modules.get("pydantic")  # Who has a model has imported it.
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def encode(codec: Codec, value: Any) -> bytes:
    """The payload of a value, if it can be decoded again: so that the mistake is told to who made
    it, and not to everybody else."""
    try:
        payload = codec.encode(value)
        codec.decode(payload)
    except Exception as error:
        kind = type(value).__name__
        raise NotEncoded(f"the codec does not take this {kind}: {error}") from error
    return bytes(payload)
