"""What rules emit with: operations, scale arithmetic, and what is tidied when all is emitted."""
