"""Regressors that attack an attribute that is a number; each module of this package registers one."""
