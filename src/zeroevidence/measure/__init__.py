"""Evidence to numbers and curves: plain functions of arrays."""
