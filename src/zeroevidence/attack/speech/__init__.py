"""Speech on its way to an encoder: batches, protection, log-mel front ends, and arrays kept on disk."""
