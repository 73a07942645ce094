"""Systems compared on the same trials."""
