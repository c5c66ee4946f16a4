"""Names of a package that are imported when they are first asked for, so that programs wait only for what they use."""

from __future__ import annotations

import ast
import functools
import importlib.util
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazy_names(package: str, *packages: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package, by what it imports under `if TYPE_CHECKING:`, where editors see it.

        if TYPE_CHECKING:
            from package.module import Name
        else:
            __getattr__, __dir__ = lazy_names(__name__)

    Where a name is imported twice the last one counts, as ever. `import *` takes the `__all__` of a module, which must
    be written out.

    Args:
        package: the name of the package, or of a module.
        packages: the names of packages inside it that are imported in the same way.
    """
    module = sys.modules[package]

    def load(name: str) -> Any:
        if name in packages:
            return importlib.import_module(f"{package}.{name}")
        if name not in _homes(package):
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        value = getattr(importlib.import_module(_homes(package)[name]), name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        shown = {name for name, value in vars(module).items() if _is_shown(name, value)}
        return sorted({*shown, *packages, *_homes(package)})

    return load, names


def _is_shown(name: str, value: Any) -> bool:
    """Whether a name of a package is for its users; so are, of the modules in it, packages with names of their own."""
    if isinstance(value, types.ModuleType):
        return bool(getattr(value, "__all__", ())) and hasattr(value, "__path__")
    return not name.startswith("_") or name.startswith("__")


@functools.cache
def _homes(package: str) -> dict[str, str]:
    """The module of each name, from the source of the package."""
    return {
        name: str(statement.module)
        for block in _statements(package)
        if isinstance(block, ast.If) and ast.unparse(block.test) in ("TYPE_CHECKING", "_TYPE_CHECKING")
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        for name in (_public_names(str(statement.module)) if alias.name == "*" else (alias.name,))
    }


def _public_names(module: str) -> tuple[str, ...]:
    """The `__all__` of a module, which is not imported for it."""
    return next(
        tuple(ast.literal_eval(statement.value))
        for statement in _statements(module)
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"
    )


def _statements(module: str) -> list[ast.stmt]:
    spec = importlib.util.find_spec(module)
    return ast.parse(Path(str(spec and spec.origin)).read_text(encoding="utf-8")).body
