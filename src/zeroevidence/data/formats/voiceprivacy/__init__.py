"""Folders of the VoicePrivacy Challenges: data, scores, transcripts and published tables."""
