"""Campaigns: many simulated runs, planned from one file, measured and compared.

Here is all of a campaign that needs no Spark: the file, the plan, one run, its measures, and the
tables that come out. `antecede.pipeline.campaigns.campaign` runs it on executors.
"""
