"""What an encoder is trained on: features of utterances, read from files and held on a device."""
