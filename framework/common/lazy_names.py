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

    What is assigned there, `Name_ = _Template(Name)`, is made when it is asked for.

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
        imported, assigned = _homes(package)
        if name in assigned:
            names = compile(assigned[name], package, "eval").co_names
            value = eval(assigned[name], {each: getattr(module, each) for each in names})
        elif name in imported:
            home, own_name = imported[name]
            value = getattr(importlib.import_module(home), own_name)
        else:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        shown = {name for name, value in vars(module).items() if _is_shown(name, value)}
        imported, assigned = _homes(package)
        return sorted({*shown, *packages, *assigned, *(name for name in imported if not name.startswith("_"))})

    return load, names


def _is_shown(name: str, value: Any) -> bool:
    """Whether a name of a package is for its users; so are, of the modules in it, packages with names of their own."""
    if isinstance(value, types.ModuleType):
        return bool(getattr(value, "__all__", ())) and hasattr(value, "__path__")
    return not name.startswith("_") or name.startswith("__")


@functools.cache
def _homes(package: str) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """From the source of a package: of each imported name the module and its name there, and what is assigned."""
    imported: dict[str, tuple[str, str]] = {}
    assigned: dict[str, str] = {}
    for block in _statements(package):
        if not (isinstance(block, ast.If) and ast.unparse(block.test) in ("TYPE_CHECKING", "_TYPE_CHECKING")):
            continue
        for statement in block.body:
            if isinstance(statement, ast.ImportFrom):
                home = str(statement.module)
                for alias in statement.names:
                    names = _public_names(home) if alias.name == "*" else (alias.name,)
                    imported |= {alias.asname or name: (home, name) for name in names}
            elif isinstance(statement, ast.Assign):
                assigned |= {ast.unparse(target): ast.unparse(statement.value) for target in statement.targets}
    return imported, assigned


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
