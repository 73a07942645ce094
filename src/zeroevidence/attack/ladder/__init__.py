"""Attackers of growing effort, from which development people choose; each module here registers its steps."""
