"""What is known of the size of a block's result, from the block as a whole."""

import dataclasses
import math

from scalify_hlo.bindings import ir
from scalify_hlo.size.moments import UNIT, Moments


@dataclasses.dataclass(frozen=True)
class Law:
    """The size of a tensor relative to others of the program.

    block: what was recognised: "softmax", "gradient of gelu".
    moments: of the tensor divided by the product of the sizes of `like` over those of `over`; None if only the
        name is known.
    """

    block: str
    moments: Moments | None
    like: tuple[ir.Value, ...] = ()
    over: tuple[ir.Value, ...] = ()


# x Phi(x) and x sigmoid(x) of a unit Gaussian: sqrt(E[y^2]), E[y]. Their scale is that of x (paper, appendix C.1).
GATED = {
    "gelu": Moments(0.652, 0.282),
    "silu": Moments(0.596, 0.207),
}
# E[f'(x)^2] of a unit Gaussian: slopes are bounded, so that gradients keep their scale (paper, appendix C.1).
SLOPE = Moments(0.676)


def normalised(multiple: float) -> Moments:
    """Moments of what is divided by the root of a multiple of its mean square.

    # E[n] = 0, E[n^2] = 1, whatever x is (paper, appendix C.2); x / |x| = n / sqrt(N)
    """
    return Moments(1 / math.sqrt(multiple)) if 0 < multiple < math.inf else UNIT


def probabilities(count: int) -> Moments:
    """Moments of a softmax over `count` elements, and of what is multiplied by one.

    # 1/N (equal probabilities) <= sqrt(E[p^2]) <= 1/sqrt(N) (one is 1): N^(-3/4), half-way

    Rows of causal attention that is not trained yet, 1/t over t of N elements, have sqrt(log(N))/N.
    """
    return Moments(count**-0.75, 1 / count, True)


def rows(count: int) -> Moments:
    """Moments of sums over a row of softmax, divided by its denominator, in its gradient.

    # sum_j c_j e_j / t^2, e_j <= 1, over t of N elements: 1/t^(3/2); over rows t = 1, ..., N: 1/sqrt(N)

    The denominators t and the number of terms that matter go together, which independent moments do not know.
    """
    return Moments(1 / math.sqrt(count))


def averages(count: int) -> Moments:
    """Moments of what a normalisation's gradient takes off the cotangent, relative to cotangent / deviation.

    # n mean(n c), mean(c), over N elements: 1/sqrt(N), c and n being independent
    """
    return Moments(1 / math.sqrt(count))
