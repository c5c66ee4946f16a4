"""The table of pydrake's names is pydrake's; what several modules have comes from the one that pydrake takes."""

from __future__ import annotations

import importlib
import types
from typing import Any

import pytest

from merganser.drake import modules, uninstall
from merganser.drake.addresses import MODULES_OF, NAMES, modules_with, names_of

pydrake_all: Any = pytest.importorskip("pydrake.all")
pytestmark = pytest.mark.reference
uninstall()

# Modules that need what is not installed with pydrake.
OTHERS = {"gym", "common.jupyter", "multibody.jupyter_widgets", "systems.jupyter_widgets"}


def test_every_name_of_the_table_is_in_its_module() -> None:
    for module, names in NAMES.items():
        if module not in OTHERS:
            theirs = importlib.import_module(f"pydrake.{module}".removesuffix("."))
            assert [name for name in names if not hasattr(theirs, name)] == [], module


def test_every_public_class_and_function_is_in_the_table() -> None:
    def is_public(name: str, value: Any) -> bool:
        home = getattr(value, "__module__", None) or "pydrake"
        return not (name.startswith("_") or "𝓣" in name or isinstance(value, types.ModuleType)) and home.startswith(
            "pydrake"
        )

    for module in MODULES_OF.keys() - {"systems.all"}:  # which has names of others by accident
        theirs = vars(importlib.import_module(f"pydrake.{module}"))
        assert {name for name, value in theirs.items() if is_public(name, value)} <= names_of(module), module


def test_a_name_that_several_modules_have_comes_from_where_pydrake_has_it_from() -> None:
    for name in names_of("all"):
        found = modules_with("all", name)
        theirs = getattr(importlib.import_module(f"pydrake.{found[0]}".removesuffix(".")), name)
        assert theirs is getattr(pydrake_all, name), (name, found)


def test_polynomials_equal_the_symbolic_ones_and_those_of_any_scalar() -> None:
    assert modules.look_up("all", "sin") is modules.look_up("math", "sin")
    assert modules_with("all", "Polynomial")[0] == "symbolic"
