"""MultibodyPlant: a leaf system whose state is that of jointed rigid bodies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework import BasicVector, ValueProducer
from merganser.framework.core.inside import scalar_of, state_node, use_native_derivatives
from merganser.framework.core.templates import instantiate
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.controlled_step import NOT_CONVERGED
from merganser.multibody.math import SpatialAcceleration
from merganser.multibody.plant.checked_code import checked
from merganser.multibody.plant.loops import PlantLoops
from merganser.multibody.plant.native_code import NativeDynamics
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import MultibodyTree, RigidBody
from merganser.multibody.tree.coordinates import num_parameter_records
from merganser.multibody.tree.copies import copy_finalized_tree

__all__ = ["MultibodyPlant"]


_MOST_IN_A_STEP = 1e4  # of motion that is resolved [rad or m]


class MultibodyPlant(PlantLoops):
    """Rigid bodies connected by joints, with their equations of motion.

        qdot = N(q) v                                                            (1)
        M(q) vdot + C(q, v) v = tau_g(q) - D v + B u + tau_applied + J^T F_applied (2)

    (Featherstone 2008.) Build it by adding bodies, joints and actuators, or with a Parser; call Finalize();
    then add it to a diagram, if it was not made by AddMultibodyPlantSceneGraph().

    Args:
        time_step: 0 for a continuous plant, whose state x = [q; v] an integrator advances; otherwise the
            period of a discrete update [s], which advances the state by the semi-implicit Euler rule with
            implicit damping.

    Raises:
        ValueError: the time step is negative or not finite.

    The class holds the dynamics; its bases hold, from inside out, the elements (model.py), names and limits
    (names.py), geometry (geometry_registration.py), the state (state_access.py, free_bodies.py), kinematics
    (kinematics.py, jacobians.py, center_of_mass.py) and dynamics (computations.py) as functions, the ports
    (actuation.py, outputs.py), and loop joints (loops.py).
    """

    _keeps_derivatives = True

    def __init__(self, time_step: float) -> None:
        super().__init__()
        if not (math.isfinite(time_step) and time_step >= 0.0):
            raise ValueError(f"The time step of a MultibodyPlant must be finite and not negative, got {time_step}.")
        self._begin(float(time_step), MultibodyTree(self))

    def _begin(self, time_step: float, tree: MultibodyTree) -> None:
        """Sets up what is there before the first element is added."""
        self._time_step = time_step
        self._use_sampled_output_ports = time_step > 0.0
        self._tree = tree
        self._scene_graph = None
        self._source_id = None
        self._frame_ids = {}
        self._visual_geometries = {}
        self._collision_geometries = {}
        self._declare_geometry_query_port()
        self._declare_geometry_pose_port()

    def time_step(self) -> float:
        """Returns the period of the discrete update [s]; 0 for a continuous plant."""
        return self._time_step

    def is_discrete(self) -> bool:
        """Returns whether the state is discrete."""
        return self._time_step > 0.0

    def Finalize(self) -> None:
        """Completes the model: free bodies get floating joints, state and ports are declared.

        Raises:
            RuntimeError: the plant is finalized already, or its joints form a loop.
        """
        self._tree.Finalize()
        self._complete()
        self._apply_default_collision_filters()
        self._scene_graph = None  # they meet through ports from now on

    @classmethod
    def _around(cls, tree: MultibodyTree) -> MultibodyPlant:
        """A continuous plant of a finalized tree that has none, which it belongs to from now on."""
        plant = cls.__new__(cls)
        PlantLoops.__init__(plant)
        plant._begin(0.0, tree)
        tree.plant = plant
        plant._complete()
        return plant

    def _sys_declared_anew(self, T: Any) -> MultibodyPlant | None:
        """A plant like this for scalars of type T, which shares what Finalize() has made of the elements.

        Plants that are not finalized are copied, and those of other scalars, whose elements may hold such.
        """
        if scalar_of(self) is not float or type(self) is not MultibodyPlant or not self.is_finalized():
            return None
        cls: type[MultibodyPlant] = instantiate(MultibodyPlant, T)
        plant = cls.__new__(cls)
        PlantLoops.__init__(plant)
        plant._begin(self._time_step, copy_finalized_tree(self._tree, plant))
        plant._use_sampled_output_ports = self._use_sampled_output_ports
        plant._source_id, plant._frame_ids = self._source_id, self._frame_ids
        plant._visual_geometries, plant._collision_geometries = self._visual_geometries, self._collision_geometries
        plant._complete()
        plant._take_settings(self)
        return plant

    def _complete(self) -> None:
        """Declares what follows from the finalized tree."""
        self._force_sizes = (self._tree.num_bodies(), self._tree.num_velocities())
        self._native_dynamics = NativeDynamics(self)
        self._declare_state()
        self._declare_cache_entries()
        self._quaternions = {
            joint.position_start(): joint.name()
            for joint in self._tree.joints
            if joint.kind.quaternion_start is not None
        }
        if not self.is_discrete():
            self._sys_unit_quaternions = list(self._quaternions)
        self._pitches = {
            joint.position_start() + joint.kind.pitch_position: joint.name()
            for joint in self._tree.joints
            if joint.kind.pitch_position is not None
        }
        self._pitch_places = np.array(list(self._pitches), dtype=np.int64)
        self._declare_contact()
        self._declare_input_ports()
        self._declare_dynamics_entries()
        self._declare_output_ports()
        self._declare_loops()
        moving = [(index, frame) for index, frame in self._frame_ids.items() if index != 0]
        self._frame_mobods = self._tree.mobod_of_body[[index for index, _ in moving]] if moving else np.zeros(0, int)
        self._moving_frame_ids = [frame for _, frame in moving]

    def _declare_state(self) -> None:
        tree = self._tree
        num_q, num_v = tree.num_positions(), tree.num_velocities()
        x0 = BasicVector(np.concatenate([tree.default_positions(), np.zeros(num_v)]))
        num_numbers = num_parameter_records(tree.topology) * layout.parameter_dtype().itemsize // 8
        if self._time_step > 0.0:
            self.DeclareDiscreteState(x0)
            self._state_node = state_node(self, 0)
            self._declare_updates(num_numbers)
        else:
            self.DeclareContinuousState(x0, num_q, num_v, 0)
            use_native_derivatives(self, self._native_dynamics, of=MultibodyPlant)
        self._parameter_group = self.DeclareNumericParameter(BasicVector(np.zeros(num_numbers)))
        self._gravity_group = self.DeclareNumericParameter(BasicVector(tree.gravity_vector()))
        self._rotor_group = self.DeclareNumericParameter(BasicVector(tree.default_rotors()))
        num_constants = len(tree.elements) * layout.constant_dtype().itemsize // 8
        self._constant_group = self.DeclareNumericParameter(BasicVector(np.zeros(num_constants)))
        num_frame_numbers = len(tree._offset_frames) * layout.frame_dtype().itemsize // 8
        self._frame_group = self.DeclareNumericParameter(BasicVector(np.zeros(num_frame_numbers)))

    def _declare_cache_entries(self) -> None:
        is_discrete = self._time_step > 0.0
        q, v = (self.xd_ticket(),) * 2 if is_discrete else (self.q_ticket(), self.v_ticket())
        room = type(None)
        position = self.DeclareCacheEntry(
            "position kinematics", ValueProducer(room, self._calc_position), {q, self.pn_ticket()}
        )
        velocity = self.DeclareCacheEntry(
            "velocity kinematics", ValueProducer(room, self._calc_velocity), {position.ticket(), v}
        )
        # It has no value: its bit tells whether the poses are up to date where the position kinematics are not.
        poses = self.DeclareCacheEntry("poses", ValueProducer(room, self._calc_poses), {q, self.pn_ticket()})
        # It has no value: its bit tells whether anything has been derived from the parameters as they are.
        parameters = self.DeclareCacheEntry("parameters", ValueProducer(room, _calc_nothing), {self.pn_ticket()})
        self._position_entry, self._velocity_entry = position.cache_index(), velocity.cache_index()
        self._pose_entry = poses.cache_index()
        self._parameter_entry = parameters.cache_index()

    # ------------------------------------------------------------------ dynamics

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        """Computes [qdot; vdot], equations (1) and (2), by the articulated body algorithm."""
        context.get_continuous_state_vector()
        context.get_parameters()
        self._advance(context, derivatives.get_mutable_vector().get_mutable_value())

    def _advance(self, context: Any, result: Any) -> Workspace:
        """Computes the derivatives of the state, or the state one step later, into `result`; shape as the state."""
        w = self._workspace(context)
        self._native_dynamics.note_call(w)
        if self._pitches:
            self._check_pitches("The motion", w)
        if self._time_step > 0.0:
            self._compile_contact_ahead(w)
        self._gather_forces(context, w)
        if self._can_hold and self._time_step == 0.0:
            self._add_contact_forces(context, w)
        if self._time_step > 0.0:
            status = self._calc_discrete_step(context, w, result)
        elif self._has_loops:
            status = self._calc_loop_derivatives(w, (w.topology, w.parameters, w.gravity), result)
        else:
            status = w.run_derivatives(result)
        self._conclude(context, w, status, result)
        return w

    def _calc_vdot(self, context: Any) -> tuple[Workspace, Any]:
        """vdot, shape [nv]; for a discrete plant (v+ - v) / h. The kinematics are up to date afterwards."""
        result = np.empty_like(self._workspace(context).x)
        w = self._advance(context, result)
        vdot = result[len(w.q) :]
        return w, (vdot - w.v) / self._time_step if self._time_step > 0.0 else vdot

    def EvalBodySpatialAccelerationInWorld(self, context: Any, body: RigidBody) -> SpatialAcceleration:
        """Returns the spatial acceleration A_WB_W of a body at its origin, in the world frame.

        It follows from all forces at the moment, those of contact, joint limits and constraints included; for a
        discrete plant it is the mean over the next step, from (v+ - v) / h.
        """
        mobod = self._mobod("EvalBodySpatialAccelerationInWorld", body)
        return SpatialAcceleration(self._eval_body_dynamics_now(context).A_WB_W[mobod].copy())

    def _conclude(self, context: Any, w: Workspace, status: int, result: Any) -> None:
        """Marks the kinematics that a step has computed on its way as current; raises if the step failed."""
        if status != 0:
            raise RuntimeError(self._describe_singularity(context, w, status))
        w.store.invalid &= w.kinematics_clearing
        if w.is_float and not checked.is_finite(result):
            raise RuntimeError(self._describe_overflow(context, w, result))

    def _describe_singularity(self, context: Any, w: Workspace, mobod: int) -> str:
        time = f"at time {context.store.flat[0]} s"
        if w.is_float and not np.isfinite(w.x).all():
            return self._describe_overflow(context, w, w.x)
        if mobod == NOT_CONVERGED:
            return (
                f"The step of plant '{self.GetSystemPathname()}' {time} was not found: the search for the "
                "PD-controlled actuators that reach their effort limits did not converge. Check gains and limits."
            )
        fastest = int(np.argmax(np.abs(w.v)))
        if w.is_float and self._time_step * abs(w.v[fastest]) > _MOST_IN_A_STEP:
            return (
                f"Plant '{self.GetSystemPathname()}' {time}: velocity {self.GetStateNames()[len(w.q) + fastest]} has "
                f"grown to {w.v[fastest]:.3g}, so that nothing is left of its inertia but rounding. The forces or the "
                "time step are too large."
            )
        for start, name in self._quaternions.items():
            if not w.q[start : start + 4].any():
                return (
                    f"The quaternion of joint '{name}' of plant '{self.GetSystemPathname()}' is zero {time}, "
                    "so it gives no orientation."
                )
        body = next(b for b in self._tree.bodies if self._tree.mobod_of_body[b.index()] == mobod)
        joint = next(j for j in self._tree.joints if self._tree.mobod_of_joint[j.index()] == mobod)
        return (
            f"The mass matrix of plant '{self.GetSystemPathname()}' is singular {time}: body "
            f"'{body.name()}', with all that it carries, has no inertia for some motion of joint "
            f"'{joint.name()}' ({joint.type_name()}). Give the body mass and inertia, give the joint's "
            "actuator a rotor inertia, or weld the joint."
        )

    def _describe_overflow(self, context: Any, w: Workspace, values: Any) -> str:
        bad = np.flatnonzero(~np.isfinite(values))
        names = self.GetStateNames()
        what = "state" if values is w.x else "step" if self._time_step > 0.0 else "time derivatives"
        listed = ", ".join(names[i] for i in bad[:5])
        return (
            f"The {what} of plant '{self.GetSystemPathname()}' at time {context.store.flat[0]} s is not "
            f"finite in {listed}{', ...' if len(bad) > 5 else ''}. The forces or the time step are too "
            "large, or the state was not finite before."
        )


def _calc_nothing(context: Any, output: Any) -> None:
    """For a cache entry without a value."""
