"""The hierarchical daisy (Baldoni, Friedman, van Renesse): causal order that survives crashes.

Processes live in local groups. A message is broadcast in its sender's group, in the causal order of
that group; its vector is as long as the group. The most senior member of a group is its *server*.
If a message has destinations elsewhere, the server broadcasts it in the group of servers, whose
members broadcast it in their own groups. With more levels, groups of servers have servers in turn
(`plan`). The groups themselves are `antecede.groups`: views, flushes, reliable channels, stability.

Of each of its groups (`layer`) a process knows its own member in it, the number of the last message
of each sender that came by, and the messages that the group keeps, each with the groups below that
are done with it. The rules, those beyond the paper marked with *:

- Up and down, a message is sent on when *all members* have it and it has been delivered there*:
  then no crash can take away what an answer depends on.
- A message that came by before (by its sender and number) is dropped: a new server sends on again
  what the last one had sent.
- The group of its sender and all other groups that it reaches keep a message until all processes
  that it is for have it*. Word of that goes up (`Done`: a group below is done) and comes back down
  (`Release`). It is the group that is done, whichever process serves it: rows belong to roles*.
- A new server joins the group above and is handed what that keeps. It sends down what its group has
  not had, and then up what the other has not had, from its own group and from others*.
- Nothing waits for the dead. But for a while a message is kept for a process that is away*: it may
  have been suspected wrongly, and come back.
- A group of servers that has died as a whole is founded anew. Its servers sort what they have by
  Lamport time before anything else*.

Invariant: if one message precedes another and both come by in a group, all members of that group
deliver the first before the second.

Paper: R. Baldoni, R. Friedman, R. van Renesse, "The Hierarchical Daisy Architecture for Causal
Delivery", ICDCS 1997 (report of 1996).

The core and the parts over it:

===================  ===============================================================================
`protocol`           the inputs, and which part answers each effect of a group
`core`, `records`    what every part uses; all that a process knows
`layer`, `rest`      one group at one process; when its member works, and when it rests
`relay`              messages: delivered, sent on from group to group, kept and let go
`forwarding`         when a message may be sent on, up or down
`local`              how they travel in a group; optimised: `local_server`, `local_recipients`
`local_handover`     what becomes of messages of `local_recipients` when a view changes
`ahead`              messages that are sent on before they are delivered
`arrivals`           what groups deliver; `batches`: how groups begin that are founded anew
`views`, `absence`   when views change; who is away, and who is back
`undelivered`        what a server had, and its local group had not, when the group lost it
`search`, `fence`    how servers find each other and found their group anew, bound to its epoch
`changes`, `splits`  local groups that split and merge; `load`: what they carry
`consent`, `history` how groups agree to a change; all changes that a process knows of
`levels`             groups of servers that split and dissolve: levels come and go
`plan`, `options`    the tree of groups; what can be chosen; `draws`: what the fuzzer chooses
`items`, `stamp`     what travels in a group, and in a packet; `checks`: what is refused
`epochs`, `matrix`   for `local_recipients`: what is known in an epoch, and its matrix
`lasting`            the state, apart from when others were last heard
===================  ===============================================================================
"""

from antecede.overlays.daisy.protocol import Daisy

__all__ = ["Daisy"]
