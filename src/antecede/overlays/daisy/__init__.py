"""The hierarchical daisy (Baldoni, Friedman, van Renesse): causal order that survives crashes.

Processes live in local groups. A message is broadcast in the group of its sender, in the causal
order of that group (a vector as long as the group). Where it has destinations elsewhere, the
group's *server* (its most senior member) broadcasts it in the group of servers, whose members
broadcast it in theirs; with more levels, groups of servers have servers in turn (`plan`).
The groups themselves are `antecede.groups`: views, flushes, reliable channels, stability.

What a process knows of each of its groups (`layer`): the group's member; of each process the
number of its last message that came by; the messages that the group keeps, with the groups below
that are done with them. Rules, beyond the paper where marked *:

- Sent on, up and down, is what *all members* of a group have and has been delivered there*: then no
  crash can take away what an answer depends on.
- A message that came by before (by sender and number) is dropped: a new server sends on again.
- A group keeps a message until all whom it is for have it, in the group of its sender and in all
  others that it reaches*. Word of that goes up (`Done`: a group below is done) and comes down
  (`Release`). A group is done, whichever process serves it: rows belong to roles*.
- A new server joins the group above, is handed what that keeps, sends down what its group has not
  had, and then sends up what the other has not had, of its own and of others*.
- Nothing waits for the dead; but for a while a message is kept for one that is away*: it may have
  been suspected wrongly, and come back.
- A group of servers that has died as a whole is founded anew, and its servers sort what they have
  by Lamport time before anything else*.

Invariant: of two messages of which one precedes the other, all members of a group that both pass
deliver the first before the second.

Paper: R. Baldoni, R. Friedman, R. van Renesse, "The Hierarchical Daisy Architecture for Causal
Delivery", ICDCS 1997 (report of 1996).

The core and the parts over it:

===================  ===============================================================================
`protocol`           the inputs, and which part answers each effect of a group
`core`, `records`    what every part uses; all that a process knows
`layer`              one group at one process
`relay`              messages: delivered, sent on from group to group, kept and let go
`local`              how they travel in a group; `local_server`, `local_recipients`: optimised
`ahead`              sent on before they are delivered
`arrivals`           what groups deliver, and batches in groups that are founded anew (`batches`)
`views`, `absence`   when views change; who is away, and who is back
`search`             how servers find each other, and found their group anew
`changes`, `splits`  local groups that split and merge; `load`: because of what they carry
`consent`, `history` how these agree to it; all changes that a process knows of
`levels`             groups of servers that split and dissolve: levels come and go
`plan`, `options`    the tree of groups; what can be chosen
`items`, `stamp`     what travels; `matrix`, `epochs`: for `local_recipients`
===================  ===============================================================================
"""

from antecede.overlays.daisy.protocol import Daisy

__all__ = ["Daisy"]
