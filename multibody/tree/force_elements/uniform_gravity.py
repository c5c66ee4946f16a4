"""Uniform gravity, and a force on a body that takes its weight, or a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.kernels.elements.constant_force import CONSTANT_FORCE
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.force_elements.force_element import ForceElement
from merganser.multibody.tree.indices import world_model_instance
from merganser.multibody.tree.inertia.validity import real_values
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context


class UniformGravityFieldElement(ForceElement):
    """Gravity, with one acceleration everywhere, acting on all bodies.

    Model instances can be taken out of it. Every plant has one, which is force element 0.

    Args:
        g_W: acceleration of gravity in the world frame [m/s^2], shape [3]; by default 9.81 downwards (-z).

    Raises:
        ValueError: if g_W has not three finite entries.
    """

    kDefaultStrength = 9.81

    def __init__(self, g_W: npt.ArrayLike | None = None) -> None:
        super().__init__(world_model_instance())
        self._disabled: set[int] = set()
        self.set_gravity_vector([0.0, 0.0, -self.kDefaultStrength] if g_W is None else g_W)

    def _parts(self) -> tuple[MultibodyElement, ...]:
        return ()

    def gravity_vector(self) -> npt.NDArray[np.float64]:
        """Returns a copy of g_W, the acceleration of gravity in the world frame [m/s^2], shape [3]."""
        return self._g_W.copy()

    def set_gravity_vector(self, g_W: npt.ArrayLike) -> None:
        """Sets the acceleration of gravity in the world frame that new Contexts start with [m/s^2], shape [3].

        Raises:
            ValueError: if g_W has not three finite entries.
        """
        g = as_vector(g_W, 3, "set_gravity_vector: g_W").astype(np.float64)
        if not np.isfinite(g).all():
            raise ValueError(f"set_gravity_vector(): g_W must be finite, but is {g}.")
        self._g_W = g

    # -- model instances -------------------------------------------------------------------------------------

    def is_enabled(self, model_instance: int) -> bool:
        """Returns whether gravity acts on the bodies of a model instance; by default it does.

        Raises:
            RuntimeError: if there is no such model instance, or the element is part of no plant.
        """
        self._get_tree("is_enabled").GetModelInstanceName(model_instance)  # refuses one that does not exist
        return int(model_instance) not in self._disabled

    def set_enabled(self, model_instance: int, is_enabled: bool) -> None:
        """Sets whether gravity acts on the bodies of a model instance.

        Raises:
            RuntimeError: if there is no such model instance, the element is part of no plant, or after Finalize().
        """
        tree = self._get_tree("set_gravity_enabled")
        tree._check_not_finalized("set_gravity_enabled")
        tree.GetModelInstanceName(model_instance)  # refuses one that does not exist
        if is_enabled:
            self._disabled.discard(int(model_instance))
        else:
            self._disabled.add(int(model_instance))

    # -- in a Context ----------------------------------------------------------------------------------------

    def GetGravityVector(self, context: Context) -> npt.NDArray[Any]:
        """Returns the acceleration of gravity in the Context, in the world frame [m/s^2], shape [3]."""
        gravity: npt.NDArray[Any] = self.GetParentPlant()._views.workspace(context).gravity
        return gravity.copy()

    def SetGravityVector(self, context: Context, g_W: npt.ArrayLike) -> None:
        """Sets the acceleration of gravity in the Context, in the world frame [m/s^2], shape [3].

        Raises:
            ValueError: if g_W has not three finite entries.
        """
        g = as_vector(g_W, 3, "SetGravityVector: g_W")
        real = real_values(g)
        if real is not None and not np.isfinite(real).all():
            raise ValueError(f"SetGravityVector(): g_W must be finite, but is {g}.")
        self.GetParentPlant()._views.mutable_gravity(context)[:] = g

    def CalcGravityGeneralizedForces(self, context: Context) -> npt.NDArray[Any]:
        """Returns the generalized forces of gravity tau_g(q), with M vdot + C v = tau_g + tau, shape [nv]."""
        tau_g: npt.NDArray[Any] = self.GetParentPlant().CalcGravityGeneralizedForces(context)
        return tau_g


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
