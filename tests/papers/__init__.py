"""What the papers say, as tests: one file a paper, each test named after its section."""
