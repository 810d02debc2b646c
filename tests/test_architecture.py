"""The house: one direction of imports, and where constants stand. docs/architecture.md has the picture."""

import ast
import functools
import pathlib
import re
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[1]
FOLDERS = {"scalify_hlo": "scalify_hlo", "rewrites": "scalify_hlo.rewrites", "tools": "scalify_hlo.tools"}
# From the ground up: what a folder imports stands in it, or in one named before it. Modules beside the folders are
# named as if they were some.
LAYERS = (
    "bindings errors versions moved budget types scale precision options",
    "module", "io", "analysis", "recognition", "size", "emit", "rules", "engine", "rewrites", "in_place", "passes",
    "rewrite", "execution", "aot", "reports", "frontend core lax ops tree nn health", "exported", "packed", "serving",
    "tools __main__",
)  # fmt: skip
# Modules that stand in another folder than the one whose place in the order they have.
ELSEWHERE = {
    "analysis.calls": "module",
    "analysis.update": "engine",
    "aot.targets": "options",
    "emit.common_scales": "engine",
    "emit.widening": "rules",
    "execution.element_types": "module",
    "execution.measure": "reports",
    "io.choices": "options",
    "io.opt_driver": "tools",
    "module.propagation": "analysis",
    "reports.health_layout": "module",
    "size.moments": "scale",
}
# Imports against the order that are left: none may come.
AGAINST: set[tuple[str, str]] = set()
# Modules of the engine that import one another in a circle; the front end's are not looked at.
KNOTS = {
    frozenset({"emit.operation_emitter", "emit.scopes"}),
    frozenset({"rewrites.composites", "rewrites.control_flow"}),
}


@functools.cache
def modules() -> dict[str, pathlib.Path]:
    """Name -> file of every module of the package."""
    found: dict[str, pathlib.Path] = {}
    for folder, prefix in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([prefix, *parts]).removesuffix(".__init__")] = path
    return found


def imports(name: str) -> Iterator[str]:
    """The modules of the package that a module imports: at its head, within functions, and for its types alone."""
    path = modules()[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                if full in modules() or base in modules():
                    yield full if full in modules() else base


def layer(name: str) -> int:
    """How far up a module stands."""
    local = name.removeprefix("scalify_hlo.")
    room = ELSEWHERE.get(local, local.split(".")[0])
    return next(i for i, names in enumerate(LAYERS) if room in names.split())


def test_imports_go_one_way():
    found: set[tuple[str, str]] = set()
    for name in modules().keys() - {"scalify_hlo"}:
        for other in imports(name):
            if other != "scalify_hlo" and layer(other) > layer(name):
                found.add((name.removeprefix("scalify_hlo."), other.removeprefix("scalify_hlo.")))
    assert sorted(found) == sorted(AGAINST)


def _reached(name: str, within: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    pending = [name]
    while pending:
        new = within[pending.pop()] - reached
        reached |= new
        pending += new
    return reached


def test_no_circles_in_the_engine_but_those_that_are_known():
    top = layer("scalify_hlo.passes.base")
    names = {name for name in modules().keys() - {"scalify_hlo"} if layer(name) <= top}
    within = {name: {other for other in imports(name) if other in names} for name in names}
    reached = {name: _reached(name, within) for name in names}
    found = {
        frozenset(other.removeprefix("scalify_hlo.") for other in reached[name] if name in reached[other])
        for name in names
        if name in reached[name]
    }
    assert found == KNOTS


def test_every_module_has_a_place():
    for name in modules().keys() - {"scalify_hlo"}:
        layer(name)
    assert {f"scalify_hlo.{name}" for name in ELSEWHERE} <= modules().keys()


def test_no_other_file_keeps_a_constant_that_chooses_a_scale():
    """Named numbers elsewhere bound searches or are formats; whoever adds one says which."""
    known = {
        "rewrites/loop_scales.py:_ROUNDS", "rewrites/residual_streams.py:_STEPS",
        "scalify_hlo/emit/growth.py:_MOST_ALTERNATIVES",
        "scalify_hlo/emit/packed_scales.py:FEWEST", "scalify_hlo/emit/packed_scales.py:FEWEST_ARGUMENTS",
        "scalify_hlo/emit/packed_scales.py:_MOST", "scalify_hlo/emit/packed_scales.py:_MOST_OF_VECTOR",
        "scalify_hlo/emit/scale_arithmetic.py:_BEYOND", "scalify_hlo/emit/scale_arithmetic.py:_MOST_MULTIPLIED",
        "scalify_hlo/emit/scale_emitter.py:_MOST_LEAVES",
        "scalify_hlo/engine/facts.py:_DEPTH", "scalify_hlo/engine/functions.py:_SHARED_POWERS",
        "scalify_hlo/engine/inlining.py:_MOST_OPERATIONS",
        "scalify_hlo/engine/statistics_in_f32.py:_DEPTH",
        "scalify_hlo/recognition/blocks.py:_BEFORE", "scalify_hlo/recognition/blocks.py:_FAR",
        "scalify_hlo/recognition/blocks.py:_TOLERANCE", "scalify_hlo/recognition/expansions.py:_LEAST",
        "scalify_hlo/recognition/expansions.py:_MOST", "scalify_hlo/size/moments.py:_MOST",
        "scalify_hlo/recognition/free_choices.py:_DECIMALS", "scalify_hlo/recognition/free_choices.py:_MOST",
        "scalify_hlo/recognition/free_choices.py:_STEPS",
        "scalify_hlo/recognition/gradients.py:_MOST", "scalify_hlo/recognition/pointwise.py:_MOST",
        "scalify_hlo/recognition/range_reductions.py:_STEPS", "scalify_hlo/recognition/replaced_numbers.py:_FAR",
        "scalify_hlo/scale.py:FIRST_OPEN", "scalify_hlo/scale.py:SMALLEST_EXPONENT",
        "scalify_hlo/size/affine.py:_MOST_SOURCES", "scalify_hlo/size/algebra.py:_DEEPEST",
        "scalify_hlo/size/algebra.py:_MOST_PARTS", "scalify_hlo/size/analysis.py:_DEEP",
        "scalify_hlo/size/analysis.py:_ROUNDS", "scalify_hlo/size/coefficients.py:_MOST_TERMS",
        "scalify_hlo/size/coefficients.py:_ROUNDING", "scalify_hlo/size/masks.py:_FAR",
        "scalify_hlo/size/factors.py:_MOST", "scalify_hlo/size/polynomials.py:_FAR",
        "scalify_hlo/size/size_errors.py:_FAR", "scalify_hlo/size/size_errors.py:_MOST_SOURCES",
        "scalify_hlo/size/size_errors.py:_NO_WEIGHT", "scalify_hlo/size/size_errors.py:_SEVERAL",
        "scalify_hlo/size/state.py:_FEW", "scalify_hlo/size/steps.py:_ROUNDS",
        "scalify_hlo/size/stored_state.py:_DEPTH", "scalify_hlo/size/view.py:_HIGHEST",
    }  # fmt: skip
    root = pathlib.Path(__file__).parents[1]
    folders = ["rewrites", *(f"scalify_hlo/{room}" for room in ("emit", "engine", "recognition", "rules", "size"))]
    files = [path for folder in folders for path in (root / folder).rglob("*.py")] + [root / "scalify_hlo/scale.py"]
    number = re.compile(r"^(_?[A-Z][A-Z_0-9]*) = -?[\d._e*-]+\s*(?:#.*)?$", re.MULTILINE)
    found = {f"{path.relative_to(root)}:{name}" for path in files for name in number.findall(path.read_text())}
    assert found <= known
