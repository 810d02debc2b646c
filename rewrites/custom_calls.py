"""custom_calls."""
