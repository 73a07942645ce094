"""Local web page: choose recordings, embeddings or scores, and read the verdict, the report or the problems."""

MAX_BYTES = 200_000_000  # the most that one upload may hold, and the most that it may unpack to
MOST_FILES = 10_000  # of one upload
TIMEOUT = 1800.0  # seconds after which work is stopped
PORT = 8000
