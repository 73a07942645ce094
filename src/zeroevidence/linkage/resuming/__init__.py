"""A search that continues after an interruption: checkpoints in a folder."""
