"""Springs and dampers between two bodies: a bushing between two frames, and a spring between two points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.kernels.elements import bushing, spring_damper
from merganser.multibody.math import SpatialForce
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.force_elements.force_element import ForceElement
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.inertia.validity import real_values
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context

Vector = npt.NDArray[Any]


class LinearBushingRollPitchYaw(ForceElement):
    """A massless bushing that holds a frame C of body L1 to a frame A of body L0 by springs and dampers.

    Torques are linear in roll, pitch and yaw of R_AC and in their rates, forces in the displacement p_AoCo and its rate
    expressed in the frame B halfway between A and C, at whose origin they act. The equations are in
    ../../kernels/elements/. The pitch must keep off a quarter turn. Roll and yaw jump at half a turn.

    Its energy and powers exist only where the three force stiffnesses are equal: springs of other stiffness along the
    axes of the moving frame B have no potential.

    Args:
        frameA: A, on body L0.
        frameC: C, on body L1.
        torque_stiffness_constants: of roll, pitch, yaw, not negative [N m/rad], shape [3].
        torque_damping_constants: the same of their rates [N m s/rad], shape [3].
        force_stiffness_constants: along Bx, By, Bz, not negative [N/m], shape [3].
        force_damping_constants: the same of their rates [N s/m], shape [3].

    Raises:
        RuntimeError: if a constant is negative or not finite.
        ValueError: if there are not three of a kind.
        TypeError: if frameA or frameC is not a Frame.
    """

    kind = bushing.KIND

    def __init__(
        self,
        frameA: Frame,
        frameC: Frame,
        torque_stiffness_constants: npt.ArrayLike,
        torque_damping_constants: npt.ArrayLike,
        force_stiffness_constants: npt.ArrayLike,
        force_damping_constants: npt.ArrayLike,
    ) -> None:
        for name, frame in (("frameA", frameA), ("frameC", frameC)):
            if not isinstance(frame, Frame):
                raise TypeError(
                    f"LinearBushingRollPitchYaw(): {name} must be a Frame, not a {type(frame).__name__}. The frame of "
                    "a body is body.body_frame()."
                )
        super().__init__(frameC.model_instance())
        self._frameA, self._frameC = frameA, frameC
        self._torque_stiffness = self._checked_constants("torque stiffness constants", torque_stiffness_constants)
        self._torque_damping = self._checked_constants("torque damping constants", torque_damping_constants)
        self._force_stiffness = self._checked_constants("force stiffness constants", force_stiffness_constants)
        self._force_damping = self._checked_constants("force damping constants", force_damping_constants)

    def frameA(self) -> Frame:
        """Returns A."""
        return self._frameA

    def frameC(self) -> Frame:
        """Returns C."""
        return self._frameC

    def link0(self) -> RigidBody:
        """Returns L0, the body of A."""
        return self._frameA.body()

    def link1(self) -> RigidBody:
        """Returns L1, the body of C."""
        return self._frameC.body()

    def torque_stiffness_constants(self) -> Vector:
        """Returns the torque stiffnesses that new Contexts start with [N m/rad], shape [3]."""
        return self._torque_stiffness.copy()

    def torque_damping_constants(self) -> Vector:
        """Returns the torque dampings that new Contexts start with [N m s/rad], shape [3]."""
        return self._torque_damping.copy()

    def force_stiffness_constants(self) -> Vector:
        """Returns the force stiffnesses that new Contexts start with [N/m], shape [3]."""
        return self._force_stiffness.copy()

    def force_damping_constants(self) -> Vector:
        """Returns the force dampings that new Contexts start with [N s/m], shape [3]."""
        return self._force_damping.copy()

    # -- in a Context ----------------------------------------------------------------------------------------

    def GetTorqueStiffnessConstants(self, context: Context) -> Vector:
        """Returns the torque stiffnesses in the Context [N m/rad], shape [3]."""
        return self._get(context, "stiffness", 0)

    def GetTorqueDampingConstants(self, context: Context) -> Vector:
        """Returns the torque dampings in the Context [N m s/rad], shape [3]."""
        return self._get(context, "damping", 0)

    def GetForceStiffnessConstants(self, context: Context) -> Vector:
        """Returns the force stiffnesses in the Context [N/m], shape [3]."""
        return self._get(context, "stiffness", 3)

    def GetForceDampingConstants(self, context: Context) -> Vector:
        """Returns the force dampings in the Context [N s/m], shape [3]."""
        return self._get(context, "damping", 3)

    def SetTorqueStiffnessConstants(self, context: Context, torque_stiffness: npt.ArrayLike) -> None:
        """Sets the torque stiffnesses in the Context [N m/rad], shape [3]; RuntimeError if one is negative."""
        self._set(context, "stiffness", 0, "torque stiffness constants", torque_stiffness)

    def SetTorqueDampingConstants(self, context: Context, torque_damping: npt.ArrayLike) -> None:
        """Sets the torque dampings in the Context [N m s/rad], shape [3]; RuntimeError if one is negative."""
        self._set(context, "damping", 0, "torque damping constants", torque_damping)

    def SetForceStiffnessConstants(self, context: Context, force_stiffness: npt.ArrayLike) -> None:
        """Sets the force stiffnesses in the Context [N/m], shape [3]; RuntimeError if one is negative."""
        self._set(context, "stiffness", 3, "force stiffness constants", force_stiffness)

    def SetForceDampingConstants(self, context: Context, force_damping: npt.ArrayLike) -> None:
        """Sets the force dampings in the Context [N s/m], shape [3]; RuntimeError if one is negative."""
        self._set(context, "damping", 3, "force damping constants", force_damping)

    def CalcBushingSpatialForceOnFrameA(self, context: Context) -> SpatialForce:
        """Returns F_A_A, what the bushing exerts on A at Ao, expressed in A.

        Raises:
            RuntimeError: if the pitch is too near a quarter turn.
        """
        return self._force_on(context, self._frameA, 0)

    def CalcBushingSpatialForceOnFrameC(self, context: Context) -> SpatialForce:
        """Returns F_C_C, what the bushing exerts on C at Co, expressed in C.

        Raises:
            RuntimeError: if the pitch is too near a quarter turn.
        """
        return self._force_on(context, self._frameC, 1)

    # -- helpers ---------------------------------------------------------------------------------------------

    def _force_on(self, context: Context, frame: Frame, end: int) -> SpatialForce:
        F_Bo_W = SpatialForce(self.GetParentPlant()._force_elements.calc_forces_on_ends(context, self)[end])
        R_FW = frame.CalcRotationMatrixInWorld(context).inverse()
        return F_Bo_W.Shift(frame._offset_in_world(context)).Rotate(R_FW)

    def _get(self, context: Context, field: str, start: int) -> Vector:
        constants: Vector = self._constants(context)[field][start : start + 3]
        return constants.copy()

    def _set(self, context: Context, field: str, start: int, what: str, values: npt.ArrayLike) -> None:
        new = self._constants(context)[field].copy()
        new[start : start + 3] = self._checked_constants(what, values)
        self._set_constant(context, field, new)

    def _check_potential(self, context: Context, what: str) -> None:
        stiffness = real_values(self.GetForceStiffnessConstants(context))
        if stiffness is not None and not (stiffness == stiffness[0]).all():
            raise RuntimeError(
                f"{what} of {self!r} does not exist: its force stiffnesses {stiffness} along the axes of a moving "
                "frame differ, so their forces have no potential. Make them equal, or do without the energy."
            )

    def _parts(self) -> tuple[MultibodyElement, ...]:
        return self._frameA, self._frameC

    def _write_constants(self, record: Any) -> None:
        record["X_L0A"] = self._frameA.GetFixedPoseInBodyFrame().GetAsMatrix34()
        record["X_L1C"] = self._frameC.GetFixedPoseInBodyFrame().GetAsMatrix34()
        record["stiffness"] = np.concatenate([self._torque_stiffness, self._force_stiffness])
        record["damping"] = np.concatenate([self._torque_damping, self._force_damping])

    def _describe_failure(self) -> str:
        return (
            f"the pitch angle of the bushing between frame '{self._frameA.name()}' and frame '{self._frameC.name()}' "
            "is a quarter turn (gimbal lock), where roll, pitch and yaw have no rates. Turn the frames so that the "
            "pitch stays away from there, or stiffen the bushing."
        )


# ---------------------------------------------------------------------- spring between two points


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
