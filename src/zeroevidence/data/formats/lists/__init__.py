"""Text files of one line per name: speakers, priors, transcripts and classes."""
