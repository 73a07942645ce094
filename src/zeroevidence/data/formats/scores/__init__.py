"""Score files with their keys: modules add formats to `SCORE_FORMATS`, and `reading` reads them."""
