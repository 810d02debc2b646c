"""complex_numbers."""
