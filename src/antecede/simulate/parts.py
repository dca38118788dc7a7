"""The parts of a scenario: links and their faults, groups, workloads, as people write them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from antecede.simulate.layouts import Shape

ProcessRef = Annotated[int, Field(ge=0, strict=True)] | Annotated[str, Field(min_length=1)]
Probability = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Part(BaseModel):
    """A part of a scenario: unknown keys are mistakes, and nothing changes after validation."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True
    )


class Constant(Part):
    kind: Literal["constant"] = "constant"
    """The distribution."""
    value_s: Seconds
    """Every delay, in seconds."""


class Uniform(Part):
    kind: Literal["uniform"] = "uniform"
    """The distribution."""
    low_s: Seconds
    """The shortest delay."""
    high_s: Seconds
    """The longest delay."""

    @model_validator(mode="after")
    def _check_bounds(self) -> "Uniform":
        if self.low_s > self.high_s:
            raise ValueError(f"low_s is {self.low_s}, more than high_s, which is {self.high_s}")
        return self


class Exponential(Part):
    kind: Literal["exponential"] = "exponential"
    """The distribution."""
    mean_s: Positive
    """The mean delay."""


class Lognormal(Part):
    """Half of the delays exceed `median_s`; `sigma` is the standard deviation of the logarithm."""

    kind: Literal["lognormal"] = "lognormal"
    """The distribution."""
    median_s: Positive
    """The median delay."""
    sigma: Seconds
    """The standard deviation of the logarithm."""


_DELAYS: dict[str, type[Part]] = {
    "constant": Constant,
    "uniform": Uniform,
    "exponential": Exponential,
    "lognormal": Lognormal,
}


def _delay_from_text(value: Any) -> Any:
    """``kind:number[,number]``, the short form of a delay."""
    if not isinstance(value, str):
        return value
    kind, _, numbers = value.partition(":")
    if kind not in _DELAYS:
        raise ValueError(f"'{kind}' is no kind of delay; there are {', '.join(_DELAYS)}")
    fields = [field for field in _DELAYS[kind].model_fields if field != "kind"]
    values = numbers.split(",") if numbers else []
    if len(values) != len(fields):
        raise ValueError(
            f"'{value}' should be {kind}:{','.join(field.upper() for field in fields)}"
        )
    return {"kind": kind, **dict(zip(fields, values, strict=True))}


Delay = Annotated[
    Annotated[Constant | Uniform | Exponential | Lognormal, Field(discriminator="kind")],
    BeforeValidator(_delay_from_text),
]


class Link(Part):
    """Links that differ from the others: from each of these processes to each of those."""

    source: list[ProcessRef] = Field(alias="from", min_length=1)
    """The processes at one end."""
    to: list[ProcessRef] = Field(min_length=1)
    """The processes at the other end."""
    delay: Delay | None = None
    """Their delay, if it differs."""
    loss: Probability | None = None
    """Their loss, if it differs."""


class Partition(Part):
    """From `start_s` to `end_s` no packet sets out from one side to another. A single side is cut
    off from everybody else; processes on no side are not affected. `one_way`: only what the first
    side sends to the others is cut. Packets sent across are `held` until it heals, as by a reliable
    transport, or `lost`."""

    start_s: Seconds
    """When it begins."""
    end_s: Positive
    """When it heals."""
    sides: list[Annotated[list[ProcessRef], Field(min_length=1)]] = Field(min_length=1)
    """Who is cut off from whom."""
    packets: Literal["held", "lost"] = "held"
    """What becomes of packets sent across: held until it heals, or lost."""
    one_way: bool = False
    """Only what the first side sends to the others is cut."""

    @model_validator(mode="after")
    def _check_interval(self) -> "Partition":
        if self.start_s >= self.end_s:
            raise ValueError(f"starts at {self.start_s} and ends at {self.end_s}")
        return self


class Network(Part):
    """Links between all pairs of processes. Without `fifo` a packet may overtake another."""

    delay: Delay = Exponential(mean_s=0.1)
    """How long a packet takes: `exponential:0.1`, `constant:S`, `uniform:LOW,HIGH` or
    `lognormal:MEDIAN,SIGMA`."""
    loss: Probability = 0.0
    """The share of packets that are lost."""
    duplication: Probability = 0.0
    """The share of packets that arrive twice."""
    fifo: bool = False
    """Whether packets of a link arrive in the order of sending."""
    links: list[Link] = []
    """Links that differ from the others."""
    partitions: list[Partition] = []
    """Cuts, while they last."""


class Crash(Part):
    """The process does nothing from this time on. What it has sent still arrives. At `back_s` it
    comes back, under a name of its own, for it has forgotten everything."""

    process: ProcessRef
    """Who crashes."""
    time_s: Seconds
    """When."""
    back_s: Positive | None = None
    """When it comes back, if it does."""

    @model_validator(mode="after")
    def _check_interval(self) -> "Crash":
        if self.back_s is not None and self.back_s <= self.time_s:
            raise ValueError(f"crashes at {self.time_s} and is back at {self.back_s}")
        return self


class Join(Part):
    """One of the processes is not there at the start, and asks at this time to be let in. It sends
    and is addressed once it is in. `talks_with` are those with whom it will talk most, if that is
    known: a protocol may place it near them."""

    process: ProcessRef
    """Who comes later."""
    time_s: Positive
    """When it asks to be let in."""
    talks_with: list[ProcessRef] = []
    """With whom it will talk most."""


class NewLink(Part):
    """A link between two processes of a topology that is there from this time on."""

    between: Annotated[list[ProcessRef], Field(min_length=2, max_length=2)]
    """The two ends."""
    time_s: Positive
    """When."""


class Regrouping(Part):
    """The groups change at this time, or as soon after it as everything that was sent has been
    delivered; nothing is sent meanwhile. A group keeps its place; one that is given up is empty."""

    time_s: Positive
    """When."""
    groups: list[list[ProcessRef]] = Field(min_length=1)
    """The groups from then on."""


class LabelsAsked(Part):
    """Order within labels only: a message has one of so many, or with the probability `bypass`
    none, and is in no order then. One order of the protocol for each label."""

    kind: Literal["labels"] = "labels"
    """Order within labels."""
    count: int = Field(default=2, ge=1)
    """How many labels there are."""
    bypass: Probability = 0.0
    """The share of messages without a label."""


class PrioritiesAsked(Part):
    """A message has one of so many priorities, and waits for what is at least as urgent."""

    kind: Literal["priorities"] = "priorities"
    """Order by urgency."""
    count: int = Field(default=2, ge=1)
    """How many priorities there are."""


class ContextsAsked(Part):
    """The application holds so many histories at each process, one a conversation. A message is of
    a conversation and is sent in its history, or, with the probability `merge`, in that of another
    one, too, merged into it; or with `bypass` in none."""

    kind: Literal["contexts"] = "contexts"
    """Order within conversations."""
    count: int = Field(default=2, ge=1)
    """How many conversations each process holds."""
    merge: Probability = 0.0
    """The share of messages that also follow another conversation."""
    bypass: Probability = 0.0
    """The share of messages of no conversation."""


Asked = Annotated[LabelsAsked | PrioritiesAsked | ContextsAsked, Field(discriminator="kind")]


class ByTime(Part):
    """A message is known to be delivered everywhere when this time has passed, on a network that is
    declared to take less."""

    kind: Literal["time"] = "time"
    """Known by the clock."""
    delta_s: Positive
    """How long every delivery takes at most."""


class ByEvidence(Part):
    """A message is known to be delivered everywhere when what has arrived since says so: by the
    timestamps as they are printed, by citing once more to the sender, or by acknowledgements."""

    kind: Literal["evidence"] = "evidence"
    """Known by what has arrived."""
    evidence: Literal["timestamps", "exempt", "acknowledge"] = "acknowledge"
    """What counts as evidence."""


FullyDelivered = Annotated[ByTime | ByEvidence, Field(discriminator="kind")]


class Layout(Part):
    """Groups in a shape; see `antecede.simulate.layouts`."""

    layout: Shape
    """The shape."""
    count: int = Field(ge=1)
    """How many groups."""
    size: int | None = Field(default=None, ge=1)
    """How many members each has."""


class Open(Part):
    """Every process sends at `rate`, as a Poisson process; besides, a delivery makes the process
    send one more message, at once, with the probability `cascade`."""

    cascade: Probability = 0.0
    """The probability that a delivery is answered by one more message."""


class Local(Open):
    """Messages to few, of which some stay near: with the probability `local` in the innermost part
    of the topology that has other processes (a department, say), else with the same probability in
    the next one around it, and so on; see `antecede.simulate.circles`."""

    local: Probability | None = None
    """The probability that a message stays in the innermost part of the topology."""


class Unicast(Local):
    """Each message goes to one other process."""

    kind: Literal["unicast"] = "unicast"
    """To one other process."""


class Multicast(Local):
    """Each message goes to a random set of other processes: of this size, or each of them with
    this probability (and at least one)."""

    kind: Literal["multicast"] = "multicast"
    """To a random set."""
    size: int | None = Field(default=None, ge=1)
    """How many destinations a message has."""
    probability: Probability | None = None
    """With which probability each process is one."""

    @model_validator(mode="after")
    def _check_choice(self) -> "Multicast":
        if (self.size is None) == (self.probability is None):
            raise ValueError("needs either size or probability")
        return self


class Broadcast(Open):
    """Each message goes to everybody."""

    kind: Literal["broadcast"] = "broadcast"
    """To everybody."""


class Groups(Open):
    """Each message goes to a random group of its sender."""

    kind: Literal["groups"] = "groups"
    """To a group of the sender."""


class Requests(Part):
    """Clients and servers: the first `servers` processes answer, all others ask one of them at
    `rate`. The answer goes to the client as soon as the request is delivered."""

    kind: Literal["requests"] = "requests"
    """Clients ask, servers answer."""
    servers: int = Field(default=1, ge=1)
    """How many processes serve."""


class Token(Part):
    """Replicated data: whoever has the token writes so often, each write going to everybody, and
    hands the token to one other process. Every token is of data of its own; the first holders are
    the first processes."""

    kind: Literal["token"] = "token"
    """Who has the token writes."""
    writes: int = Field(default=2, ge=1)
    """How many writes before the token is handed on."""
    tokens: int = Field(default=1, ge=1)
    """How many tokens there are."""


class Talk(Part):
    """What one process says to some others."""

    sender: ProcessRef
    """Who sends."""
    to: list[ProcessRef] = Field(min_length=1)
    """To whom."""
    share: Positive = 1.0
    """How often, against the others in the list."""


class Talks(Part):
    """Who talks to whom: each message is one of these, drawn by their shares. `rate` is the mean
    over all processes; `antecede advise --trace` makes such a list of what was recorded."""

    kind: Literal["talks"] = "talks"
    """By a list of who talks to whom."""
    talks: list[Talk] = Field(min_length=1)
    """Who sends to whom, how often."""


class Replay(Part):
    """A real causal graph: a process sends an event as soon as it has delivered all its causes."""

    kind: Literal["replay"] = "replay"
    """A real causal graph again."""
    graph: str
    """One that ships, by name, or a file."""
    session: str | None = None
    """Which session of it, where it has several."""


Workload = Annotated[
    Unicast | Multicast | Broadcast | Groups | Requests | Token | Talks | Replay,
    Field(discriminator="kind"),
]
