"""The package as users get it: wheel, source distribution, editable install, bare checkout."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile

import pytest

import scalify_hlo
from scalify_hlo.versions import OLDEST_JAXLIB, check_jaxlib

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
REWRITTEN = 'tensor<f32> {scalify.role = "scale"}'


def run(command: list[object], **options: object) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {"PYTHONWARNINGS": "ignore::DeprecationWarning", "JAX_PLATFORMS": "cpu"}
    settings = {"env": environment, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | options
    finished = subprocess.run([str(each) for each in command], check=False, **settings)  # type: ignore[call-overload]
    assert finished.returncode == 0, finished.stdout
    return finished.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A copy of the checkout, so that builds leave nothing behind."""
    copy = tmp_path_factory.mktemp("source") / "scalify_hlo"
    ignored = shutil.ignore_patterns(
        ".git", ".venv", "*.egg-info", "build", "dist", "__pycache__", ".*_cache", "Output"
    )
    shutil.copytree(ROOT, copy, ignore=ignored)
    return copy


def build(source: pathlib.Path, kind: str, target: pathlib.Path) -> pathlib.Path:
    """A wheel or sdist by the build backend of pyproject.toml, as `pip` and `build` call it."""
    code = f"import setuptools.build_meta as backend; print(backend.build_{kind}({str(target)!r}))"
    return target / run([sys.executable, "-c", code], cwd=source).splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(source: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return build(source, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A virtual environment that borrows the dependencies of this one, and nothing of this package."""
    path = tmp_path_factory.mktemp("environment")
    venv.create(path, with_pip=False)  # without the old setuptools that comes with pip there
    packages = pathlib.Path(sysconfig.get_path("purelib", "venv", {"base": str(path), "platbase": str(path)}))
    # Behind the environment's own packages. `.pth` files in there, such as an editable install's, have no effect.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return path


def test_listed_packages_are_the_folders():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.parent for path in (ROOT / "scalify_hlo").rglob("*.py")}
    packages = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert set(settings["packages"]) == packages | {"scalify_hlo.rewrites", "scalify_hlo.tools"}


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for part in ("scalify_hlo", "rewrites", "tools") for path in (ROOT / part).rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_wheel_holds_the_package_and_nothing_beside_it(wheel: pathlib.Path):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"scalify_hlo", wheel.name.rsplit("-", 3)[0] + ".dist-info"}
    for name in ("scalify_hlo/py.typed", "scalify_hlo/rewrites/homogeneous.py", "scalify_hlo/tools/scalify_opt.py"):
        assert name in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_sdist_builds_the_same_wheel(source: pathlib.Path, wheel: pathlib.Path, tmp_path: pathlib.Path):
    with tarfile.open(build(source, "sdist", tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    for needed in ("conftest.py", "tests/support.py", "test/lit/lit.cfg.py", "benchmarks/__init__.py", "examples"):
        assert (unpacked / needed).exists(), f"{needed}: the tests of the source distribution need it"
    again = build(unpacked, "wheel", tmp_path)
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())


def test_sdist_is_complete(source: pathlib.Path, tmp_path: pathlib.Path):
    """Every file of the repository is in it."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git checkout: what belongs to the repository is not known")
    with tarfile.open(build(source, "sdist", tmp_path)) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert sorted(name for name in listed.stdout.splitlines() if name not in packed) == []
    assert not [name for name in packed if name.startswith(("docs/_build", "docs/_generated"))]


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert scalify_hlo.__version__ == version
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()


def check_commands(environment: pathlib.Path, work: pathlib.Path) -> None:
    """Both commands and the library work there, from a folder that is not the checkout."""
    (work / "in.mlir").write_text(PROGRAM)
    scripts = environment / "bin"
    run([scripts / "scalify-opt", "in.mlir", "-o", "out.mlir"], cwd=work)
    assert REWRITTEN in (work / "out.mlir").read_text()
    assert "1 of 1 results agree" in run([scripts / "scalify-check", "in.mlir"], cwd=work)
    code = "import scalify_hlo; print(scalify_hlo.rewrite_module(open('in.mlir').read()))"
    assert REWRITTEN in run([scripts / "python", "-c", code], cwd=work)
    assert REWRITTEN in run([scripts / "python", "-m", "scalify_hlo.tools.scalify_opt", "in.mlir"], cwd=work)


def install(python: pathlib.Path, *what: object) -> None:
    """pip install into the environment of `python`, from what is on this machine."""
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", *what])


def test_wheel_in_a_clean_environment(environment: pathlib.Path, wheel: pathlib.Path, tmp_path: pathlib.Path):
    python = environment / "bin" / "python"
    install(python, "--force-reinstall", wheel)
    check_commands(environment, tmp_path)
    where = run([python, "-c", "import scalify_hlo.rewrites as r; print(r.__path__[0])"], cwd=tmp_path)
    assert where.startswith(str(environment))
    # Nothing is called `rewrites` or `tools` in site-packages.
    missing = "import importlib.util as u; print(u.find_spec('rewrites'), u.find_spec('tools'))"
    assert run([python, "-c", missing], cwd=tmp_path) == "None None\n"


def test_editable_install(environment: pathlib.Path, source: pathlib.Path, tmp_path: pathlib.Path):
    python = environment / "bin" / "python"
    install(python, "--no-build-isolation", "--editable", source)
    check_commands(environment, tmp_path)
    where = run([python, "-c", "import scalify_hlo.tools as t; print(t.__path__[0])"], cwd=tmp_path)
    assert where.strip() == str(source / "tools")


def test_bare_checkout(source: pathlib.Path, tmp_path: pathlib.Path):
    (tmp_path / "in.mlir").write_text(PROGRAM)
    command = [sys.executable, "-m", "scalify_hlo.tools.scalify_opt", tmp_path / "in.mlir"]
    assert REWRITTEN in run(command, cwd=source)
    where = run([sys.executable, "-c", "import scalify_hlo; print(scalify_hlo.__file__)"], cwd=source)
    assert where.strip() == str(source / "scalify_hlo" / "__init__.py")


@pytest.mark.parametrize("version", ["0.4.30", "0.10.0", "0.10.1"])
def test_an_older_jaxlib_is_refused(version: str):
    with pytest.raises(ImportError, match=f"needs jaxlib 0.10.2 or newer, and this is {version}: pip install"):
        check_jaxlib(version)


@pytest.mark.parametrize("version", ["0.10.2", "0.10.2.dev3", "0.11.0", "0.12.0.1", "1.0"])
def test_newer_ones_are_not(version: str):
    check_jaxlib(version)


def test_the_declared_version_is_the_checked_one():
    oldest = ".".join(map(str, OLDEST_JAXLIB))
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {f"jax>={oldest}", f"jaxlib>={oldest}"} <= set(declared)
