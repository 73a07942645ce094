"""The tables that results are shown in: evaluations, comparisons, plans, attributes, trade-offs."""
