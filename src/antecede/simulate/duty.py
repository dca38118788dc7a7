"""Which faults a protocol may be given, and what they excuse, by what its traits promise.

Order is promised whatever the network does, but for a protocol that needs FIFO channels: with
losses they are none. That messages arrive is promised where nothing is lost and nobody crashes, and
beyond that as far as the traits go. `antecede simulate`, `antecede fuzz` and
campaigns judge by this.
"""

from enum import Enum

from antecede.order import Channels, Traits
from antecede.simulate.leftover import Leftover
from antecede.simulate.scenario import Scenario


class Duty(Enum):
    """What has to be delivered by the end of a run."""

    NOTHING = "nothing"
    """Only the order counts."""
    ARRIVED = "arrived"
    """What has arrived."""
    SURVIVORS = "survivors"
    """What survivors sent to survivors, and what any of them has delivered."""


def may_lose(traits: Traits) -> bool:
    """Whether packets may be lost without breaking what the protocol is given to stand on."""
    return traits.channels is Channels.ANY


def loses(scenario: Scenario) -> bool:
    """Whether the network of a scenario may lose packets."""
    network = scenario.network
    return bool(
        network.loss
        or any(link.loss for link in network.links)
        or any(partition.packets == "lost" for partition in network.partitions)
    )


def duty(scenario: Scenario) -> Duty:
    """What the protocol owes in this scenario."""
    traits = scenario.traits
    if scenario.crashes and not _owes_despite_crashes(scenario):
        return Duty.NOTHING
    if not loses(scenario) or traits.repairs_loss:
        return Duty.SURVIVORS
    return Duty.ARRIVED if traits.survives_loss else Duty.NOTHING


def _owes_despite_crashes(scenario: Scenario) -> bool:
    """Whether those who crash leave somebody in the place of each that others need."""
    crashed = scenario.members(crash.process for crash in scenario.crashes)
    order = scenario.order(0, scenario.membership, scenario.order_options)
    return order.owes_despite(crashed)


def owed_of(scenario: Scenario, left: Leftover) -> int:
    """How many undelivered copies neither the faults nor what was told excuses."""
    match duty(scenario):
        case Duty.NOTHING:
            return 0
        case Duty.ARRIVED:
            return left.waiting
        case Duty.SURVIVORS:
            return left.unexcused
