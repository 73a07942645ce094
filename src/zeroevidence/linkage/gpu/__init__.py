"""Kernels for GPUs, and the vectors on a device."""
