"""Training steps that are written for 8 devices, in the ways that people write them."""
