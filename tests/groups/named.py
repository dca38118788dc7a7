"""Schedules by name: what chance seldom or never draws, step by step."""

import msgspec

from tests.groups.lab import Action, Schedule

QUIET = Schedule(
    seed=1,
    founders=4,
    processes=5,
    loss=0.0,
    duplication=0.0,
    delay_s=0.01,
    tail=0.0,
    tick_s=0.1,
    actions=(),
)
"""Four founders and one that may join, on a network without faults of its own. A silent member is
suspected after 1.2 s, and a flush waits 1 s for an answer."""


def scene(*actions: Action, **changes: object) -> Schedule:
    """A quiet network on which this happens."""
    return msgspec.structs.replace(QUIET, actions=actions, **changes)


def traffic(*senders: int, end: float = 4.0, every_s: float = 0.2) -> list[Action]:
    """Every sender sends five times a second, or as often as this."""
    return [
        Action(every_s * turn + 0.01 * sender, "send", sender)
        for turn in range(1, int(end / every_s))
        for sender in senders
    ]


DUEL = scene(
    Action(0.9, "no-detours"),
    Action(0.9, "cut-link", 0, mask=0b010),
    Action(0.9, "cut-on", 0, name="Prepare", seconds=0.25),
    Action(0.9, "cut-on", 1, name="Accept", seconds=1.0),
    Action(0.9, "cut-on", 0, name="Decide", seconds=2.5),
    Action(6.0, "heal"),
    founders=3,
    processes=3,
)
"""0 and 1 do not hear each other, and both want 2 for a view without the other. 2 promises the
ballot of 1, which is the higher one; the PREPARE of 0 comes later. Were it answered, 2 would accept
for 0, which decides and is then cut off, and after that for 1, which decides as well."""

LATE_ACCEPT = scene(
    Action(0.9, "no-detours"),
    Action(0.9, "cut-link", 0, mask=0b010),
    Action(0.9, "cut-on", 1, name="Prepare", seconds=0.2),
    Action(0.9, "cut-on", 0, name="Accept", seconds=0.6),
    Action(0.9, "cut-on", 1, name="Accept", seconds=1.1),
    Action(0.9, "cut-on", 0, name="Decide", seconds=2.5),
    Action(6.0, "heal"),
    founders=3,
    processes=3,
)
"""The same two; but 2 promises the ballot of 0 first, then that of 1, and only then is asked to
accept for 0."""

TWO_PROPOSALS = scene(
    Action(1.0, "crash", 4),
    Action(1.0, "cut-on", 0, name="Accept", seconds=4.5),
    Action(1.0, "crash-on", 1, name="Decide"),
    Action(8.0, "send", 2),
    founders=5,
)
"""0 proposes a view without 4, accepts that, and is cut off before anybody else hears of it. 1
takes over with a higher ballot, and decides a view that is without 0, too; it dies before anybody
hears of that. Then 0 is back, and those who are left have accepted one or the other."""

EMPTY_PROMISE = scene(
    Action(0.9, "crash-on", 4, mask=0b01000, name="Data"),
    Action(1.0, "send", 4),
    Action(1.1, "lose-on", 3, name="Data"),
    Action(1.1, "crash-on", 3, mask=0b11111, name="Promise"),
    Action(8.0, "send", 2),
    founders=5,
)
"""4 dies in the middle of a multicast that reaches 3 alone. 3 promises the message to the
coordinator, and is dead before it comes."""

UNINVOLVED_ACCEPT = scene(
    Action(0.9, "crash-on", 5, mask=0b000001, name="Data"),
    Action(1.0, "send", 5),
    *[Action(1.5, "leave", process) for process in (1, 2)],
    *[Action(1.5, "deaf-on", process, name="Accept", seconds=1.5) for process in (3, 4)],
    *[Action(1.5, "lose-on", 0, name="Data") for _ in range(4)],
    Action(1.5, "crash-on", 0, mask=0b000110, name="Decide"),
    *[Action(12.0 + turn / 5, "send", 3) for turn in range(3)],
    founders=6,
    processes=6,
)
"""0 alone has the last message of 5, which is in the cut. 1 and 2 leave, and those who stay miss
the proposal: 0, 1 and 2 are a quorum, and 0 dies as soon as it has told the two. If they accepted
without the message, it is lost, and the decision is not."""

HASTY_DECISION = scene(
    Action(0.9, "crash-on", 5, mask=0b011001, name="Data"),
    Action(1.0, "send", 5),
    *[Action(1.05, "leave", process) for process in (3, 4)],
    *[Action(1.05, "lose-on", 0, name="Data") for _ in range(2)],
    *[Action(1.05, "lose-on", process, name="Accepted") for process in (1, 2)],
    *[Action(1.05, "crash-on", process, mask=0b000001, name="Accepted") for process in (3, 4)],
    Action(1.05, "crash-on", 0, mask=0b000110, name="Decide"),
    Action(8.0, "send", 2),
    founders=6,
    processes=6,
)
"""0, 3 and 4 have the last message of 5, which is in the cut. 3 and 4 want to leave; they accept
and die. 1 and 2, who stay, lack it. If 0 decides with 3 and 4 and dies, nobody is left that has it,
though 1 and 2 are enough for the next view."""

ORPHAN = scene(
    Action(0.9, "crash-on", 4, mask=0b01000, name="Data"),
    Action(1.0, "send", 4),
    Action(1.05, "send", 3),
    Action(1.1, "mute", 3),
    Action(4.0, "unmute", 3),
    founders=5,
)
"""3 alone has the last message of 4, and sends another, which all get and nobody can deliver. Then
3 is not heard and excluded. It has to be told that its message is lost."""

LATE_ACKNOWLEDGEMENT = scene(
    Action(1.0, "mute", 3),
    Action(1.6, "send", 3),
    *[Action(2.0, "lose-on", 0, name="Accept") for _ in range(15)],
    Action(2.3, "unmute", 3),
)
"""3 is not heard and excluded. All have promised, and the proposal is lost for a while, when a
message of 3 comes at last, too late for the cut."""

ISLAND = scene(
    Action(0.0, "no-detours"),
    *[Action(1.0, "mute-link", process, mask=0b10000) for process in (0, 1, 2)],
    Action(2.7, "send", 3),
    Action(3.0, "heal"),
    founders=5,
)
"""4 hears 3 alone and is suspended when a message of 3 comes; then it hears all again, and nothing
else is sent."""

STALE_JOIN = scene(
    Action(0.4, "repeat-on", 2, name="Join", seconds=8.0),
    Action(0.5, "restart", 2),
    Action(2.0, "leave", 2),
    Action(3.5, "restart", 3),
    Action(5.0, "leave", 0),
    Action(5.0, "leave", 1),
    Action(10.0, "send", 3),
    founders=2,
    processes=4,
)
"""2 joins and leaves, and its request to join comes again when only a newcomer is left."""

SHORT_CALL = scene(
    Action(0.9, "crash-on", 4, mask=0b1000, name="Join"),
    Action(0.9, "lose-on", 3, name="Join"),
    Action(1.0, "restart", 4),
    *[Action(13.0, "leave", process) for process in (0, 1, 2)],
    Action(16.0, "send", 3),
)
"""4 asks 3 to join and dies; 3 alone knows, and leads the group much later."""

LOST_WELCOME = scene(
    *[Action(0.9, "lose-on", 0, name="Welcome") for _ in range(4)],
    Action(1.0, "restart", 4),
    steady=True,
)
"""A newcomer is in and does not hear of it at first."""

COMING_AND_GOING = scene(
    *[Action(0.5 + turn / 10, "tell", 0, 0b10000) for turn in range(120)],
    *[Action(1.0 + 2.0 * turn, "restart", 4) for turn in range(4)],
    *[Action(2.5 + 2.0 * turn, "leave", 4) for turn in range(4)],
)
"""4 joins and leaves again and again, and 0 talks to it alone."""

LATE_PREPARE = scene(
    *traffic(0, 1, 2, end=8.0),
    Action(1.0, "repeat-on", 0, name="Prepare", seconds=2.5),
    Action(1.0, "crash", 3),
    spared=0b0111,
    prompt_s=1.0,
)
"""The PREPARE of a change of views comes again when the change is long over."""

DECIDED_BUT_LACKS = scene(
    Action(0.0, "no-detours"),
    Action(0.9, "crash-on", 4, mask=0b00100, name="Data"),
    Action(1.0, "send", 4),
    Action(1.0, "deaf-on", 1, name="Accept", seconds=1.0),
    Action(1.0, "crash-on", 0, mask=0b00010, name="Decide"),
    *[Action(5 + turn / 5, "send", 2) for turn in range(5)],
    founders=5,
)
"""4 dies, and 0 decides a view without it that begins after a message which 1 lacks; then 0 dies
too, and the decision reaches 1 alone. It is the most senior of those who are left."""

LEAVERS_LEARN = scene(
    *traffic(0, 1, 2, end=6.0),
    Action(1.0, "leave", 3),
    Action(1.0, "leave", 4),
    Action(1.0, "crash-on", 0, mask=0b11000, name="Decide"),
    founders=5,
)
"""0 decides that 3 and 4 are out, as they asked, and dies: only those two learn of it. 1 and 2 are
enough for the new view, and not for the old one."""

EXCLUDED_LEARN = scene(
    *traffic(0, 1, 2, end=6.0),
    Action(1.0, "mute", 3),
    Action(1.0, "mute", 4),
    Action(1.0, "crash-on", 0, mask=0b11000, name="Decide"),
    Action(4.0, "unmute", 3),
    Action(4.0, "unmute", 4),
    founders=5,
)
"""The same, but 3 and 4 were suspected, wrongly, since they were not heard."""

ONE_ARRIVES = scene(
    *[Action(1.0, "leave", process) for process in (5, 6, 7)],
    Action(1.0, "lose-on", 3, name="Promise"),
    *[Action(1.0, "mute-link", process, mask=0b00011100) for process in (1, 5, 6, 7)],
    Action(1.0, "crash-on", 0, mask=0b11100010, name="Decide"),
    Action(1.9, "crash", 1),
    Action(2.0, "heal"),
    Action(14.0, "send", 2),
    founders=8,
    processes=8,
)
"""The decision reaches those who leave, and of those who stay 1 alone, which dies before it can
hand it on. 2, 3 and 4 are enough for the new view, and not for the old one."""

LAST_TO_KNOW = scene(
    *[Action(1.0, "leave", process) for process in (3, 4, 5, 6)],
    Action(1.0, "crash-on", 0, mask=0b1000000, name="Decide"),
    *[Action(1.6, "crash", process) for process in (3, 4, 5)],
    Action(16.0, "send", 2),
    founders=7,
    processes=7,
)
"""Of four that leave one learns that it may. 1 and 2 stay and do not; all others die, so that the
three are too few to decide again."""

DEAF = scene(
    *traffic(0, 1, 2, 3, end=10.0),
    Action(1.0, "deafen", 4),
    Action(11.0, "undeafen", 4),
    founders=5,
    spared=0b01111,
)
"""4 hears nobody, and is heard."""

BRIEFLY_DEAF = scene(
    *traffic(0, 1, 2, 3, end=8.0, every_s=0.5),
    Action(1.0, "deafen", 4),
    Action(3.1, "undeafen", 4),
    founders=5,
    spared=0b01111,
    prompt_s=0.5,
)
"""4 hears nobody for so long that it suspects all, and not so long that all suspect it."""

LASTING_ISLAND = scene(
    Action(0.0, "no-detours"),
    *[Action(1.0, "mute-link", process, mask=0b10000) for process in (0, 1, 2)],
    Action(2.4, "send", 3),
    Action(8.0, "heal"),
    founders=5,
)
"""The same as the island, but 4 is suspended for so long that it is excluded."""

ONE_WAY = scene(
    Action(0.0, "no-detours"),
    *traffic(0, 1, 2, 4, end=10.0),
    Action(1.0, "mute-link", 0, mask=0b01000),
    Action(11.0, "heal"),
    founders=5,
    spared=0b10111,
)
"""3 does not hear the most senior member, but all others."""

HALF_DEAF = scene(
    Action(0.0, "no-detours"),
    *traffic(1, 2, 3, 4, end=10.0),
    *[Action(1.0, "mute-link", process, mask=0b00001) for process in (2, 3, 4)],
    Action(11.0, "heal"),
    founders=5,
    spared=0b11110,
)
"""The most senior member hears the next one only; it can decide nothing, and 1 is to take over."""

ONE_LINK = scene(
    *traffic(0, 1, 2, 3, 4, end=10.0),
    Action(1.0, "cut-link", 1, mask=0b01000),
    Action(11.0, "heal"),
    founders=5,
    spared=0b11111,
)
"""1 and 3 do not hear each other, but all others do."""

NO_MAJORITY = scene(
    *traffic(0, 1, 2, 3, 4, end=4.0),
    Action(1.0, "part", mask=0b00011),
    Action(1.0, "part", mask=0b01100),
    Action(4.0, "heal"),
    founders=5,
    steady=True,
)
"""A partition that leaves no quorum anywhere, for a while."""

PAIRS = scene(
    Action(0.0, "no-detours"),
    Action(1.0, "part", mask=0b00011),
    Action(1.0, "part", mask=0b01100),
    Action(3.439, "heal"),
    founders=5,
    seed=3,
    delay_s=0.003,
    steady=True,
)
"""The same in a group at rest: each has heard its neighbour miss the others for long."""

HARDLY_DEAF = scene(
    Action(1.0, "deafen", 4),
    Action(2.8, "undeafen", 4),
    founders=5,
    steady=True,
)
"""One hears nobody, but not for long enough to be given up."""

DEAF_ONCE = scene(
    Action(1.0, "deafen", 4),
    Action(3.1, "undeafen", 4),
    Action(15.0, "leave", 0),
    founders=5,
    steady=True,
)
"""One was deaf for a while; much later the most senior member leaves."""

ALL_LEAVE = scene(
    Action(0.5, "send", 0),
    *[Action(1.0, "leave", process) for process in range(4)],
    loss=0.3,
)
"""All leave at once."""

LONELY_LEAVE = scene(
    Action(0.3, "send", 3),
    *[Action(1.0, "crash", process) for process in (0, 1, 2)],
    Action(4.0, "leave", 3),
)
"""The last of four wants to leave when the others are dead."""

LEAVE_IN_DOUBT = scene(
    Action(0.5, "deafen", 3),
    Action(1.0, "send", 3),
    Action(1.3, "part", mask=0b1000),
    Action(1.5, "leave", 3),
    Action(20.0, "heal"),
)
"""The last message of 3 arrives, but 3 is not told; then it is alone, and wants to leave."""

TALK = scene(
    *[
        Action(0.3 + turn / 20, "tell", speaker, 1 << listener)
        for turn in range(60)
        for speaker, listener in ((0, 1), (1, 0), (2, 3), (3, 2))
    ],
    Action(1.0, "crash", 3),
    Action(1.1, "restart", 3),
    Action(2.0, "restart", 4),
    loss=0.3,
    duplication=0.2,
)
"""Members tell each other alone, through changes of views."""

PIECES = scene(
    Action(0.9, "lose-on", 3, mask=0b0001, name="Data"),
    Action(0.9, "crash-on", 3, mask=0b0010, name="Data"),
    Action(1.0, "send", 3),
    Action(1.1, "send", 3),
)
"""3 sends two messages, of which the first reaches 0 alone and the second 1 alone, and dies. Nobody
can deliver the second before 0 and 1 put together what they have."""

OUT_OF_TURN = scene(
    Action(0.5, "lose-on", 0, name="Tell"),
    Action(0.6, "tell", 0, 0b10),
    Action(0.65, "tell", 0, 0b10),
    Action(0.7, "crash", 0),
)
"""0 tells 1 two things, of which the first is lost, and dies."""

SCHEDULES: dict[str, Schedule] = {
    "duel": DUEL,
    "late accept": LATE_ACCEPT,
    "one link": ONE_LINK,
    "two proposals": TWO_PROPOSALS,
    "empty promise": EMPTY_PROMISE,
    "uninvolved accept": UNINVOLVED_ACCEPT,
    "hasty decision": HASTY_DECISION,
    "orphan": ORPHAN,
    "late acknowledgement": LATE_ACKNOWLEDGEMENT,
    "island": ISLAND,
    "stale join": STALE_JOIN,
    "short call": SHORT_CALL,
    "lost welcome": LOST_WELCOME,
    "coming and going": COMING_AND_GOING,
    "late prepare": LATE_PREPARE,
    "decided but lacks": DECIDED_BUT_LACKS,
    "leavers learn": LEAVERS_LEARN,
    "excluded learn": EXCLUDED_LEARN,
    "one arrives": ONE_ARRIVES,
    "last to know": LAST_TO_KNOW,
    "deaf": DEAF,
    "briefly deaf": BRIEFLY_DEAF,
    "lasting island": LASTING_ISLAND,
    "one way": ONE_WAY,
    "half deaf": HALF_DEAF,
    "no majority": NO_MAJORITY,
    "pairs": PAIRS,
    "hardly deaf": HARDLY_DEAF,
    "deaf once": DEAF_ONCE,
    "all leave": ALL_LEAVE,
    "lonely leave": LONELY_LEAVE,
    "leave in doubt": LEAVE_IN_DOUBT,
    "talk": TALK,
    "pieces": PIECES,
    "out of turn": OUT_OF_TURN,
}
