"""Causal order over the brokers people already run: Redis, NATS, Kafka.

`causal` wraps a client. `lanes` and `numbers` are the pure machines behind it; `docs/brokers.md`
says what is promised and why.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from antecede.brokers.bus import CausalBus, Message, new_publisher
from antecede.brokers.channels import ChannelBus
from antecede.brokers.holdback import Held, Patience
from antecede.brokers.lanes import Frontier, Lanes
from antecede.brokers.log import MadeAnew, Superseded, Unconfirmed
from antecede.brokers.numbers import Numbers
from antecede.errors import Misuse

if TYPE_CHECKING:
    from antecede.brokers.log import Log

__all__ = [
    "CausalBus",
    "ChannelBus",
    "Frontier",
    "Held",
    "Lanes",
    "MadeAnew",
    "Message",
    "Numbers",
    "Patience",
    "Superseded",
    "Unconfirmed",
    "causal",
]

PATIENCE_S = 1.0
"""How long something that does not come is waited for where a broker keeps nothing."""


def causal(
    client: Any,
    reads: Sequence[str] = (),
    *,
    group: str | None = None,
    start: Literal["first", "new"] = "new",
    patience_s: float | None = None,
    limit: int = 1_000,
    hold: bool = True,
    commit_every: int = 100,
) -> CausalBus | ChannelBus:
    """A bus over a connected client: publishes, and gives messages in causal order.

    `client` decides what is read: a `redis.asyncio.Redis` its streams, its `pubsub()` channels, a
    NATS client subjects, its `jetstream()` the streams of subjects. For Kafka there is
    `antecede.brokers.kafka`.

    `group`: a durable reader, of which there is one at a time; the last to come takes over.
    `start`: where a reader begins that has no frontier yet. `patience_s`: how long something that
    does not come is waited for; None: for ever with a log, 1 s without. `limit`: how many messages
    of a lane may wait here. `hold=False`: deliver as it arrives, but stamp all the same.
    """
    if start not in ("first", "new"):
        raise Misuse(f"start is '{start}'; it can be 'first' or 'new'")
    module = type(client).__module__
    name = type(client).__name__
    if name == "PubSub" or (module.startswith("nats.") and name == "Client"):
        if group is not None:
            raise Misuse("a group needs a log: use streams")
        patience = Patience(
            patience_s=PATIENCE_S if patience_s is None else patience_s,
            probe_s=None,
            limit=limit,
            hold=hold,
        )
        return ChannelBus(_channels(client, name), reads, patience)
    patience = Patience(patience_s=patience_s, limit=limit, hold=hold)
    log = _log(client, reads, group, start)
    return CausalBus(log, patience=patience, commits=group is not None, commit_every=commit_every)


def _channels(client: Any, name: str) -> Any:
    if name == "PubSub":
        from antecede.brokers.redis_channels import RedisChannels  # noqa: PLC0415 - an extra

        return RedisChannels(client)
    from antecede.brokers.nats_subjects import NatsSubjects  # noqa: PLC0415 - an extra

    return NatsSubjects(client)


def _log(client: Any, reads: Sequence[str], group: str | None, start: str) -> "Log":
    module = type(client).__module__
    owner = f"{new_publisher():012x}"
    if module.startswith("redis.asyncio"):
        from antecede.brokers.redis_streams import RedisStreams  # noqa: PLC0415 - an extra

        return RedisStreams(client, reads, group, start, owner)
    if module.startswith("nats."):
        from antecede.brokers.jetstream import JetStream  # noqa: PLC0415 - an extra

        return JetStream(client, reads, group, start, owner)
    raise Misuse(
        f"{module}.{type(client).__name__} is no client that is known here; give a "
        "redis.asyncio.Redis, its pubsub(), a NATS client or its jetstream()"
    )
