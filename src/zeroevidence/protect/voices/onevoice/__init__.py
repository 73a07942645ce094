"""One voice for all: what is said, in few codes, spoken by one synthetic voice.

The encoder of a speech recogniser hears a recording; a small network reduces each of its frames to one code of a short
list; a decoder that has learned from a synthetic voice alone turns codes into speech. Words and timing stay.
"""

from zeroevidence.protect.voices.onevoice.protector import OneVoice as OneVoice
