"""Local web page: upload score and key files, or a result, and read the problems or the report."""

MAX_BYTES = 200_000_000  # the most that one upload may hold
TIMEOUT = 600.0  # seconds after which work is stopped
PORT = 8000
