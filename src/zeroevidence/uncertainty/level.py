"""The significance level: how often a conclusion may be wrong where nothing is to be found."""

ALPHA = 0.05
