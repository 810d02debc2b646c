"""Layers with custom scale rules, and layers with formats and rescaling of their own.

Each is an ordinary JAX function with its usual derivative outside of the scalify transform.
"""
