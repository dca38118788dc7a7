"""Work on Spark, in three rooms: campaigns (with fuzzing), the audit of huge traces, and clusters.
All share the session and the way to spread work. Besides `antecede.spark`, which is for sessions
that exist, nothing else in Antecede knows pyspark."""
