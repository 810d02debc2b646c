"""The vocabulary of rules: what they see of an operation, what they declare, and the table of them."""
