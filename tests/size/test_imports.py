"""The analysis of sizes knows nothing of rewriting: what it imports, by whatever way, has no engine in it."""

import ast
import pathlib

_PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "scalify_hlo"
_ENGINE = {
    "rewriter", "oprewrite", "emitter", "scale_emitter", "scale_arithmetic", "operation_emitter", "functions",
    "registry", "plain", "shapes", "rewrites", "passes", "rewrite", "growth", "values", "scale",
}  # fmt: skip


def _imported(path: pathlib.Path) -> set[str]:
    """Modules of the package that a file imports, late and TYPE_CHECKING ones included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "scalify_hlo":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {node.module, *(name for name in names if _file(name) is not None)}
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.startswith("scalify_hlo")}
    return found


def _file(module: str) -> pathlib.Path | None:
    base = _PACKAGE.parent / module.replace(".", "/")
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.exists()), None)


def test_sizes_import_no_engine() -> None:
    pending = {f"scalify_hlo.size.{path.stem}" for path in (_PACKAGE / "size").rglob("*.py")}
    pending |= {f"scalify_hlo.size.laws.{path.stem}" for path in (_PACKAGE / "size" / "laws").glob("*.py")}
    seen: set[str] = set()
    while pending:
        module = pending.pop()
        path = _file(module)
        if module in seen or path is None:
            continue
        seen.add(module)
        pending |= _imported(path)
    assert "scalify_hlo.size.moments" in seen
    assert {module for module in seen if set(module.split(".")[1:2]) & _ENGINE} == set()
