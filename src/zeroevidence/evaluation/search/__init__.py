"""Searches through enrolled identities: through one matrix, or through one for each fold of people."""
