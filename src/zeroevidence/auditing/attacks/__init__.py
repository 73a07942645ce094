"""The attacks of an audit: back-ends, fine-tuning, learning curves, and flags of the rows."""
