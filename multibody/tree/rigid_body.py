"""Rigid bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.errors import deprecated_method
from merganser.framework.math import RigidTransform
from merganser.multibody.math import SpatialAcceleration, SpatialForce, SpatialVelocity
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.element import NamedElement
from merganser.multibody.tree.frame import Frame, RigidBodyFrame
from merganser.multibody.tree.indices import BodyIndex, ModelInstanceIndex, default_model_instance
from merganser.multibody.tree.inertia import RotationalInertia, SpatialInertia, UnitInertia
from merganser.multibody.tree.inertia.validity import real_values
from merganser.multibody.tree.multibody_forces import MultibodyForces

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.tree.joints.joint import Joint
    from merganser.multibody.tree.tree import MultibodyTree

Vector = npt.NDArray[Any]


class RigidBody(NamedElement):
    """A rigid body B with its frame and its default mass properties.

    Args:
        body_name: name, unique among the bodies of its model instance.
        model_instance: where the body belongs; the default model instance if not given. The inertia may take
            its place: RigidBody(name, M_BBo_B).
        M_BBo_B: spatial inertia about the origin Bo of the body frame; by default zero. NaN marks what a
            Context must set first: until then, there are no dynamics.

    Raises:
        TypeError: if the inertia is not a SpatialInertia.
    """

    _index_type = BodyIndex

    def __init__(
        self,
        body_name: str,
        model_instance: int | SpatialInertia | None = None,
        M_BBo_B: SpatialInertia | None = None,
    ) -> None:
        if isinstance(model_instance, SpatialInertia):
            model_instance, M_BBo_B = None, model_instance
        M_BBo_B = SpatialInertia.Zero() if M_BBo_B is None else M_BBo_B
        if not isinstance(M_BBo_B, SpatialInertia):
            raise TypeError(
                f"RigidBody({body_name!r}): M_BBo_B must be a SpatialInertia, not a {type(M_BBo_B).__name__}."
            )
        super().__init__(
            body_name,
            default_model_instance() if model_instance is None else ModelInstanceIndex(model_instance),
        )
        self._M_BBo_B = M_BBo_B.__copy__()
        self._body_frame = RigidBodyFrame(self)
        # Set by Finalize(): number of the mobilized body, and the joint towards the world (none for the
        # world).
        self._surface_axis: npt.NDArray[Any] | None = None  # of a belt, in B
        self._mobod: int | None = None
        self._inboard_joint: Joint | None = None

    def _in_tree(self, tree: MultibodyTree) -> RigidBody:
        return tree.bodies.get(self._index)

    def body_frame(self) -> RigidBodyFrame:
        """Returns the frame B of this body."""
        return self._body_frame

    # -- default mass properties -----------------------------------------------------------------------------

    def default_mass(self) -> float:
        """Returns the mass that new Contexts start with [kg]."""
        return self._M_BBo_B.get_mass()

    def default_com(self) -> Vector:
        """Returns p_BoBcm_B that new Contexts start with [m], shape [3]."""
        return self._M_BBo_B.get_com()

    def default_unit_inertia(self) -> UnitInertia:
        """Returns G_BBo_B that new Contexts start with [m^2]."""
        return self._M_BBo_B.get_unit_inertia()

    def default_rotational_inertia(self) -> RotationalInertia:
        """Returns I_BBo_B that new Contexts start with [kg m^2]."""
        return self._M_BBo_B.CalcRotationalInertia()

    def default_spatial_inertia(self) -> SpatialInertia:
        """Returns M_BBo_B that new Contexts start with."""
        return self._M_BBo_B.__copy__()

    # -- the coordinates of a floating body ------------------------------------------------------------------

    def is_floating_base_body(self) -> bool:
        """Returns whether Finalize() connected this body to the world by an implicit floating joint.

        Raises:
            RuntimeError: before Finalize().
        """
        self._check_finalized("is_floating_base_body")
        joint = self._inboard_joint
        return joint is not None and joint.is_ephemeral() and joint.num_velocities() == 6

    @deprecated_method("RigidBody.is_floating", "Use is_floating_base_body().", until="2026-06-01")
    def is_floating(self) -> bool:
        """Returns is_floating_base_body(), the newer name."""
        return self.is_floating_base_body()

    def has_quaternion_dofs(self) -> bool:
        """Returns whether the orientation of this body in its inboard body is given by a quaternion.

        Raises:
            RuntimeError: before Finalize().
        """
        self._check_finalized("has_quaternion_dofs")
        return self._inboard_joint is not None and self._inboard_joint.kind.quaternion_start is not None

    def floating_positions_start(self) -> int:
        """Returns where the positions (quaternion or angles, then translation) of a floating body start in q.

        Raises:
            RuntimeError: before Finalize(), or if the body is not floating.
        """
        return self._floating_joint("floating_positions_start").position_start()

    def floating_velocities_start_in_v(self) -> int:
        """Returns where the six velocities (angular, then translational) of a floating body start in v.

        Raises:
            RuntimeError: before Finalize(), or if the body is not floating.
        """
        return self._floating_joint("floating_velocities_start_in_v").velocity_start()

    def floating_position_suffix(self, position_index_in_body: int) -> str:
        """Returns the suffix ("qw" ... "z") of a position of a floating body."""
        return self._floating_joint("floating_position_suffix").position_suffix(position_index_in_body)

    def floating_velocity_suffix(self, velocity_index_in_body: int) -> str:
        """Returns the suffix ("wx" ... "vz") of a velocity of a floating body."""
        return self._floating_joint("floating_velocity_suffix").velocity_suffix(velocity_index_in_body)

    # -- locking ---------------------------------------------------------------------------------------------

    def Lock(self, context: Context) -> None:
        """Locks the joint of a floating base body in the Context: its velocities become and stay zero.

        Raises:
            RuntimeError: before Finalize(), or if the body is not a floating base body.
        """
        self._floating_joint("Lock").Lock(context)

    def Unlock(self, context: Context) -> None:
        """Unlocks the joint of a floating base body in the Context; errors as Lock()."""
        self._floating_joint("Unlock").Unlock(context)

    def is_locked(self, context: Context) -> bool:
        """Returns whether the joint towards the world is locked in the Context; False for the world.

        Raises:
            RuntimeError: before Finalize().
        """
        self._check_finalized("is_locked")
        return self._inboard_joint is not None and self._inboard_joint.is_locked(context)

    # -- motion, from the plant ------------------------------------------------------------------------------

    def EvalPoseInWorld(self, context: Context) -> RigidTransform:
        """Returns X_WB."""
        return self.GetParentPlant().EvalBodyPoseInWorld(context, self)

    def EvalSpatialVelocityInWorld(self, context: Context) -> SpatialVelocity:
        """Returns V_WB_W."""
        return self.GetParentPlant().EvalBodySpatialVelocityInWorld(context, self)

    def EvalSpatialAccelerationInWorld(self, context: Context) -> SpatialAcceleration:
        """Returns A_WB_W."""
        return self.GetParentPlant().EvalBodySpatialAccelerationInWorld(context, self)

    def CalcCenterOfMassTranslationalVelocityInWorld(self, context: Context) -> Vector:
        """Returns v_WBcm_W [m/s], shape [3]."""
        return self.EvalSpatialVelocityInWorld(context).Shift(self._com_in_world(context)).translational()

    def CalcCenterOfMassTranslationalAccelerationInWorld(self, context: Context) -> Vector:
        """Returns a_WBcm_W [m/s^2], shape [3]."""
        w_WB_W = self.EvalSpatialVelocityInWorld(context).rotational()
        A_WB_W = self.EvalSpatialAccelerationInWorld(context)
        return A_WB_W.Shift(self._com_in_world(context), w_WB_W).translational()

    def _com_in_world(self, context: Context) -> Vector:
        """p_BoBcm_W."""
        return self.EvalPoseInWorld(context).rotation().matrix() @ self.CalcCenterOfMassInBodyFrame(context)

    # -- mass properties in a Context ------------------------------------------------------------------------

    def get_mass(self, context: Context) -> Any:
        """Returns the mass [kg]."""
        return self._parameters(context)["mass"]

    def CalcCenterOfMassInBodyFrame(self, context: Context) -> Vector:
        """Returns p_BoBcm_B [m], shape [3]."""
        return self._parameters(context)["p_BoBcm_B"].copy()

    def CalcSpatialInertiaInBodyFrame(self, context: Context) -> SpatialInertia:
        """Returns M_BBo_B."""
        record = self._parameters(context)
        G_BBo_B = UnitInertia._from_matrix(record["G_BBo_B"].copy())
        return SpatialInertia(record["mass"], record["p_BoBcm_B"], G_BBo_B, skip_validity_check=True)

    def SetMass(self, context: Context, mass: float) -> None:
        """Sets the mass [kg] and keeps centre of mass and unit inertia.

        Raises:
            ValueError: if the mass is negative or not finite.
        """
        M_BBo_B = self.CalcSpatialInertiaInBodyFrame(context)
        real = real_values(mass)
        if real is not None and not (np.isfinite(real) and real >= 0.0):
            raise ValueError(
                f"SetMass(): the mass of body {self._name!r} must be finite and >= 0, not {mass}."
            )
        self._write_inertia(context, mass, M_BBo_B.get_com(), M_BBo_B.get_unit_inertia())

    def SetCenterOfMassInBodyFrame(self, context: Context, com: npt.ArrayLike) -> None:
        """Sets p_BoBcm_B [m], shape [3], and keeps mass and unit inertia about Bo.

        Raises:
            ValueError: if `com` has not three finite entries.
        """
        p_BoBcm_B = as_vector(com, 3, "SetCenterOfMassInBodyFrame: com")
        real = real_values(p_BoBcm_B)
        if real is not None and not np.isfinite(real).all():
            raise ValueError(f"SetCenterOfMassInBodyFrame(): com of body {self._name!r} is {p_BoBcm_B}.")
        M_BBo_B = self.CalcSpatialInertiaInBodyFrame(context)
        self._write_inertia(context, M_BBo_B.get_mass(), p_BoBcm_B, M_BBo_B.get_unit_inertia())

    def SetSpatialInertiaInBodyFrame(self, context: Context, M_Bo_B: SpatialInertia) -> None:
        """Sets the spatial inertia about Bo, expressed in B.

        Raises:
            ValueError: if the inertia holds NaN.
        """
        if M_Bo_B.IsNaN():
            raise ValueError(
                f"SetSpatialInertiaInBodyFrame(): NaN inertia for body {self._name!r}: {M_Bo_B!r}."
            )
        self._write_inertia(context, M_Bo_B.get_mass(), M_Bo_B.get_com(), M_Bo_B.get_unit_inertia())

    # -- forces ----------------------------------------------------------------------------------------------

    def AddInForceInWorld(self, context: Context, F_Bo_W: SpatialForce, forces: MultibodyForces) -> None:
        """Adds a force on this body, about Bo and expressed in W, to `forces`.

        Raises:
            RuntimeError: before Finalize() of the plant.
            ValueError: if `forces` is for a plant of other size.
            TypeError: if it is no MultibodyForces.
        """
        mobod = self._mobod_number("AddInForceInWorld")
        self._get_tree("AddInForceInWorld")._check_forces("AddInForceInWorld", forces)
        forces._F_Bo_W[mobod] += F_Bo_W.get_coeffs()

    def AddInForce(
        self,
        context: Context,
        p_BP_E: npt.ArrayLike,
        F_Bp_E: SpatialForce,
        frame_E: Frame,
        forces: MultibodyForces,
    ) -> None:
        """Adds a force on this body, applied at its point P and expressed in E, to `forces`.

        Args:
            context: of the plant, gives R_WE.
            p_BP_E: from Bo to P, expressed in E [m], shape [3].
            F_Bp_E: the force about P, expressed in E.
            frame_E: the frame E.
            forces: what the force is added to.
        """
        F_Bo_E = F_Bp_E.Shift(-as_vector(p_BP_E, 3, "AddInForce: p_BP_E"))
        self.AddInForceInWorld(context, F_Bo_E.Rotate(frame_E.CalcRotationMatrixInWorld(context)), forces)

    def GetForceInWorld(self, context: Context, forces: MultibodyForces) -> SpatialForce:
        """Returns F_Bo_W, the force on this body that `forces` holds; errors as AddInForceInWorld()."""
        mobod = self._mobod_number("GetForceInWorld")
        self._get_tree("GetForceInWorld")._check_forces("GetForceInWorld", forces)
        return SpatialForce(forces._F_Bo_W[mobod])

    # -- helpers ---------------------------------------------------------------------------------------------

    def _check_finalized(self, caller: str) -> None:
        if self._mobod is None:
            raise RuntimeError(
                f"{caller}(): body {self._name!r} has no coordinates before Finalize() of its plant."
            )

    def _mobod_number(self, caller: str) -> int:
        self._check_finalized(caller)
        assert self._mobod is not None
        return self._mobod

    def _floating_joint(self, caller: str) -> Joint:
        if not self.is_floating_base_body():
            raise RuntimeError(
                f"{caller}(): body {self._name!r} is not a floating base body: its inboard joint is "
                f"{self._inboard_joint!r}."
            )
        assert self._inboard_joint is not None
        return self._inboard_joint

    def _parameters(self, context: Context) -> Any:
        return self.GetParentPlant()._views.parameters(context)[self._mobod_number("get_mass")]

    def _write_inertia(self, context: Context, mass: Any, p_BoBcm_B: Vector, G_BBo_B: UnitInertia) -> None:
        parameters = self.GetParentPlant()._views.mutable_parameters(context)
        mobod = self._mobod_number("SetSpatialInertiaInBodyFrame")
        parameters["mass"][mobod] = mass
        parameters["p_BoBcm_B"][mobod] = p_BoBcm_B
        parameters["G_BBo_B"][mobod] = G_BBo_B.CopyToFullMatrix3()


Body = RigidBody  # its older name
