"""composites."""
