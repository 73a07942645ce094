"""Classifiers that attack an attribute; each module of this package registers one."""
