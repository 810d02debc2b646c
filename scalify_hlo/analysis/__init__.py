"""Read-only questions about a module: where a value comes from, what it reaches, which products are backward."""
