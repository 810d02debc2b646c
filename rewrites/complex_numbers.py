"""Complex numbers: complex data with one real scale. Arithmetic on them is that of the other families.

An argument or result of the public function that is complex stays plain by default: its value is recombined.
"""

from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.registry import rule
from scalify_hlo.size.moments import Moments


# complex(m x, m y) = m complex(x, y)
@rule(
    "complex", family="selection", law="complex(s x, t y) = m complex(x s/m, y t/m)", scale="m = max(s, t)", shaped=True
)
def join_parts(r: OpRewrite) -> None:
    x, y = r.scaled(0), r.scaled(1)
    scale = r.aligned((0, 1))
    # E|z|^2 = E[re^2] + E[im^2]
    live = [m.moments for m in (x, y) if not m.indifferent]
    rms = sum(m.rms**2 for m in live) ** 0.5 if live else 0.0
    r.result(scale, Moments(rms), indifferent=x.indifferent and y.indifferent)


# re(s z) = s re(z)
@rule("real", "imag", family="homogeneous", law="f(s x) = s f(x)", scale="s", shaped=True)
def part(r: OpRewrite) -> None:
    x = r.scaled(0)
    if not r.info(0).is_complex:  # the parts of a real tensor: itself and zeros
        indifferent = x.indifferent or r.name == "stablehlo.imag"
        return r.result(x.scale, x.moments, indifferent=indifferent)
    return r.result(x.scale, Moments(x.moments.rms * 0.5**0.5), indifferent=x.indifferent)


# conj(s z) = s conj(z)
@rule("chlo.conj", family="homogeneous", law="f(s x) = s f(x)", scale="s", shaped=True)
def conjugate(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.result(x.scale, x.moments, indifferent=x.indifferent)
