"""The house: where constants stand."""

import pathlib
import re


def test_no_other_file_keeps_a_constant_that_chooses_a_scale():
    """Named numbers elsewhere bound searches or are formats; whoever adds one says which."""
    known = {
        "rewrites/residual_streams.py:_STEPS",
        "scalify_hlo/emit/growth.py:_MOST_ALTERNATIVES",
        "scalify_hlo/emit/packed_scales.py:FEWEST", "scalify_hlo/emit/packed_scales.py:FEWEST_ARGUMENTS",
        "scalify_hlo/emit/scale_emitter.py:_BEYOND", "scalify_hlo/emit/scale_emitter.py:_MOST_MULTIPLIED",
        "scalify_hlo/engine/facts.py:_DEPTH", "scalify_hlo/engine/inlining.py:_MOST_OPERATIONS",
        "scalify_hlo/engine/statistics_in_f32.py:_DEPTH",
        "scalify_hlo/recognition/blocks.py:_BEFORE", "scalify_hlo/recognition/blocks.py:_FAR",
        "scalify_hlo/recognition/blocks.py:_TOLERANCE", "scalify_hlo/recognition/expansions.py:_LEAST",
        "scalify_hlo/recognition/gradients.py:_MOST", "scalify_hlo/recognition/pointwise.py:_MOST",
        "scalify_hlo/scale.py:FIRST_OPEN", "scalify_hlo/scale.py:SMALLEST_EXPONENT",
        "scalify_hlo/size/affine.py:_MOST_SOURCES", "scalify_hlo/size/algebra.py:_DEEPEST",
        "scalify_hlo/size/algebra.py:_MOST_PARTS", "scalify_hlo/size/analysis.py:_DEEP",
        "scalify_hlo/size/analysis.py:_ROUNDS", "scalify_hlo/size/coefficients.py:_MOST_TERMS",
        "scalify_hlo/size/coefficients.py:_ROUNDING", "scalify_hlo/size/polynomials.py:_FAR",
        "scalify_hlo/size/state.py:_FEW",
        "scalify_hlo/size/steps.py:_ROUNDS", "scalify_hlo/size/view.py:_HIGHEST",
    }  # fmt: skip
    root = pathlib.Path(__file__).parents[1]
    folders = ["rewrites", *(f"scalify_hlo/{room}" for room in ("emit", "engine", "recognition", "rules", "size"))]
    files = [path for folder in folders for path in (root / folder).rglob("*.py")] + [root / "scalify_hlo/scale.py"]
    number = re.compile(r"^(_?[A-Z][A-Z_0-9]*) = -?[\d._e*-]+\s*(?:#.*)?$", re.MULTILINE)
    found = {f"{path.relative_to(root)}:{name}" for path in files for name in number.findall(path.read_text())}
    assert found <= known
