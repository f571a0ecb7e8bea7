"""What a package exports is what it says it exports."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = [
    ROOT / "server/langgraph_openai_serve",
    ROOT / "server/lgos_contract",
    ROOT / "server/lgos_gateway",
    ROOT / "server/lgos_kube",
    ROOT / "operator/lgos_operator",
]


def module_name(path: Path) -> str:
    package = next(package for package in PACKAGES if path.is_relative_to(package))
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources() -> list[Path]:
    return sorted(path for package in PACKAGES for path in package.rglob("*.py"))


def exports(path: Path) -> list[str] | None:
    """The literal `__all__` of a module; None when it has none."""
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return list(ast.literal_eval(value))
            case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value):
                return list(ast.literal_eval(value))
    return None


def imported_names(path: Path) -> set[str]:
    """Names that a module imports for type checkers and loads when they are first used."""
    return {
        alias.asname or alias.name
        for block in ast.parse(path.read_text()).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


EXPORTING = [path for path in sources() if exports(path) is not None]


@pytest.mark.parametrize("path", EXPORTING, ids=module_name)
def test_every_exported_name_exists_once_and_in_order(path: Path) -> None:
    names = exports(path)
    assert names is not None
    module = importlib.import_module(module_name(path))
    assert names == sorted(names), "sort __all__"
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(module, name)] == []


def test_the_library_exports_exactly_what_its_package_file_imports() -> None:
    path = ROOT / "server/langgraph_openai_serve/__init__.py"
    assert set(exports(path) or ()) - {"__version__"} == imported_names(path)


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), "write a module docstring"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_package_is_typed(package: Path) -> None:
    assert (package / "py.typed").exists()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_folder_with_modules_is_a_package(package: Path) -> None:
    folders = {path.parent for path in package.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
