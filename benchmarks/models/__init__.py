"""Small models in plain JAX with a whole training step each, for measurements of scales: see `catalogue`."""
