"""Communication graphs, and what separates their parts."""
