"""Reading score files: detection of the format, readers of text, and the join of scores with their key."""
