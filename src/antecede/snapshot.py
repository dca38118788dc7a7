"""States as bytes and back: equal states give equal bytes, whatever the order in which their dicts
and sets were filled, so that a snapshot can be compared and hashed."""

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_BIG = 1
"""The extension code of an integer that needs more than 64 bits (a set of many processes)."""


def freeze(state: msgspec.Struct) -> bytes:
    """The bytes of a state: structs as arrays, dicts and sets in the order of their keys."""
    return msgspec.msgpack.encode(_canonical(state))


def thaw(snapshot: bytes, state_type: type[T]) -> T:
    """The state that `freeze` made these bytes from."""
    plain = msgspec.msgpack.decode(snapshot, ext_hook=_big_integer)
    return msgspec.convert(plain, state_type)


def _canonical(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        if -(1 << 63) <= value < 1 << 64:
            return value
        return msgspec.msgpack.Ext(_BIG, value.to_bytes((value.bit_length() + 7) // 8, "little"))
    if kind is dict:
        return {_canonical(key): _canonical(value[key]) for key in sorted(value)}
    if kind is set or kind is frozenset:
        return [_canonical(item) for item in sorted(value)]
    if isinstance(value, tuple):
        return tuple([_canonical(item) for item in value])
    if kind is list:
        return [_canonical(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return [_canonical(getattr(value, field)) for field in value.__struct_fields__]
    return value


def _big_integer(code: int, data: memoryview) -> int:
    return int.from_bytes(data, "little")
