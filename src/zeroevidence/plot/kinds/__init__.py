"""The kinds of figures: every module here enters its own into the registry and is found by being here."""
