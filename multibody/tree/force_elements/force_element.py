"""Base of all force elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from merganser.multibody.kernels import layout
from merganser.multibody.kernels.elements import ForceElementKind
from merganser.multibody.math.spatial_vector import as_scalar, as_vector
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.indices import ForceElementIndex
from merganser.multibody.tree.inertia.validity import real_values
from merganser.multibody.tree.joints.joint import Joint
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.tree.multibody_forces import MultibodyForces
    from merganser.multibody.tree.tree import MultibodyTree

Vector = npt.NDArray[Any]


class ForceElement(MultibodyElement):
    """Abstract element that applies forces to bodies or joints, which follow from positions and velocities.

    A type of element is one subclass: its kind, which has the functions that compute forces and energy
    (../../kernels/elements), what it acts on, and its default constants.

    Attributes:
        kind: a ForceElementKind of ../../kernels/elements, of which a program may make its own.

    Args:
        model_instance: to which it belongs.
    """

    _index_type = ForceElementIndex
    kind: ClassVar[ForceElementKind]

    def _in_tree(self, tree: MultibodyTree) -> ForceElement:
        return tree.force_elements[self._index]

    # -- what a type of element defines ----------------------------------------------------------------------

    def _parts(self) -> tuple[MultibodyElement, ...]:
        """The bodies, frames or joints on which it acts, which must be of the same tree."""
        raise NotImplementedError

    def _write_record(self, record: Any, tree: MultibodyTree) -> None:
        """Writes the mobods or coordinates on which it acts in a finalized tree, see layout.element_dtype.

        By default on the bodies, or those of the frames, and on the joint that are its parts.
        """
        bodies = [part if isinstance(part, RigidBody) else part.body() for part in self._parts_of(RigidBody, Frame)]
        for field, body in zip(("mobod_0", "mobod_1"), bodies):
            record[field] = tree.mobod_of_body[body.index()]
        for joint in self._parts_of(Joint):
            record["q"], record["v"] = joint.position_start(), joint.velocity_start()

    def _parts_of(self, *types: type) -> list[Any]:
        return [part for part in self._parts() if isinstance(part, types)]

    def _write_constants(self, record: Any) -> None:
        """Writes the constants that new Contexts start with, see layout.constant_dtype; by default none."""

    def _describe_failure(self) -> str:
        """Why it has no force when its kernel says so, and the remedy."""
        return f"its kind, {self.kind.name}, has none for this state."

    def _check_potential(self, context: Context, what: str) -> None:
        """Raises RuntimeError if its forces have no potential energy; most have."""
        if self.kind.add_energy is None:
            raise RuntimeError(f"{what} of {self!r} is not known: its kind, {self.kind.name}, has no add_energy.")

    # -- energy and power ------------------------------------------------------------------------------------

    def CalcPotentialEnergy(self, context: Context) -> Any:
        """Returns the potential energy of this element [J]."""
        return self.GetParentPlant()._force_elements.calc_element_energies(context, self)[0]

    def CalcConservativePower(self, context: Context) -> Any:
        """Returns the power of the forces that have a potential energy, -dV/dt [W]."""
        return self.GetParentPlant()._force_elements.calc_element_energies(context, self)[1]

    def CalcNonConservativePower(self, context: Context) -> Any:
        """Returns the power of its other forces, such as friction and damping [W]; not positive."""
        return self.GetParentPlant()._force_elements.calc_element_energies(context, self)[2]

    def CalcAndAddForceContribution(self, context: Context, forces: MultibodyForces) -> None:
        """Adds the forces of this element to `forces`."""
        self.GetParentPlant()._force_elements.add_element_contribution(context, self, forces)

    # -- constants in a Context ------------------------------------------------------------------------------

    def _constants(self, context: Context) -> Any:
        return self.GetParentPlant()._views.workspace(context).constants[self._index - 1]

    def _set_constant(self, context: Context, field: str, value: Any) -> None:
        """Writes one constant, or from the first one on as many as are given."""
        constants = self.GetParentPlant()._views.mutable_constants(context)
        if layout.constant_dtype()[field].shape == ():
            constants[field][self._index - 1] = value
        else:
            values = np.atleast_1d(value)
            constants[field][self._index - 1, : len(values)] = values

    def _checked(self, what: str, value: Any, minimum: float | None = None) -> Any:
        """A finite number, not below the minimum, or an expression of variables.

        Raises:
            RuntimeError: it is not.
        """
        number = as_scalar(value, f"{type(self).__name__}: {what}")
        real = real_values(number)
        if real is not None and not (np.isfinite(real) and (minimum is None or real >= minimum)):
            demand = "finite" if minimum is None else f"finite and at least {minimum:g}"
            raise RuntimeError(f"{self!r}: the {what} must be {demand}, but is {value}.")
        return number

    def _checked_constants(self, what: str, values: npt.ArrayLike) -> Vector:
        """Three finite numbers, none negative.

        Raises:
            RuntimeError: they are not.
            ValueError: there are not three.
        """
        vector = as_vector(values, 3, f"{type(self).__name__}: {what}")
        real = real_values(vector)
        if real is not None and not (np.isfinite(real).all() and (real >= 0.0).all()):
            raise RuntimeError(f"{self!r}: the {what} must be finite and not negative, but are {vector}.")
        return vector
