"""Intervals, nulls and paired comparisons; every random choice comes from an explicit seed."""
