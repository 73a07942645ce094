"""Protocols that an attacker may choose: what is enrolled, what makes a trial, and among whom it is searched."""
