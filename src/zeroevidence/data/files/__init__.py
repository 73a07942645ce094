"""Files: errors that name them, JSON, CSV cells, size limits, atomic writing, locks, and external programs."""
