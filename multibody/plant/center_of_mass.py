"""Mass, centre of mass, momentum and inertia of a plant, or of some of its model instances, in a given Context."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody import kernels
from merganser.multibody.math import SpatialMomentum
from merganser.multibody.plant.arguments import checked_point, place_of
from merganser.multibody.plant.jacobians import PlantJacobians, check_bias_speeds
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Frame, JacobianWrtVariable, SpatialInertia, UnitInertia

if TYPE_CHECKING:
    from merganser.framework import Context

Array = NDArray[Any]
Instances: TypeAlias = Iterable[int] | None
Arguments: TypeAlias = tuple[Any, ...]  # with model_instances or without
Keywords: TypeAlias = dict[str, Any]


class CenterOfMass:
    """The centre of mass Scm of a system S, and other sums over the bodies of S; see DynamicsFace.

    Args:
        model, views, kinematics, jacobians: of the plant.
        calc_vdot: computes the generalized accelerations that follow from the forces, and gives them with the
            workspace, whose kinematics are up to date then.
    """

    def __init__(
        self,
        model: PlantModel,
        views: StateViews,
        kinematics: PlantKinematics,
        jacobians: PlantJacobians,
        calc_vdot: Callable[[Any], tuple[Workspace, Array]],
    ) -> None:
        self._model, self._tree, self._views = model, model.tree, views
        self._kinematics, self._jacobians, self._calc_vdot = kinematics, jacobians, calc_vdot

    # ------------------------------------------------------------------ position, velocity, acceleration

    def calc_total_mass(self, context: Context, model_instances: Instances = None) -> float:
        """Returns the mass of all bodies but the world, or of those of some model instances [kg]."""
        mass: Array = self._views.workspace(context).parameters["mass"]
        return mass[self._members("CalcTotalMass", model_instances)].sum()

    def calc_center_of_mass_position_in_world(self, context: Context, model_instances: Instances = None) -> Array:
        """Returns p_WoScm_W [m], shape [3]; see the class."""
        caller = "CalcCenterOfMassPositionInWorld"
        w = self._kinematics.eval_poses(context)
        members = self._members(caller, model_instances)
        p_and_mass = w.calls.center_of_mass(members)
        self._check_mass(caller, w, members, p_and_mass[3])
        return p_and_mass[:3]

    def calc_center_of_mass_translational_velocity_in_world(
        self, context: Context, model_instances: Instances = None
    ) -> Array:
        """Returns v_WScm_W [m/s], shape [3]; see the class."""
        caller = "CalcCenterOfMassTranslationalVelocityInWorld"
        w = self._kinematics.eval_velocity(context)
        members = self._members(caller, model_instances)
        L_and_mass = self._momentum(w, members, np.zeros(3, w.dtype))
        self._check_mass(caller, w, members, L_and_mass[6])
        return L_and_mass[3:6] / L_and_mass[6]

    def calc_center_of_mass_translational_acceleration_in_world(
        self, context: Context, model_instances: Instances = None
    ) -> Array:
        """Returns a_WScm_W, from the current forces [m/s^2], shape [3]; see the class.

        Raises:
            RuntimeError: also if the accelerations cannot be computed.
        """
        caller = "CalcCenterOfMassTranslationalAccelerationInWorld"
        members = self._members(caller, model_instances)
        w, vdot = self._calc_vdot(context)
        W = place_of(self._model, caller, w, self._tree.world_frame())
        return self._center_of_mass_acceleration(caller, w, vdot, members, 0, W)

    def _center_of_mass_acceleration(
        self, caller: str, w: Workspace, vdot: Array, members: Array, mobod_A: int, frame_E: tuple[int, Array]
    ) -> Array:
        """a_AScm_E from the generalized accelerations, if velocity kinematics are up to date."""
        A_WB_W = self._kinematics.calc_A_WB_W(w, vdot)
        a_and_mass = np.empty(4, w.dtype)
        w.call(
            kernels.center_of_mass_acceleration, w.position, w.velocity, A_WB_W, members, mobod_A, *frame_E, a_and_mass
        )
        self._check_mass(caller, w, members, a_and_mass[3])
        return a_and_mass[:3]

    # ------------------------------------------------------------------ Jacobian and bias

    @overload
    def calc_jacobian_center_of_mass_translational_velocity(
        self, context: Context, with_respect_to: JacobianWrtVariable, frame_A: Frame, frame_E: Frame
    ) -> Array: ...
    @overload
    def calc_jacobian_center_of_mass_translational_velocity(
        self,
        context: Context,
        model_instances: Iterable[int],
        with_respect_to: JacobianWrtVariable,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array: ...
    def calc_jacobian_center_of_mass_translational_velocity(self, context: Context, *args: Any, **kwargs: Any) -> Array:
        """Returns J with v_AScm_E = J s, shape [3, ns].

        Args:
            context: of this plant.
            model_instances: which bodies; left out for all.
            with_respect_to: whether the speeds s are v (kV), or the rates qdot of the positions (kQDot).
            frame_A: the frame in which the velocity is measured.
            frame_E: the frame in which it is expressed.
        """
        caller = "CalcJacobianCenterOfMassTranslationalVelocity"
        instances, with_respect_to, frame_A, frame_E = _after_instances(caller, _SPEEDS_AND_FRAMES, args, kwargs)
        w = self._kinematics.eval_position(context)
        members = self._members(caller, instances)
        mobod_A, _ = place_of(self._model, caller, w, frame_A)
        E = place_of(self._model, caller, w, frame_E)
        J_v = w.calls.center_of_mass_jacobian(members, mobod_A, *E)
        self._check_mass(caller, w, members, w.total_mass.item())
        return self._jacobians.for_speeds(caller, with_respect_to, w, J_v)

    @overload
    def calc_bias_center_of_mass_translational_acceleration(
        self, context: Context, with_respect_to: JacobianWrtVariable, frame_A: Frame, frame_E: Frame
    ) -> Array: ...
    @overload
    def calc_bias_center_of_mass_translational_acceleration(
        self,
        context: Context,
        model_instances: Iterable[int],
        with_respect_to: JacobianWrtVariable,
        frame_A: Frame,
        frame_E: Frame,
    ) -> Array: ...
    def calc_bias_center_of_mass_translational_acceleration(self, context: Context, *args: Any, **kwargs: Any) -> Array:
        """Returns a_AScm_E - J vdot, the acceleration of Scm if vdot is zero [m/s^2], shape [3].

        Args:
            context: of this plant.
            model_instances: which bodies; left out for all.
            with_respect_to: kV.
            frame_A: the frame in which the acceleration is measured.
            frame_E: the frame in which it is expressed.

        Raises:
            RuntimeError: also if with_respect_to is kQDot.
        """
        caller = "CalcBiasCenterOfMassTranslationalAcceleration"
        instances, with_respect_to, frame_A, frame_E = _after_instances(caller, _SPEEDS_AND_FRAMES, args, kwargs)
        w = self._kinematics.eval_velocity(context)
        check_bias_speeds(caller, with_respect_to)
        members = self._members(caller, instances)
        mobod_A, _ = place_of(self._model, caller, w, frame_A)
        E = place_of(self._model, caller, w, frame_E)
        return self._center_of_mass_acceleration(caller, w, w.zeros_v, members, mobod_A, E)

    # ------------------------------------------------------------------ momentum and inertia

    @overload
    def calc_spatial_momentum_in_world_about_point(self, context: Context, p_WoP_W: ArrayLike) -> SpatialMomentum: ...
    @overload
    def calc_spatial_momentum_in_world_about_point(
        self, context: Context, model_instances: Iterable[int], p_WoP_W: ArrayLike
    ) -> SpatialMomentum: ...
    def calc_spatial_momentum_in_world_about_point(
        self, context: Context, *args: Any, **kwargs: Any
    ) -> SpatialMomentum:
        """Returns L_WSP_W, angular and linear momentum of S in the world, about a point P [N m s, N s].

        Args:
            context: of this plant.
            model_instances: which bodies; left out for all.
            p_WoP_W: the point [m], shape [3].

        Raises:
            ValueError: p_WoP_W is not three finite numbers.
        """
        caller = "CalcSpatialMomentumInWorldAboutPoint"
        instances, given = _after_instances(caller, ("p_WoP_W",), args, kwargs)
        w = self._kinematics.eval_velocity(context)
        p_WoP_W = checked_point(self._model, caller, "p_WoP_W", given, w)
        return SpatialMomentum._from_coeffs(self._momentum(w, self._members(caller, instances), p_WoP_W)[:6])

    def _momentum(self, w: Workspace, members: Array, p_WoP_W: Array) -> Array:
        """L_WSP_W of some mobods, and their mass, shape [7]."""
        L_and_mass = np.empty(7, w.dtype)
        w.call(kernels.momentum, w.position, w.velocity, members, p_WoP_W, L_and_mass)
        return L_and_mass

    def calc_spatial_inertia(self, context: Context, frame_F: Frame, body_indexes: Iterable[int]) -> SpatialInertia:
        """Returns M_SFo_F, the inertia of some bodies about Fo, as of one rigid body in the current posture.

        Args:
            context: of this plant.
            frame_F: about whose origin, and in which to express it.
            body_indexes: which bodies; the world adds nothing.

        Raises:
            RuntimeError: a body does not exist, or is listed twice, or the frame is not of this plant.
        """
        caller = "CalcSpatialInertia"
        bodies = [self._tree.get_body(index) for index in body_indexes]
        if len(set(bodies)) != len(bodies):
            names = sorted({body.name() for body in bodies if bodies.count(body) > 1})
            raise RuntimeError(f"{caller}(): body_indexes lists {names} more than once.")
        w = self._kinematics.eval_position(context)
        R_WF, p_WoFo_W = self._kinematics.calc_relative_pose(caller, context, self._tree.world_frame(), frame_F)
        members = np.array([body._mobod for body in bodies if body._mobod], np.int64)
        mp_and_mass, I_SFo_W = np.empty(4, w.dtype), np.empty((3, 3), w.dtype)  # moments about Fo
        w.call(kernels.total_inertia, w.position, members, p_WoFo_W, w.scratch, mp_and_mass, I_SFo_W)
        mp_FoScm_W, mass = mp_and_mass[:3], mp_and_mass[3]
        if not len(members) or (w.is_numeric and not mass):
            return SpatialInertia.Zero()
        G_SFo_F = R_WF.T @ (I_SFo_W / mass) @ R_WF
        p_FoScm_F = R_WF.T @ (mp_FoScm_W / mass)
        return SpatialInertia(mass, p_FoScm_F, UnitInertia._from_matrix(G_SFo_F), skip_validity_check=True)

    # ------------------------------------------------------------------ which bodies

    def _members(self, caller: str, model_instances: Instances) -> Array:
        """Mobods of the bodies of the model instances, or of all, without the world."""
        if model_instances is None:
            return self._all_members
        self._model.require_finalized(f"{caller}()")
        instances = set(model_instances)
        for instance in instances:
            self._tree.GetModelInstanceName(instance)  # refuses one that does not exist
        mobods = [body._mobod for body in self._tree.bodies if body._mobod and body.model_instance() in instances]
        return np.array(mobods, dtype=np.int64)

    @functools.cached_property
    def _all_members(self) -> Array:
        self._model.require_finalized("a centre of mass")
        return np.arange(1, self._tree.num_bodies())

    def _check_mass(self, caller: str, w: Workspace, members: Array, mass: Any) -> None:
        """Refuses bodies that have no centre of mass; a symbolic mass is trusted to be positive."""
        if len(members) and (not w.is_numeric or mass.real > 0.0):
            return
        plant = f"plant '{self._model.path()}'"
        if self._tree.num_bodies() == 1:
            reason = f"{plant} has no bodies but the world"
        elif not len(members):
            reason = f"the given model instances of {plant} have no bodies (the world does not count)"
        else:
            reason = f"the total mass of the bodies of {plant} is zero"
        raise RuntimeError(f"{caller}(): {reason}, so there is no centre of mass.")


_SPEEDS_AND_FRAMES = ("with_respect_to", "frame_A", "frame_E")


def _after_instances(caller: str, names: tuple[str, ...], args: Arguments, kwargs: Keywords) -> list[Any]:
    """model_instances or None, then the other arguments, given by position or by keyword."""
    if not kwargs and len(args) == len(names):
        return [None, *args]
    has_instances = len(args) + len(kwargs) == len(names) + 1
    order = ("model_instances", *names) if has_instances else names
    given = dict(zip(order, args), **kwargs)
    if len(given) != len(args) + len(kwargs) or given.keys() != set(order):
        listed = ", ".join(names)
        raise TypeError(f"{caller}() takes context, then model_instances (or not), then {listed}.")
    return [given.get("model_instances"), *(given[name] for name in names)]
