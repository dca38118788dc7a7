"""Work spread over Spark's executors, its results streaming back as they are ready.

Campaigns and fuzzing are lists of items (a run, a seed) and a function that turns one into a small
result. The list is dealt out to tasks, several items a task where there are many; what a task has
made comes back the moment it ends, on an accumulator, which Spark adds to exactly once a task
however often that was tried. Whoever iterates knows what is done without asking Spark.

Executors import the function, so it stands in a module (or is a `functools.partial` of one that
does); its item and its result can be pickled. It should catch what may go wrong with its item: an
error that escapes ends the whole work.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

from antecede.errors import Misuse
from antecede.pipeline import connect
from antecede.pipeline.connect import is_connect, parallelism

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")

HERE: Final = "here"
"""The master that is none: everything in this process, without Spark."""
TASKS_PER_CORE: Final = 32
"""Enough for an even load; a task by itself costs some thirty milliseconds of CPU time."""
ITEMS_PER_TASK: Final = 16
"""Where there are more items than that makes tasks, so many make one: for a lively progress bar."""


class WorkLost(Misuse):
    """Spark has given up on a task: its worker died again and again, or an error escaped."""


def spread(
    spark: "SparkSession | None",
    items: Sequence[Item],
    task: Callable[[Item], Result],
    *,
    slices: int | None = None,
) -> Generator[Result, None, None]:
    """The results of `task` for all items, in the order in which they are ready. Items that take
    long should come first. `slices` is the number of Spark tasks; by default there are enough of
    them. Without a session everything happens here, one item after the other. Whoever stops
    iterating (`close`) stops the work."""
    if not items:
        return
    if spark is None:
        yield from map(task, items)
        return
    wanted = slices or max(TASKS_PER_CORE * parallelism(spark), len(items) // ITEMS_PER_TASK)
    count = max(1, min(len(items), wanted))
    # Dealt like cards: where the long items come first, every task gets its share of them.
    dealt = [items[start::count] for start in range(count)]
    if is_connect(spark):
        yield from _stream_connect(spark, dealt, task)
    else:
        yield from _stream(spark, dealt, task)


def _stream_connect(
    spark: "SparkSession", dealt: Sequence[Sequence[Item]], task: Callable[[Item], Result]
) -> Iterator[Result]:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - importing it takes a second

    try:
        yield from connect.stream(spark, dealt, task)
    except PySparkException as error:
        raise WorkLost(f"Spark gave up: {_reason(error)}") from error


def _stream(
    spark: "SparkSession", dealt: Sequence[Sequence[Item]], task: Callable[[Item], Result]
) -> Iterator[Result]:
    from pyspark import InheritableThread  # noqa: PLC0415 - importing it takes a second

    context = spark.sparkContext
    ready: SimpleQueue[list[Result] | _End] = SimpleQueue()
    results = context.accumulator([], _results_param(ready.put))
    rows = context.parallelize(dealt, len(dealt))
    group = f"antecede-{uuid4()}"

    def work() -> None:
        try:
            context.setJobGroup(group, "antecede", interruptOnCancel=True)
            rows.foreach(partial(_do, task, results))
        except Exception as error:  # noqa: BLE001 - handed over to whoever iterates
            ready.put(_End(error))
        else:
            ready.put(_End(None))

    thread = InheritableThread(target=work, daemon=True)
    thread.start()
    try:
        while not isinstance(done := ready.get(), _End):
            yield from done
    finally:
        context.cancelJobGroup(group)
        thread.join()
    if done.error is not None:
        raise WorkLost(f"Spark gave up: {_reason(done.error)}") from done.error


class _End:
    """The job is over, well or not."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error


def _do(
    task: Callable[[Item], Result], results: "Accumulator[list[Result]]", items: Sequence[Item]
) -> None:
    """On an executor."""
    results.add([task(item) for item in items])


def _results_param(put: Callable[[Any], None]) -> Any:
    """How results add up: in a list on an executor, and by handing them over on the driver."""
    from pyspark.accumulators import AccumulatorParam  # noqa: PLC0415 - see above

    class Results(AccumulatorParam[list[Any]]):
        def __reduce__(self) -> tuple[Any, ...]:
            return _concatenating, ()

        def zero(self, value: list[Any]) -> list[Any]:
            return []

        def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:
            put(value2)
            return value1

    return Results()


def _concatenating() -> Any:
    from pyspark.accumulators import AddingAccumulatorParam  # noqa: PLC0415 - see above

    return AddingAccumulatorParam([])


def _reason(error: Exception) -> str:
    """The line of a failure that says what happened, without the stacks of two languages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "Error: " in line or "exited unexpectedly" in line]
    reason = (told or lines or [type(error).__name__])[-1]
    return reason.removeprefix("Caused by: ").partition(" Consider setting")[0]
