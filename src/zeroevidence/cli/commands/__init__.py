"""The commands, one file or folder each; the first line of a file is the summary that --help shows."""
