"""Programs whose products have block scales."""

from typing import Any

import jax

# What is contracted, but for the second layer's 2 D, and tokens.
D, ROWS = 64, 16


def model(p: Any, x: jax.Array) -> jax.Array:
    h = jax.nn.relu(x @ p["a"])
    return jax.nn.relu(jax.nn.relu(h @ p["b"]) @ p["c"]) @ p["head"]


def one_product(weight: str = "") -> str:
    """A product of f16 rows rounded to E4M3 with a weight in E4M3. weight: attributes of that."""
    return f"""
!x = tensor<{ROWS}x{D}xf16>
!narrow = tensor<{ROWS}x{D}xf8E4M3FN>
!w = tensor<{D}x{D}xf8E4M3FN>
!y = tensor<{ROWS}x{D}xf32>
func.func @main(%x: !x, %w: !w {weight}) -> !y {{
  %low = stablehlo.constant dense<-448.0> : tensor<f16>
  %high = stablehlo.constant dense<448.0> : tensor<f16>
  %c = stablehlo.clamp %low, %x, %high : (tensor<f16>, !x, tensor<f16>) -> !x
  %n = stablehlo.convert %c : (!x) -> !narrow
  %y = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0] : (!narrow, !w) -> !y
  return %y : !y
}}
"""
