"""Runnable programs. From the root of the checkout: `python -m examples.demo`."""
