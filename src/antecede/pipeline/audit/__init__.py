"""The verification of traces of any size on Spark, which hands out tasks and sees no row.

- `verify` is the way in: it cuts a trace into lots of small runs and huge ones, and adds up.
- `job` has the files, the limits and the tasks; `runs` finds the runs, and judges small ones whole.
- `windows` is what a task does with a window of a huge run whose rows are in order: it feeds the
  rows to the one pass of `antecede.trace.rows` and to the kernel, as the local engine does.
- `boundaries` puts windows together: whether they fit, and what flew from one to another.
- `flights` goes over a run once more, from end to end, where messages fly for longer than windows
  reach: over the `log` of its copies, piece by piece; `culprits` names what they overtook.
- `ordering` puts rows in order that are not: by an `exchange` of rows between tasks and, where
  positions are missing, a `merge` of the processes. Then the run goes the same way.
- `diagnosis` says which rule a run breaks, in the words of `antecede.trace.rules`.
"""
