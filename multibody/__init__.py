"""Jointed rigid bodies as a leaf system: a plant, its elements, and what parses, controls and shows it."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

# What analysis offers under these names beside integrators of its own.
INTEGRATION_SCHEMES = {"cenic": "merganser.multibody.cenic:CenicIntegrator"}

if not _TYPE_CHECKING:  # type checkers would take it for a promise that every name is there
    __getattr__, __dir__ = _lazy_names(
        __name__, "algorithms", "cenic", "controllers", "fem", "inverse_kinematics", "manipulation", "math",
        "optimization", "parsing", "planning", "plant", "sensors", "tree", "visualization",
    )  # fmt: skip
