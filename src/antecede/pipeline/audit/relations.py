"""The relational half of the auditor: Spark SQL over the rows of a trace, DataFrame in, DataFrame
out.

Rows become integers, deliveries meet their sends, and what the rules of the format forbid is
counted on the way. What is forbidden is named elsewhere (`rules`), only if there
is any.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from pyspark.sql import functions as F

from antecede.pipeline.audit.source import ROW
from antecede.trace.schema import APP, DELIVER, KINDS, LAYERS, RECEIVE, SEND

MESSAGE: Final = ("layer", "sender", "number")
UNKNOWN_WORD: Final = 99


def kind_code(kind: Column) -> Column:
    return _code(kind, KINDS)


def layer_code(layer: Column) -> Column:
    return F.coalesce(_code(layer, LAYERS), F.lit(APP))


def _code(word: Column, words: Sequence[str]) -> Column:
    """A word as a number, null for null."""
    coded = F.when(word.isNull(), None)
    for code, known in enumerate(words):
        coded = coded.when(word == known, code)
    return coded.otherwise(UNKNOWN_WORD).cast("int")


def has_null_name() -> Column:
    return F.coalesce(F.exists("destinations", lambda name: name.isNull()), F.lit(False))


def breaks_by_itself() -> Column:
    """Whether a row breaks a rule, whatever the others say."""
    kind, layer = kind_code(F.col("kind")), layer_code(F.col("layer"))
    about_message = kind <= DELIVER
    wrong_send = F.col("destinations").isNull() | has_null_name()
    wrong_send |= F.col("process") != F.col("sender")
    broken = (
        kind.isNull()
        | (kind == UNKNOWN_WORD)
        | (layer == UNKNOWN_WORD)
        | F.col("process").isNull()
        | F.col("seq").isNull()
        | (about_message & (F.col("sender").isNull() | F.col("number").isNull()))
        | ((kind == SEND) & wrong_send)
    )
    return F.coalesce(broken, F.lit(True))


def profile(events: DataFrame) -> DataFrame:
    """How many events have no position, and how many cannot be right."""
    return events.agg(
        F.count_if(F.col("position").isNull()).alias("unplaced"),
        F.count_if(breaks_by_itself()).alias("broken"),
    )


def names(events: DataFrame) -> DataFrame:
    """Every name of a process, and where it first stands in each column: the row, and the place in
    the list of destinations."""
    parts = [
        events.select(
            F.col(column).alias("name"), F.lit(tag).alias("tag"), ROW, F.lit(0).alias("at")
        )
        for tag, column in enumerate(("process", "sender"))
    ]
    listed = events.where("destinations is not null").select(
        ROW, F.posexplode("destinations").alias("at", "name")
    )
    parts.append(listed.select("name", F.lit(2).alias("tag"), ROW, "at"))
    every = parts[0].unionByName(parts[1]).unionByName(parts[2]).where("name is not null")
    return every.groupBy("name", "tag").agg(F.min(F.struct(ROW, "at")).alias("first"))


def number_names(spark: SparkSession, found: Sequence[str]) -> DataFrame:
    """A table of names and codes, small enough for every task to have."""
    return spark.createDataFrame(list(enumerate(found)), "code int, name string")


def encode(events: DataFrame, codes: DataFrame) -> DataFrame:
    """The events in numbers; destinations are still names."""
    process = F.broadcast(codes.select(F.col("code").alias("p"), F.col("name").alias("process")))
    sender = F.broadcast(codes.select(F.col("code").alias("s"), F.col("name").alias("sender")))
    return (
        events.join(process, "process", "left")
        .join(sender, "sender", "left")
        .select(
            ROW,
            layer_code(F.col("layer")).alias("layer"),
            F.col("p").alias("process"),
            "seq",
            kind_code(F.col("kind")).alias("kind"),
            F.col("s").alias("sender"),
            F.col("sender").alias("sender_name"),
            "number",
            "destinations",
            "time",
            "position",
        )
    )


def local_order() -> WindowSpec:
    return Window.partitionBy("process").orderBy("seq", ROW)


def breaks_local_order(coded: DataFrame, *, placed: bool) -> DataFrame:
    """Counts the events that break a rule about the order within a process: `seq`, the numbers of
    its messages and, where they are `placed`, its positions."""
    order = local_order()
    until_here = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    sent = [
        F.sum(F.when((F.col("kind") == SEND) & (F.col("layer") == layer), 1)).over(until_here)
        for layer in range(len(LAYERS))
    ]
    expected = F.when(F.col("layer") == APP, sent[0]).otherwise(sent[1])
    broken = F.col("seq") != F.row_number().over(order) - 1
    broken |= (F.col("kind") == SEND) & (F.col("number") != expected)
    if placed:
        before = F.lag("position").over(order)
        broken |= F.coalesce(F.col("position") <= before, F.lit(False))
    return coded.select(broken.alias("broken")).agg(F.count_if("broken").alias("broken"))


def repeated_positions(coded: DataFrame) -> DataFrame:
    """Counts the positions that more than one event has."""
    return (coded.groupBy("position").agg(F.count("*").alias("events")).where("events > 1")).agg(
        F.count("*").alias("broken")
    )


def join_copies(coded: DataFrame, codes: DataFrame, layer: int) -> DataFrame:
    """The copies of one layer, each joined with its arrival and its delivery; besides, whatever in
    any layer is `broken`: a delivery that meets no copy, comes twice, or stands before its send.

    A message has a copy for each destination, and one for its sender, who may always deliver it;
    that one orders nothing and is left out in the end.
    """
    received, delivered = F.col("kind") == RECEIVE, F.col("kind") == DELIVER
    happened = (
        coded.where(received | delivered)
        .groupBy(*MESSAGE, F.col("process").alias("destination"))
        .agg(
            F.count_if(delivered).alias("times"),
            F.min(F.when(delivered, F.col("position"))).alias("delivery"),
            F.min(F.when(received, F.col("position"))).alias("reception"),
            F.min(F.when(delivered, F.col("time"))).alias("delivered"),
            F.min_by("time", F.when(received, F.col("position"))).alias("received"),
        )
    )
    everybody = F.array_union(F.col("destinations"), F.array("sender_name"))
    name = codes.select(F.col("code").alias("destination"), "name")
    copies = (
        coded.where(F.col("kind") == SEND)
        .select(*MESSAGE, F.col("position").alias("send"), F.explode(everybody).alias("name"))
        .join(F.broadcast(name), "name")
        .drop("name")
    )
    broken = F.col("send").isNull() | (F.col("times") > 1)
    broken |= (F.col("delivery") <= F.col("send")) | (F.col("reception") <= F.col("send"))
    arrival = F.least("reception", "delivery")
    received_first = F.col("reception") < F.coalesce("delivery", F.lit(2**63 - 1))
    return (
        copies.join(happened, [*MESSAGE, "destination"], "full_outer")
        .withColumn("broken", F.coalesce(broken, F.lit(False)))
        .where(
            F.col("broken")
            | ((F.col("layer") == layer) & (F.col("sender") != F.col("destination")))
        )
        .select(
            *("send", "sender", "number", "destination", "delivery"),
            arrival.alias("arrival"),
            "delivered",
            F.when(received_first, F.col("received")).alias("received"),
            "broken",
        )
    )


def summary(copies: DataFrame) -> DataFrame:
    """The copies by destination: how many there are, and when the last was delivered."""
    known = F.col("received").isNotNull() & F.col("delivered").isNotNull()
    return copies.groupBy("destination").agg(
        F.count_if(F.col("delivery").isNull()).alias("undelivered"),
        F.max("delivery").alias("last"),
        F.count_if(known).alias("timed"),
    )


def flight_lengths(copies: DataFrame, last_at: DataFrame) -> DataFrame:
    """The histogram of flight lengths in powers of two, with the longest and the first send of each
    class. `last_at` has the last delivery at each destination."""
    end = F.coalesce("delivery", "last")
    flight = F.greatest(F.coalesce(end - F.col("send"), F.lit(0)), F.lit(0))
    return (
        copies.join(F.broadcast(last_at), "destination", "left")
        .select("send", flight.alias("flight"), F.ceil(F.log2(flight + 1)).alias("class"))
        .groupBy("class")
        .agg(
            F.count("*").alias("copies"),
            F.max("flight").alias("longest"),
            F.min("send").alias("first"),
            F.max(F.col("send") + F.col("flight")).alias("until"),
        )
    )
