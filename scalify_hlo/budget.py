"""Every constant that chooses a scale or a type: its unit, and why it is what it is.

Nothing here follows from the numbers' formats alone (those are in `scalify_hlo.types`), is a law of mathematics (the
moments of a softmax are in `scalify_hlo.recognition.laws`) or bounds how far a search looks. `tests/test_budget.py`
has for each a program that is rewritten differently when it moves by a factor of 4, and what the program gets today;
`python -m benchmarks.budget_moves` counts the programs of the test suite for which it matters.

Read as `budget.NAME` where they are used, so that an experiment can change one.
"""

# --- how far from unit size data may come before a power of two is multiplied into them -------------------------------

# log2 of RMS, elementwise results in types of less range than f32. Sums and products over a dimension, which cost far
# more than one multiplication, are always brought back.
SLACK_NARROW = 3.0
# log2 of RMS, f32 data of a program with narrow types: one more operation is cheap beside the conversions there, and
# many of these data end up in a narrow type.
SLACK_BESIDE_NARROW = 3.0
# Times the slack of a sum over a dimension: elementwise results in types with the range of f32.
ELEMENTWISE = 1.25
# log2: a size within this of one is as good as it where that saves an operation.
NEAR_UNIT = 2.0
# log2: narrow data are not scaled up by the last of what an estimate would allow, for some elements may be larger.
HEADROOM = 6.0
# log2 of RMS from which wide data are brought to unit size before they are rounded to a narrow type.
NARROWED = 1.0
# log2 of RMS, plain tensors of known magnitude.
FAR_PLAIN = 6

# --- constants of the program -----------------------------------------------------------------------------------------

# log2 of the scale of a constant in a type with the range of f32: at that of -1e38, from which a running maximum
# starts, other data would be below the smallest number.
FURTHEST_CONSTANT = 64
# log2 of a result's scale that is known at compile time, likewise: a size that far out is an estimate of values that
# cancel.
FURTHEST_CONSTANT_SCALE = 64
# log2: a constant takes the other term's scale, for free, if its data then stay below this.
LARGEST_TERM = 3
# log2: a constant factor stays in narrow data if it is no larger, either way; a power of two never does.
FACTOR_NARROW = 3.0
# A positive constant this small beside the known part of a non-negative value's scale guards against zero (epsilon).
GUARD = 2.0**-9
# A guard that scales of some 2^30 make subnormal in f32, which XLA takes for 0.
NEXT_TO_NOTHING = 2.0**-96
# A divisor c - x that may be this small beside c is one that rounding of x may make 0.
NEXT_TO_0 = 2.0**-6
# log2: the scale of x^2 + epsilon is not below epsilon times the square of 2^-this ...
BELOW_EPSILON = 4
# ... nor is it made larger than it is known to be for an epsilon whose data it leaves below 2^this.
FAR_EPSILON = 48
# A constant member further out than this (a mask of -1e9) takes the other's scale: it must not crush the rest.
MASK = 2.0**12
# log2: how much of a mask may be lost: one of -65504 is at least -256 beside a member of a small scale.
MASK_LOSS = 8
# log2: how large the data of a mask become in types of the range of f32 beside a member of a small scale: sums of their
# squares are finite. Half as much is how much larger than the mask they become, if that is more.
MASK_ROOM = 60
# A value is compared with a constant on its data, at no cost, while the constant at their scale is between 2^-this ...
COMPARED_BELOW = 10
# ... and 2^this: numbers that every type holds without loss.
COMPARED_ABOVE = 14

# log2 by which a number that stands in for zeros, where(n == 0, 1, n), may be above the scale of the others, where
# narrow values have to do with it: it is as exact there, and its square is finite.
STAND_IN = 7

# --- products and powers ----------------------------------------------------------------------------------------------

# log2 by which the scale of e^x - 1 is above that of a small x in a narrow type: elements as large as e^x can be there,
# 2^16, fit it then where x is 2^7 times the unit of its data, and four octaves of f16's fourteen below 1 are given up.
STEEP = 4
# Powers up to this are taken of data and scale; beyond, the value itself is raised in a wide type.
LARGEST_POWER = 4
# log2 by which such a value in f16 may be off from what its scales say: its scale is 1 as long as it may be 1.
HIGH_POWER_ERROR = 6
# log2 of the largest scale that it takes, and of the inverse of the smallest.
FURTHEST_HIGH_POWER = 60
# log2 of the constant that a scale of f64 data takes up at most, either way: f64 holds numbers that no f32 scale does.
SCALE_OF_F64 = 60
# log2: the scale of a product of many elements is taken to that power as long as f32 holds it.
LARGEST_PRODUCT = 120
# A scale that grows with a higher power of the function's scales than this, in a type with the range of f32 ...
HIGHEST_POWER = 18
# ... or whose log2 would be larger if these were 1, is multiplied into the data: the next products of it would leave
# the range of f32.
FURTHEST_EXPONENT = 48
# A product of more run-time scales than this becomes a value of its own, so that what follows does not multiply it.
MOST_FACTORS = 6
# log2 by which f16 data are made smaller before their squares are summed: the largest decide there, and one that
# overflows spoils the sum.
SUMMED_SQUARES = 4
# Columns of a tensor whose largest constants are further apart than this are in units of their own.
UNLIKE = 2.0**4
# Where between sqrt(N), independent terms, and N, aligned ones, a sum of N in a narrow type is taken to lie.
ALIGNMENT = 0.5
# A sum of at most this many terms in f16 is formed in f16, as it is written.
FEW_TERMS = 8
# Means of opposite sign never cancel altogether, for they are estimates: a sum is no smaller than 1 / this of a term.
CANCELLATION = 8
# log2 of the smallest scale that data are divided by which the program divides again.
LEAST_DIVISOR = -80

# log2 by which a divisor in a narrow type counts as larger than what it cannot be below, at most: quotients by it are
# up to 2^this there, so that the product of two of them, as in the gradient of x / (1 + |x|), fits f16.
ABOVE_BOUND = 6
# log2 by which it counts as smaller than it is for that, at most: f16 has most elements to 8 digits still.
BELOW_DIVISOR = 16
# The first of these for a quotient in f32 that is rounded to a narrow type later: nothing is lost before, and what it
# is multiplied by until then, and estimates of products, have the room.
ABOVE_BOUND_OF_F32 = 2

# --- zeros ------------------------------------------------------------------------------------------------------------

# log2 of what scales that may be 0 are kept above. The square of it is still a normal f32, also times 1 - b^t: XLA
# computes (a / s^2) / (1 - b^t) as a / (s^2 (1 - b^t)). Data lose nothing: the smallest f32 number is a normal one
# 2^48 larger.
FLOOR = -48
# log2 of the scale below which a tensor is taken to be zeros, whose scale is 2^-126, or something computed of them.
ZEROS = -110
# log2 of the scale of zeros that enter a loop: less than what the loop will add, and its square is a normal f32.
LOOP_ZEROS = -40

# --- state and averages -----------------------------------------------------------------------------------------------

# How many numbers, of those that steps carry, are measured when they are returned: as few as one, by its own kernel. A
# parameter of so few is stored in f32.
FEW_NUMBERS = 16
# Share of itself that a state forgets in a step and still holds: weight decay takes longer than the run.
HOLDS = 5e-4
# Share of an argument that a result has at least, to be its next value.
STATE_LEFT = 0.5
# How far the coefficients of an average may be from adding up to 1: its constants are rounded to their type ...
ADDS_UP = 1e-3
# ... and what enters, relative to 1 - a.
ADDS_UP_RELATIVE = 0.1
# 1 - a of an average a m + (1 - a) x that is stored in a narrow type: from half of the last digit of f16 on, where x is
# new in each step and varies by its size ...
FOLLOWS = 2.0**-11
# ... and from where it settles within 2^-6 of m, where x is state that m comes near to, or a batch's mean or variance.
FOLLOWS_STATE = 2.0**-5
# Share of a side of a difference that has to be state, for what is left of it to be as wrong as the state.
MOST = 0.5
# log2 by which an update has to be larger than its state to count, where scales have shapes.
UPDATE = 6
# log2 by which data of narrow state that starts as zeros are smaller than unit size after its first update: half-way
# between that one and 2^18 such updates, 2^11 for a rate that warms up in 2,000 steps and 2^7 for those that add up.
FIRST_UPDATE = 9
# log2 by which data of an average in a type with the range of f32 may be smaller than unit size ...
AVERAGE_BELOW = 8
# ... or larger: one of squares starts small, and each power of two is an operation on the scale.
AVERAGE_ABOVE = 11
# Where between 1 - b, after one step, and 1 the data of an average b m + (1 - b) g in a narrow type are 1 (exponent).
AVERAGE_GROWTH = 0.5
# log2 by which an average of squares that is computed in f32 is stored smaller than it is estimated, after some steps
# that double its scale: sizes of gradients vary, squares twice so.
AVERAGE_OF_SQUARES = 4
# log2 by which what a block adds to the cotangent of its stream has to be larger than it to count.
BLOCK = 8

# --- loops ------------------------------------------------------------------------------------------------------------

# log2 of RMS from which carried data are brought back in each iteration.
LOOP_SLACK = 3
# log2: how far a scale may move in a loop that multiplies it by a constant, in types of narrow range.
LOOP_WINDOW = 8
# The power of the number of iterations with which a sum over them grows: half-way between sqrt(n) and n.
AGREEING = 0.75
# log2 by which a size may change in an iteration and still be settled.
SETTLED = 0.1
# Ratio of two successive increases of squares from which on they grow without end ...
GROWING = 1.25
# ... and how far it may be from 1 to count as equal steps.
STEADY = 1e-3

# Times the distance of neighbouring numbers at 1: a residual of numbers in a narrow type falls below such a tolerance,
# for sums of their roundings are as large as several of them.
TOLERANCE = 2.0**5

# --- comparisons ------------------------------------------------------------------------------------------------------

# Share of elements that a comparison holds for of which nothing is known.
MASK_SHARE = 0.5
# Share below which a constant tensor of zeros and ones counts as one with few ones.
SPARSE = 0.5

# --- types and measured scales ----------------------------------------------------------------------------------------

# Constants beyond this stand for infinity (attention masks) where they meet computed values: no narrow type for these.
EXTREME = 2.0**8
# A sum over at least this many elements is a statistic, and stays in f32.
STATISTIC = 8
# log2: f16 gradients are rescaled to 2^-this, for they have tails and spikes, and products in a branch longer ones. Ten
# octaves of normal numbers remain below.
RESCALE_HEADROOM_F16 = 4
# Errors of size (`scalify_hlo.size.size_errors`) that f16 bears: a factor of four in each leaves 2^2 of its 2^16 to
# the tails of the distribution. A transformer's products have at most 4, those of a selective state space more.
ERRORS_IN_F16 = 7
# Products behind both operands of one (`scalify_hlo.analysis.product_chains`) that f16 bears: each is off by up to an
# octave, and always to the same side.
PRODUCTS_IN_F16 = 8
# Factors (`scalify_hlo.size.factors`) of a gradient that f16 bears: half an octave in each is 2^8, of its ten octaves.
FACTORS_IN_F16 = 16
# Those of products of small matrices, which are in f32 and cost next to nothing to measure: what is made of them by
# elements and meets f16 again has cubes of them, as the gradient of a quotient by a determinant of 2 by 2 has.
ERRORS_OF_SMALL = 2
# Of these the highest power of one: generalised means of features, with exponent 4, were NaN in f16 at step 7.
HIGHEST_DEGREE_IN_F16 = 2
# log2: the optimiser's averages are re-based to 2^-this: they have larger elements than a sample shows, and squares
# more so.
MOMENTS_BELOW = 4
# log2: state is re-based when the size of its data is further than this from where it should be. It costs nothing, and
# one leaves a scale alone whose data are near a power of two. Of a transformer whose gates and projections start as
# zeros, gradients are products of five weights: with 4 they were NaN in f16 at step 12, while all grew together.
STATE_NEAR = 1
# log2: operands of FP8 products are divided by a calibrated power of two when they are further than this from where the
# method wants them: each division is an operation on data, and E4M3 has 17 binades.
CALIBRATED_NEAR = 3
# Share of magnitudes that the calibration method `percentile` lets saturate.
CUT_OFF = 1e-4
