"""What a row of results is: its measures, what it is about, how it was computed, and its files."""
