"""dynamic_shapes."""
