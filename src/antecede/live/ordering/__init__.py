"""A protocol among members that come and go, without sockets: what they say to each other, and what
follows from it.

- `items`: what members say to each other on a link, as it travels
- `offers`: the same, of newcomers and those who help them
- `session`: a protocol, view by view, with nothing lost between two views
- `epoch`: what one member knows of one view
- `effects`: what a session wants done
- `incomplete`: less than causal order: labels and contexts
- `seals`: how words that are handed on are known to be their sender's
"""
