"""MLIR's and StableHLO's own passes that have a flag of their own in `scalify-opt`.

Any other pass that jaxlib registers can be named in `--pass-pipeline`.
"""

TEXTUAL_PASSES: dict[str, str] = {
    "canonicalize": "Fold constants and apply every operation's canonicalisation patterns.",
    "cse": "Merge equal operations.",
    "inline": "Inline the calls of private functions.",
    "sccp": "Propagate constants through control flow.",
    "symbol-dce": "Remove private functions that nothing calls.",
    "strip-debuginfo": "Remove all source locations.",
    "chlo-legalize-to-stablehlo": "Lower CHLO operations (erf, top_k, tan, ...) to StableHLO.",
    "shape-legalize-to-stablehlo": "Lower shape computations to StableHLO.",
    "stablehlo-canonicalize-dynamism": "Make dynamic operations static where their operands are constant.",
    "stablehlo-complex-math-expander": "Expand complex math operations into real ones.",
    "stablehlo-convert-to-signless": "Make integer types signless.",
    "stablehlo-legalize-composite-to-call": "Replace composites by calls of their decompositions.",
    "stablehlo-legalize-deprecated-ops": "Replace deprecated operations by their successors.",
    "stablehlo-refine-shapes": "Propagate static shapes into dynamic programs.",
}
