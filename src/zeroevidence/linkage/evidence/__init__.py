"""A checked search, the closed-form terms of its rows, and the evidence of its trials."""
