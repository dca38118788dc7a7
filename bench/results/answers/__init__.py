"""The answers, by the name of the campaign."""

from bench.results.answers import blocks, daisy, insertion_k, insertion_mixed, pairs, separators
from bench.results.answers.contract import Answer

ANSWERS: dict[str, Answer] = {
    "separators-table-7-1": separators.SIX,
    "separators-table-7-1-ten": separators.TEN,
    "insertion-k": insertion_k.ANSWER,
    "insertion-mixed": insertion_mixed.ANSWER,
    "blocks": blocks.ANSWER,
    "pairs": pairs.ANSWER,
    "daisy": daisy.ANSWER,
}
