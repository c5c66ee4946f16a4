"""A spring and damper between two points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.kernels.elements import spring_damper
from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.force_elements.force_element import ForceElement
from merganser.multibody.tree.inertia.validity import real_values
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context

Vector = npt.NDArray[Any]


class LinearSpringDamper(ForceElement):
    """A massless spring and damper between a point P of body A and a point Q of body B.

    With the length l = |p_PQ|, it pulls at P with the force stiffness (l - free_length) + damping dl/dt towards Q, and
    at Q with the opposite force.

    Args:
        bodyA: body A.
        p_AP: P in the frame of A [m], shape [3].
        bodyB: body B.
        p_BQ: Q in the frame of B [m], shape [3].
        free_length: length without force, positive [m].
        stiffness: not negative [N/m].
        damping: not negative [N s/m].

    Raises:
        RuntimeError: if a constant is out of its range or not finite.
        ValueError: if a point has not three finite coordinates.
        TypeError: if bodyA or bodyB is not a RigidBody.
    """

    kind = spring_damper.KIND

    def __init__(
        self,
        bodyA: RigidBody,
        p_AP: npt.ArrayLike,
        bodyB: RigidBody,
        p_BQ: npt.ArrayLike,
        free_length: float,
        stiffness: float,
        damping: float,
    ) -> None:
        for name, body in (("bodyA", bodyA), ("bodyB", bodyB)):
            if not isinstance(body, RigidBody):
                raise TypeError(f"LinearSpringDamper(): {name} must be a RigidBody, not a {type(body).__name__}.")
        super().__init__(bodyA.model_instance())
        self._bodyA, self._bodyB = bodyA, bodyB
        self._p_AP, self._p_BQ = self._point("p_AP", p_AP), self._point("p_BQ", p_BQ)
        self._free_length = self._checked_length(free_length)
        self._stiffness = self._checked("stiffness", stiffness, 0.0)
        self._damping = self._checked("damping", damping, 0.0)

    def bodyA(self) -> RigidBody:
        """Returns body A."""
        return self._bodyA

    def bodyB(self) -> RigidBody:
        """Returns body B."""
        return self._bodyB

    def p_AP(self) -> Vector:
        """Returns the position of P in the frame of A [m], shape [3]."""
        return self._p_AP.copy()

    def p_BQ(self) -> Vector:
        """Returns the position of Q in the frame of B [m], shape [3]."""
        return self._p_BQ.copy()

    def free_length(self) -> float:
        """Returns the length without force that new Contexts start with [m]."""
        return self._free_length

    def stiffness(self) -> float:
        """Returns the stiffness that new Contexts start with [N/m]."""
        return self._stiffness

    def damping(self) -> float:
        """Returns the damping that new Contexts start with [N s/m]."""
        return self._damping

    # -- in a Context ----------------------------------------------------------------------------------------

    def GetFreeLength(self, context: Context) -> Any:
        """Returns the length without force in the Context [m]."""
        return self._constants(context)["nominal"]

    def SetFreeLength(self, context: Context, free_length: float) -> None:
        """Sets the length without force in the Context, positive [m]; RuntimeError if it is not."""
        self._set_constant(context, "nominal", self._checked_length(free_length))

    def GetStiffness(self, context: Context) -> Any:
        """Returns the stiffness in the Context [N/m]."""
        return self._constants(context)["stiffness"][0]

    def SetStiffness(self, context: Context, stiffness: float) -> None:
        """Sets the stiffness in the Context, not negative [N/m]; RuntimeError if it is."""
        self._set_constant(context, "stiffness", self._checked("stiffness", stiffness, 0.0))

    def GetDamping(self, context: Context) -> Any:
        """Returns the damping in the Context [N s/m]."""
        return self._constants(context)["damping"][0]

    def SetDamping(self, context: Context, damping: float) -> None:
        """Sets the damping in the Context, not negative [N s/m]; RuntimeError if it is."""
        self._set_constant(context, "damping", self._checked("damping", damping, 0.0))

    # -- helpers ---------------------------------------------------------------------------------------------

    def _checked_length(self, free_length: Any) -> Any:
        length = self._checked("free length", free_length)
        real = real_values(length)
        if real is not None and not real > 0.0:
            raise RuntimeError(f"{self!r}: the free length must be positive, but is {free_length}.")
        return length

    def _point(self, name: str, value: npt.ArrayLike) -> Vector:
        point = as_vector(value, 3, f"LinearSpringDamper: {name}").astype(np.float64)
        if not np.isfinite(point).all():
            raise ValueError(f"LinearSpringDamper(): {name} must be finite, but is {point}.")
        return point

    def _parts(self) -> tuple[MultibodyElement, ...]:
        return self._bodyA, self._bodyB

    def _write_constants(self, record: Any) -> None:
        record["X_L0A"][:, 3], record["X_L1C"][:, 3] = self._p_AP, self._p_BQ
        record["nominal"] = self._free_length
        record["stiffness"][0], record["damping"][0] = self._stiffness, self._damping

    def _describe_failure(self) -> str:
        return (
            f"the length of the spring between body '{self._bodyA.name()}' and body '{self._bodyB.name()}' is zero, so "
            "its force has no direction. Attach it so that its ends stay apart, or start from another state."
        )
