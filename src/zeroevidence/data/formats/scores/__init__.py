"""Score files with their keys: one module for each format, which adds itself to `SCORE_FORMATS`."""
