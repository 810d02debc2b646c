"""Training in low precision: the paper's rows, by its way and by the compiler's, beside the usual recipes."""
