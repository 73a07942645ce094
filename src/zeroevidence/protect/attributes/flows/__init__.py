"""The parts of the zero-evidence flow."""
