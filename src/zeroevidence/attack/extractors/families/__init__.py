"""One module for each family of extractors, which adds it to `EXTRACTORS`."""
