"""Undamaged files and the commands that read them."""
