"""The explicit schemas of the pipeline are those of the format, and of the tasks that read them."""

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.pipeline.audit.flow import no_copies
from antecede.pipeline.audit.source import EVENTS, USED
from antecede.pipeline.audit.store import COPIES
from antecede.trace import SCHEMA
from antecede.trace.loader import STAMPS


def test_events_are_those_of_the_format() -> None:
    assert from_arrow_schema(SCHEMA).jsonValue() == EVENTS.jsonValue()
    assert {*USED, *STAMPS} == set(SCHEMA.names)


def test_copies_are_those_that_the_kernel_reads() -> None:
    empty = no_copies()
    found = {name: pa.from_numpy_dtype(getattr(empty, name).dtype) for name in vars(empty)}
    assert found == dict(zip(COPIES.names, COPIES.types, strict=True))
