"""Sections 4 and 5.1: block numbers, the block matrix, and last-delivered vectors."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.message import MessageId
from antecede.orders._blocks import BlockMatrix
from tests.papers.blocks import (
    CYCLE,
    PROTOCOLS,
    GroupNetwork,
    nulls,
    random_run,
    sent,
    stamps,
)
from tests.papers.harness import History, _pasts

FIGURE_2 = {1: [1, 4], 2: [2, 5, 6], 3: [1, 3, 4], 4: [1, 5], 5: [2]}
"""The marks of figure 2: block number, processes."""

ONE_GROUP = [range(4)]
seeds = st.integers(0, 10_000)


class PrintedMatrix:
    """The block matrix as the paper draws it: every mark in its row."""

    def __init__(self, processes: list[int]) -> None:
        self.processes = processes
        self.rows: dict[int, set[int]] = {}

    def mark(self, process: int, number: int) -> None:
        self.rows.setdefault(number, set()).add(process)

    def is_complete(self, block: int) -> bool:
        """(i) marked there, or (ii) blank there and marked in a later block."""
        return all(
            any(process in row for number, row in self.rows.items() if number >= block)
            for process in self.processes
        )


def test_figure_2_matrix() -> None:
    others = [1, 3, 4, 5, 6]  # the matrix of process 2
    matrix = BlockMatrix.empty(others)
    printed = PrintedMatrix([1, 2, 3, 4, 5, 6])
    for block, processes in FIGURE_2.items():
        for process in processes:
            printed.mark(process, block)
            if process == 2:
                matrix.mark_own(block)
            else:
                matrix.mark(process, block)
    assert [printed.is_complete(block) for block in range(1, 6)] == [True, True] + [False] * 3
    assert matrix.complete == 2
    assert list(matrix.lacking(3)) == [6]
    assert (matrix.others[1], matrix.own) == (4, 5), "the last messages of p1 and p2"
    assert matrix.top == 5


def test_figure_2_the_owner_keeps_no_block_open() -> None:
    """Seen by p6, which is silent from block 3 on."""
    matrix = BlockMatrix.empty([1, 2, 3, 4, 5])
    printed = PrintedMatrix([1, 2, 3, 4, 5, 6])
    for block, processes in FIGURE_2.items():
        for process in processes:
            printed.mark(process, block)
            if process == 6:
                matrix.mark_own(block)
            else:
                matrix.mark(process, block)
    assert [block for block in range(1, 6) if printed.is_complete(block)] == [1, 2]
    assert matrix.complete == 3


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), max_size=25))
def test_the_highest_mark_of_a_column_is_enough(marks: list[tuple[int, int]]) -> None:
    """Channels are FIFO, so a column grows; rows need not be kept."""
    matrix, printed = BlockMatrix.empty(range(4)), PrintedMatrix([0, 1, 2, 3])
    for process, step in marks:
        number = matrix.others[process] + step
        matrix.mark(process, number)
        printed.mark(process, number)
        for block in range(1, max(printed.rows) + 2):
            assert printed.is_complete(block) == (block <= matrix.complete)


def test_block_completion_is_a_number_and_not_a_count() -> None:
    """Section 5.3: with one counter for all groups the numbers in one of them have gaps."""
    printed, matrix = PrintedMatrix([0, 1]), BlockMatrix.empty([0, 1])
    for process, number in [(0, 3), (1, 3)]:
        printed.mark(process, number)
        matrix.mark(process, number)
    complete = [block for block in printed.rows if printed.is_complete(block)]
    assert (len(complete), matrix.complete) == (1, 3)


def _numbers(history: History) -> dict[MessageId, int]:
    return {message: stamp.number for message, stamp in stamps(history).items()}


def _comparable(protocol: str, history: History) -> list[tuple[MessageId, MessageId]]:
    """All pairs of messages whose numbers mean something to each other: those of one group where
    counters are per group."""
    by_group = {message.id: message.group for message in sent(history)}
    return [
        (first, second)
        for first, second in permutations(by_group, 2)
        if protocol != "blocks-relative" or by_group[first] == by_group[second]
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("groups", [ONE_GROUP, CYCLE, [{0, 1, 2}, {1, 2, 3}]])
@settings(max_examples=12, deadline=None)
@given(seed=seeds)
def test_pr1_pr2_pr3_and_the_blocks_pr1_pr2(protocol: str, groups: Any, seed: int) -> None:
    """What precedes has the smaller number (pr1, pr2, and PR2 for blocks); messages of one number
    are concurrent (pr3, and PR1 for blocks) and of different senders."""
    history = random_run(protocol, groups, 20, seed)
    numbers, pasts = _numbers(history), _pasts(history)
    for first, second in _comparable(protocol, history):
        if first in pasts[second]:
            assert numbers[first] < numbers[second]
        if numbers[first] == numbers[second]:
            assert first.sender != second.sender
            assert first not in pasts[second]


def test_the_converse_of_pr1_fails() -> None:
    """A smaller number does not make a predecessor. (The text has it the other way round.)"""
    network = GroupNetwork("blocks-slow", [{0, 1}])
    first = network.to(0, 0)
    network.to(1, 0)
    second = network.to(1, 0)
    numbers = _numbers(network.history)
    assert numbers[first] < numbers[second]
    assert first not in _pasts(network.history)[second]


def _vector(stamp: Any, process: int) -> int:
    """The entry of a process in the LDV of a message in one group of everybody."""
    if hasattr(stamp, "ldv"):
        return int(stamp.ldv[process])
    known = int.from_bytes(stamp.known, "little")
    if not known >> process & 1:
        return 0
    return int(stamp.gldv[(known & ((1 << process) - 1)).bit_count()])


@pytest.mark.parametrize("protocol", ["blocks-fast", "blocks-relative"])
@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_pv1_pv2_pv3(protocol: str, seed: int) -> None:
    """In one group the vectors say exactly what precedes what."""
    history = random_run(protocol, ONE_GROUP, 20, seed)
    carried, pasts = stamps(history), _pasts(history)
    vector = {m: [_vector(stamp, p) for p in range(4)] for m, stamp in carried.items()}
    for message, stamp in carried.items():
        assert stamp.number == max(vector[message]) + 1, "pv1"

    def is_before(first: MessageId, second: MessageId) -> bool:
        entries = list(zip(vector[first], vector[second], strict=True))
        is_less = all(a <= b for a, b in entries) and any(a < b for a, b in entries)
        return is_less and carried[first].number <= vector[second][first.sender]

    for first, second in permutations(carried, 2):
        assert is_before(first, second) == (first in pasts[second]), "pv2, hence pv3"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_in_one_group_only_slow_needs_nulls(protocol: str, seed: int) -> None:
    history = random_run(protocol, ONE_GROUP, 15, seed)
    assert nulls(history) == 0 or protocol == "blocks-slow"


def test_pv1_ends_where_nulls_begin() -> None:
    """A null takes a number that no vector shows."""
    network = GroupNetwork("blocks-relative", [{0, 1, 2}, {0, 1}])
    first = network.to(2, 0)
    network.bring(first, 1)
    second = network.to(1, 0)
    network.bring(second, 0)
    assert network.held(0) == ["1:1"]
    network.wake(0)
    answer = network.to(0, 0)
    stamp = stamps(network.history)[answer]
    assert (stamp.number, max(stamp.ldv)) == (3, 0)
