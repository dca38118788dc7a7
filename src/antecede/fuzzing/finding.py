"""A failure as it is handed to a person: shrunk, and as a file that replays it."""

import msgspec

from antecede.fuzzing.drawing import draw
from antecede.fuzzing.shrinking import MOST_RUNS, shrink
from antecede.fuzzing.slices import Found
from antecede.order import Order
from antecede.simulate import Scenario, make_scenario
from antecede.simulate.judgement import Failure


class Finding(msgspec.Struct, frozen=True):
    """The run that failed, and the smallest scenario found that fails in the same way."""

    found: Found
    processes: int
    messages: int
    sentence: str
    scenario: str
    """The text of its file."""

    @property
    def file_name(self) -> str:
        return file_name(self.found)


def file_name(found: Found) -> str:
    """What the file of a failure is called."""
    return f"{found.protocol.replace(':', '.')}-{found.kind.lower()}-{found.seed}.toml"


def find_smallest(
    found: Found, order_type: type[Order] | None = None, most_runs: int = MOST_RUNS
) -> Finding:
    """Draw the run again, and shrink it."""
    failure = Failure(found.kind, found.sentence)
    shrunk = shrink(scenario_of(found), failure, order_type, most_runs)
    scenario = shrunk.scenario
    return Finding(
        found,
        scenario.applications.size,
        scenario.message_limit,
        shrunk.failure.sentence,
        _file(found, shrunk.failure.sentence, "made as small as it gets", scenario),
    )


def as_drawn(found: Found) -> str:
    """The text of the file of a failure that has not been shrunk."""
    return _file(found, found.sentence, "not shrunk", scenario_of(found))


def _file(found: Found, sentence: str, state: str, scenario: Scenario) -> str:
    return (
        f"# {found.kind}: {_one_line(sentence)}\n"
        f"# Found by {_how(found)}, and {state}.\n"
        f"# Replay it: antecede simulate --scenario FILE\n"
        f"# Judge it:  antecede fuzz --replay FILE\n"
        f"{scenario.to_toml()}"
    )


def scenario_of(found: Found) -> Scenario:
    """The run that failed."""
    if found.scenario:
        return make_scenario(msgspec.json.decode(found.scenario))
    return draw(found.protocol, found.seed, found.options)


def _how(found: Found) -> str:
    if found.lineage:
        return f"guided fuzzing ({found.protocol}, lineage {'/'.join(map(str, found.lineage))})"
    return f"`antecede fuzz --protocol {found.protocol} --seed {found.seed} --runs 1`"


def _one_line(text: str) -> str:
    return " ".join(text.split())
