"""A force on a body that takes its weight, or a part of it."""

from __future__ import annotations

from typing import Any

from merganser.multibody.kernels.elements.constant_force import CONSTANT_FORCE
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.force_elements.force_element import ForceElement
from merganser.multibody.tree.rigid_body import RigidBody


class GravityCompensation(ForceElement):
    """The force -c m g on the mass centre of a body.

    Its mass m and the acceleration of gravity g are those with which new Contexts start; what is set in a Context does
    not change it. It is zero where gravity does not act on the body.

    Args:
        body: the body.
        factor: c: 1 for all of its weight; more, and the body rises.

    Raises:
        RuntimeError: the factor is not finite.
        TypeError: body is of another type.
    """

    kind = CONSTANT_FORCE

    def __init__(self, body: RigidBody, factor: float = 1.0) -> None:
        if not isinstance(body, RigidBody):
            raise TypeError(f"GravityCompensation(): body must be a RigidBody, not a {type(body).__name__}.")
        super().__init__(body.model_instance())
        self._body, self._factor = body, self._checked("factor", factor)

    def body(self) -> RigidBody:
        """Returns the body."""
        return self._body

    def factor(self) -> float:
        """Returns c."""
        return float(self._factor)

    def _parts(self) -> tuple[MultibodyElement, ...]:
        return (self._body,)

    def _write_constants(self, record: Any) -> None:
        tree = self._get_tree("_write_constants")
        weight = self._body.default_mass() * tree.gravity_vector()
        record["X_L0A"][:, 3] = self._body.default_com()
        if tree.is_gravity_enabled(self._body.model_instance()):
            record["X_L1C"][:, 0] = -self._factor * weight
