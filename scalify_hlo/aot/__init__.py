"""Ahead-of-time compilation for GPUs that are not at hand, and what the compiled program tells."""
