"""Attackers that fine-tune a speaker encoder on protected speech of other people."""
