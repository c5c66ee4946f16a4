"""Sets that sets are made of."""

from __future__ import annotations

__all__ = ["PARTS", "checked_parts", "same_space"]

from typing import Any

from merganser.geometry.optimization.arguments import Form
from merganser.geometry.optimization.convex_set import ConvexSet

# Of constructors of a list of sets, or of two.
PARTS = {"empty": Form(), "sets": Form(("sets",)), "pair": Form(("setA", "setB"))}


def checked_parts(where: str, form: str, given: dict[str, Any]) -> list[ConvexSet]:
    """Copies of the sets that a constructor was given in one of the forms PARTS.

    Raises:
        TypeError: one is no convex set.
    """
    parts = [given["setA"], given["setB"]] if form == "pair" else list(given.get("sets", ()))
    for i, part in enumerate(parts):
        if not isinstance(part, ConvexSet):
            raise TypeError(f"{where}: expected convex sets, got {type(part).__name__} at index {i}.")
    return [part.Clone() for part in parts]


def same_space(where: str, parts: list[ConvexSet]) -> int:
    """The ambient dimension of sets; 0 if there are none.

    Raises:
        ValueError: they have several.
    """
    sizes = [part.ambient_dimension() for part in parts]
    if len(set(sizes)) > 1:
        raise ValueError(f"{where}: expected sets of one ambient dimension, got {sizes}.")
    return sizes[0] if sizes else 0
