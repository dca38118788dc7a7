"""Small worlds around one idea, for protocols that take silence for a crash.

Such a protocol has leaders: whoever comes first in a group speaks for it elsewhere, and when it is
gone the next one does. What it gets wrong takes few processes and few messages, but faults that hit
whoever leads at that moment, one time-out after the other, and a message that some have heard of
and others have not. Random faults hardly ever meet. So each *story* here is one way in which they
do, with random times, groups and traffic. The time-outs are not known: they are taken to be a few
silences.
"""

from collections.abc import Callable

import msgspec

from antecede.drawn import FOR_EVER_S
from antecede.fuzzing.chance import Chance
from antecede.fuzzing.hardship import TICK_S, Blocks, Fields, draw_traffic

SAFE: Fields = {"forward": "stable"}
FORMS: tuple[Fields, ...] = (
    *[SAFE] * 6,
    {"forward": "delivered"},
    {"forward": "received"},
    {"local": "recipients"},
    {},
)
"""How groups send messages on; the last is drawn with all other options."""
EARLY: tuple[Fields, ...] = (*[{"forward": "delivered"}] * 3, {"forward": "received"}, SAFE)


class Story(msgspec.Struct):
    """What happens in a world of so many groups. `busy_s`: the time that matters most for traffic;
    `focus`: the group to which most happens."""

    blocks: Blocks
    silence_s: float
    busy_s: float = 0.0
    focus: list[int] = []
    cuts: list[Fields] = []
    crashes: list[Fields] = []
    slow: list[int] = []

    @property
    def others(self) -> Blocks:
        return [block for block in self.blocks if block is not self.focus]

    @property
    def last_s(self) -> float:
        """When the last fault is over, of those that are ever."""
        ends = [cut["end_s"] for cut in self.cuts if cut["end_s"] < FOR_EVER_S]
        return float(max([self.busy_s, *ends, *(crash["time_s"] for crash in self.crashes)]))

    def cut(self, start_s: float, end_s: float, *sides: list[int], packets: str = "lost") -> None:
        times = {"start_s": round(start_s, 3), "end_s": round(end_s, 3)}
        self.cuts.append({**times, "sides": [list(side) for side in sides], "packets": packets})

    def crash(self, time_s: float, *processes: int) -> None:
        self.crashes += [{"process": one, "time_s": round(time_s, 3)} for one in processes]

    def last_words(self, time_s: float, dying: list[int], chance: Chance) -> None:
        """Some do not hear those who crash then, for less than a silence before: the leaders that
        live, or the rest of a group."""
        hearing = [block[0] for block in self.blocks if block[0] not in dying]
        if not hearing or chance.happens(0.4):
            hearing = [one for one in chance.pick(self.others) if one not in dying]
        length_s = chance.within(0.15, 0.9) * self.silence_s
        self.cut(max(0.02, time_s - length_s), time_s + 0.1, dying, hearing)


class Plot(msgspec.Struct, frozen=True):
    """What a story takes. `widths` and `counts` of groups: as many as leave a majority. `few`,
    `long`, `forgets`: how often few talk, traffic lasts until all is over, and who is away is
    forgotten before it can be back."""

    tell: Callable[[Story, Chance], None]
    widths: tuple[int, ...] = (3,)
    counts: tuple[int, ...] = (3,)
    few: float = 0.8
    long: float = 0.2
    forgets: float = 0.1
    forms: tuple[Fields, ...] = FORMS


def draw_story(silence_s: float, chance: Chance) -> Fields:
    """Processes, traffic, network, faults and some options of one of the stories."""
    plot = chance.pick(PLOTS)
    width, count = chance.pick(plot.widths), chance.pick(plot.counts)
    blocks = [list(range(row * width, (row + 1) * width)) for row in range(count)]
    story = Story(blocks, silence_s, chance.within(0.4, 1.2) * silence_s, chance.pick(blocks))
    plot.tell(story, chance)
    fields: Fields = {"processes": width * count, "crashes": story.crashes}
    fields |= _traffic(story, plot, chance)
    network: Fields = {"delay": f"exponential:{chance.between(0.01, 0.1)}"}
    fields["network"] = {**network, "partitions": story.cuts}
    if story.slow:
        delay = f"constant:{chance.within(0.1, 0.25) * silence_s:.3g}"
        fields["network"]["links"] = [{"from": story.slow, "to": story.slow, "delay": delay}]
    elif chance.happens(0.2):
        fields["network"]["loss"] = chance.between(0.01, 0.3)
    fields["options"] = {"sizes": [width], "quorum": "majority", "tick_s": TICK_S}
    if chance.happens(plot.forgets):
        fields["options"]["forget_after_s"] = chance.within(1.5, 4.0) * silence_s
    fields["options"] |= chance.pick(plot.forms)
    return fields


def _traffic(story: Story, plot: Plot, chance: Chance) -> Fields:
    """Until it matters, or until all is over; of everybody, or of one or two who do not lead."""
    processes = sum(map(len, story.blocks))
    fields: Fields = draw_traffic(processes, chance)
    if chance.happens(plot.few):
        block = story.focus if chance.happens(0.8) else chance.pick(story.blocks)
        fields = {"workload": {"kind": "talks", "talks": _talks(block, story.blocks, chance)}}
    until_s = story.busy_s + chance.within(0.0, 0.3) * story.silence_s
    if chance.happens(plot.long):
        until_s = story.last_s + chance.within(0.0, 3.0) * story.silence_s
    fields["messages"] = chance.whole(5, 30 if until_s > story.last_s else 20)
    fields["rate"] = float(f"{fields['messages'] / (processes * until_s):.3g}")
    return fields


def _talks(block: list[int], blocks: Blocks, chance: Chance) -> list[Fields]:
    """What the last of a group say to one each of some groups."""
    talks: list[Fields] = []
    for sender in chance.some(block[-2:], chance.whole(1, 2)):
        for _ in range(chance.whole(2, 4)):
            some = chance.some(blocks, chance.whole(1, len(blocks)))
            to = [chance.pick([other for other in one if other != sender]) for one in some]
            talks.append({"sender": sender, "to": to})
    return talks


# The stories.


def _links(story: Story, chance: Chance) -> None:
    """One or two links are cut, of leaders or inside of a group; many a one for ever, but never
    two, which might leave one process without its group for good."""
    for _ in range(chance.whole(1, 2)):
        leaders = [block[0] for block in story.blocks]
        one, other = chance.some(leaders if chance.happens(0.5) else story.focus, 2)
        start_s = chance.within(0.2, 3.0)
        length_s = chance.within(2.0, 10.0) * story.silence_s
        if chance.happens(0.5) and not story.cuts:
            length_s = FOR_EVER_S
        story.cut(start_s, start_s + length_s, [one], [other])
    story.busy_s = max(story.last_s, 4 * story.silence_s)


def _at_once(story: Story, chance: Chance) -> None:
    """Leaders crash in the same moment, and not everybody has heard their last words."""
    count = chance.whole(2, len(story.blocks) // 2)
    dying = [block[0] for block in chance.some(story.blocks, count)]
    story.crash(story.busy_s, *dying)
    story.last_words(story.busy_s, dying, chance)


def _succession(story: Story, chance: Chance) -> None:
    """Leaders crash, and one of those that come next as well, in the middle of taking over."""
    dying = [block[0] for block in story.blocks]
    if chance.happens(0.2):
        dying.remove(chance.pick(story.others)[0])
    story.crash(story.busy_s, *dying)
    story.last_words(story.busy_s, dying, chance)
    if chance.happens(0.6):
        story.slow = story.focus
    again_s = story.busy_s
    for successor in story.focus[1 : 1 + chance.pick([1, 1, 1, 1, 2, 3])]:
        silences = chance.pick([0, 1, 2, 4, 4, 4, 4, 4]) if again_s == story.busy_s else 0
        again_s += silences * story.silence_s + chance.within(0.1, 1.1) * story.silence_s
        story.crash(again_s, successor)


def _in_turn(story: Story, chance: Chance) -> None:
    """A group is away for long, while the leaders of the others crash one after the other."""
    time_s = story.busy_s
    for block in story.others:
        time_s += chance.within(0.5, 3.0) * story.silence_s
        if chance.happens(0.9):
            story.crash(time_s, block[0])
    story.cut(story.busy_s, time_s + chance.within(0.5, 3.0) * story.silence_s, story.focus)


def _pieces(story: Story, chance: Chance) -> None:
    """A leader and the rest of its group are cut off from all and from each other, and come back
    one after the other."""
    start_s = story.busy_s
    first_s = start_s + chance.within(2.0, 8.0) * story.silence_s
    second_s = first_s + chance.within(0.5, 6.0) * story.silence_s
    pieces = [story.focus[:1], story.focus[1:]]
    if chance.happens(0.2):
        pieces.reverse()
    for end_s, piece in zip((first_s, second_s), pieces, strict=True):
        story.cut(start_s, end_s, piece)


def _instead(story: Story, chance: Chance) -> None:
    """A leader is away, then the rest of its group in its place, when other leaders crash."""
    start_s = story.busy_s
    story.busy_s += chance.within(1.2, 3.0) * story.silence_s
    first_s = story.busy_s + chance.within(0.0, 5.0) * story.silence_s
    story.cut(start_s, first_s, story.focus[:1])
    second_s = first_s + chance.within(0.5, 6.0) * story.silence_s
    story.cut(story.busy_s, second_s, story.focus[1:])
    dying = [block[0] for block in story.others]
    if chance.happens(0.1):
        dying.pop()
    story.crash(story.busy_s, *dying)
    if dying:
        story.last_words(story.busy_s, dying, chance)


PLOTS: tuple[Plot, ...] = (
    Plot(_links, counts=(2, 3), few=0.2, long=1.0),
    Plot(_at_once, counts=(4, 4, 5), few=0.1, forms=EARLY),
    *[Plot(_succession, widths=(4,))] * 3,
    Plot(_in_turn, counts=(3, 4, 4), few=0.2, long=0.7),
    Plot(_pieces, counts=(2, 3, 3), few=0.1, long=0.9, forgets=0.9),
    *[Plot(_instead)] * 3,
)
