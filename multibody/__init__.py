"""Jointed rigid bodies as a leaf system: a plant, its elements, and what parses, controls and shows it."""

from typing import TYPE_CHECKING

if not TYPE_CHECKING:
    from merganser.framework.common.lazy_packages import lazy_packages

    __getattr__ = lazy_packages(
        __name__, "algorithms", "cenic", "controllers", "fem", "inverse_kinematics", "manipulation", "math",
        "optimization", "parsing", "planning", "plant", "sensors", "tree", "visualization",
    )  # fmt: skip
