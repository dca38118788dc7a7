"""Servers for the tests of this folder."""

from tests.brokers.servers import nats_server, redis_server

__all__ = ["nats_server", "redis_server"]
