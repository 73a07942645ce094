"""Score files, keys and protocols of the ASVspoof challenges."""
