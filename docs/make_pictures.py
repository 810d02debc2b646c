"""Draws docs/one_tensor.svg, the picture of the README: a gradient before and after. `python -m docs.make_pictures`.

Both histograms are of one tensor of one program: the gradient of GPT-2's first attention weight in f32, and the data
that the rewritten f16 program computes in its place.
"""

import pathlib

import jax
import numpy as np

import scalify_hlo as sc
from examples.gpt2 import GPT2Config, initial_parameters, loss

# Where f16 has all its bits, and down to where it has some.
_NORMAL, _SMALLEST = (-14, 16), -24
_OUTPUT = pathlib.Path(__file__).with_name("one_tensor.svg")


def exponents() -> tuple[np.ndarray, np.ndarray, float]:
    """floor(log2 |x|) of the gradient's elements, of its data, and log2 of its scale."""
    config = GPT2Config(layers=4)
    tokens = np.random.default_rng(0).integers(0, config.vocabulary, (8, config.context + 1)).astype(np.int32)

    def gradient(parameters):
        found = jax.grad(lambda p: loss(config, p, tokens))(parameters)
        return found["blocks"][0]["attention_in"]["weight"]

    parameters = initial_parameters(config)
    plain = np.asarray(jax.jit(gradient)(parameters), np.float64)
    scaled = sc.scalify(gradient, precision="fp16")(sc.as_scaled_array(parameters))
    data = np.asarray(scaled.data, np.float64)
    return _exponents(plain), _exponents(data), float(np.log2(scaled.scale))


def _exponents(values: np.ndarray) -> np.ndarray:
    magnitudes = np.abs(values[values != 0])
    return np.floor(np.log2(magnitudes))


def draw(path: pathlib.Path = _OUTPUT) -> None:
    """Write the picture."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "scalify_hlo"  # the same bytes each time
    from matplotlib import pyplot

    before, after, scale = exponents()
    figure, axes = pyplot.subplots(2, 1, figsize=(8, 3.6), sharex=True)
    for axis, values, title, colour in (
        (axes[0], before, "a gradient of GPT-2: most of it is where f16 loses bits", "#999999"),
        (axes[1], after, f"its data, in f16: near 1, at the scale 2^{scale:.0f}", "#3366cc"),
    ):
        axis.axvspan(*_NORMAL, color="#22aa22", alpha=0.10, lw=0)
        axis.axvspan(_SMALLEST, _NORMAL[0], color="#dd9900", alpha=0.12, lw=0)
        axis.hist(values, bins=np.arange(-30, 18), color=colour, align="left", rwidth=0.85)
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_yticks([])
        for side in ("top", "right", "left"):
            axis.spines[side].set_visible(False)
    axes[1].set_xlabel("exponent: log2 of an element's magnitude (green: f16; yellow: f16 loses bits)", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw()
