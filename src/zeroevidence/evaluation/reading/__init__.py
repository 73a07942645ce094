"""Files in, rows of results out: score files, kits of challenges, results, linked searches."""
