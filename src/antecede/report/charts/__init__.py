"""Charts as SVG, drawn in plain Python. Each takes its numbers and a width and returns markup."""
