"""How a training step is computed: CUDA graphs, threads, and batches that fit into memory."""
