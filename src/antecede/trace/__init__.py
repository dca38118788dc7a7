"""Traces: the record of what happened in a run, and the contract between everything that writes
one and everything that reads one."""

from antecede.trace.assumed import Assumed, encode_assumed, read_assumed
from antecede.trace.encoder import NO_STAMP
from antecede.trace.events import NULL, Events, Run, Sources, Trace
from antecede.trace.reader import read_metadata, read_trace, trace_from_tables
from antecede.trace.schema import (
    APP,
    CRASH,
    DELIVER,
    HOP,
    JOIN,
    KINDS,
    LAYERS,
    LEAVE,
    RECEIVE,
    SCHEMA,
    SEND,
    VIEW,
)
from antecede.trace.writer import NO_TIME, TraceWriter

__all__ = [
    "APP",
    "CRASH",
    "DELIVER",
    "HOP",
    "JOIN",
    "KINDS",
    "LAYERS",
    "LEAVE",
    "NO_STAMP",
    "NO_TIME",
    "NULL",
    "RECEIVE",
    "SCHEMA",
    "SEND",
    "VIEW",
    "Assumed",
    "Events",
    "Run",
    "Sources",
    "Trace",
    "TraceWriter",
    "encode_assumed",
    "read_assumed",
    "read_metadata",
    "read_trace",
    "trace_from_tables",
]
