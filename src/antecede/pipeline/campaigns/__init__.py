"""Campaigns and fuzzing on Spark: many runs, each by itself, dealt out to executors."""
