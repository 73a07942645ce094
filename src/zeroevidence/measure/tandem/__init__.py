"""A verifier behind a countermeasure: costs and error rates of the pair."""
