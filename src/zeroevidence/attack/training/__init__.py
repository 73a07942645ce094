"""An attacker that trains: the encoder learns from protected speech of other people."""
