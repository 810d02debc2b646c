"""Measurements, one command each; numbers and commands are in docs/benchmarks.md."""
