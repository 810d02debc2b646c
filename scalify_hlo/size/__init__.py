"""How large values are, from what the program computes: an analysis that changes nothing."""
