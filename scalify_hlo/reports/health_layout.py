"""Where `scalify-instrument` puts what: shared by the pass that writes it and the report that reads it."""

# Columns of the first result; the histogram of exponents follows them.
COUNTS = ("elements", "sum_of_squares", "zeros", "underflows", "overflows")
# One bin for each exponent from here; the first and the last also take what lies beyond them.
FIRST_EXPONENT = -48
BINS = 72
# Columns of the second result.
LARGEST = ("amax", "scale")

# Names of the two results, and of the module attribute that lists the rows' tensors.
SUMS, MAXIMA, NAMES = "scalify.health.sums", "scalify.health.maxima", "scalify.health"
# Of the module attribute with what else is known of each row's tensor, a dictionary of these.
DETAILS = "scalify.health.details"
OPERATION, ESTIMATE, ELEMENT, SOURCE, FORMAT = "operation", "estimate", "element", "source", "format"
INFINITE, NODE = "infinite", "node"
