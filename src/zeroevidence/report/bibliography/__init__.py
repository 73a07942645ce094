"""Sources of the measures: BibTeX, and references as sentences."""
