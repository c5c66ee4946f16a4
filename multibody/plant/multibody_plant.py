"""MultibodyPlant: a leaf system whose state is that of jointed rigid bodies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.core.inside import scalar_of, use_native_derivatives
from merganser.framework.core.templates import instantiate
from merganser.multibody.contact.step import BAD_INPUT, BAD_POSE, NO_FORCE, NOT_FINITE, SINGULAR_PITCH
from merganser.multibody.math import SpatialAcceleration
from merganser.multibody.plant.checked_code import checked
from merganser.multibody.plant.face.ports import PortsFace
from merganser.multibody.plant.failures import describe_overflow, describe_singularity
from merganser.multibody.plant.kernel_calls import bind_derivatives
from merganser.multibody.plant.loops import PlantLoops
from merganser.multibody.plant.native_code import NativeDynamics
from merganser.multibody.plant.outputs import OutputPorts
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import MultibodyTree, RigidBody
from merganser.multibody.tree.copies import copy_finalized_tree

__all__ = ["MultibodyPlant"]


class MultibodyPlant(PortsFace, PlantLoops):
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
        self._make_parts(tree, time_step)
        self._use_sampled_output_ports = time_step > 0.0
        self._declare_geometry_query_port()
        self._outputs = OutputPorts(self._model, self._views, self._kinematics, self._geometry, self)

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
        self._geometry.finish(self._settings.choices.filters_adjacent_bodies)

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
        plant._geometry.share(self._geometry)
        plant._complete()
        plant._settings.take_over(self._settings)
        plant._warn_once.told = set(self._warn_once.told)
        return plant

    def _complete(self) -> None:
        """Declares what follows from the finalized tree."""
        self._model.freeze()
        self._native_dynamics = NativeDynamics(self)
        self._declare_state()
        self._kinematics.declare_entries()
        if not self.is_discrete():
            self._sys_unit_quaternions = list(self._model.quaternions)
        self._pitch_places = np.array(list(self._model.pitches), dtype=np.int64)
        self._declare_contact()
        self._declare_input_ports()
        self._declare_dynamics_entries()
        self._outputs.declare()
        self._settings.freeze()
        self._declare_loops()

    def _declare_state(self) -> None:
        self._views.declare_state()
        if self.is_discrete():
            self._declare_updates(self._views.num_parameters)
        else:
            use_native_derivatives(self, self._native_dynamics, of=MultibodyPlant)
        self._views.declare_parameters()

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
        if self._time_step > 0.0:
            status = self._calc_discrete_step(context, w, result)
        elif w.is_float and self._native_dynamics.compute(context, w, result):
            w.store.invalid &= w.kinematics_clearing
            return w
        else:
            status = self._find_forces(context, w)
            if status == 0 and self._has_loops:
                status = self._calc_loop_derivatives(context, w, (w.topology, w.parameters, w.gravity), result)
            elif status == 0:
                status = (w.calls.derivatives or bind_derivatives(w))(result)
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
        return SpatialAcceleration(self._eval_A_WB_W(context)[mobod].copy())

    def _eval_A_WB_W(self, context: Any) -> Any:
        return self._eval_body_dynamics_now(context).A_WB_W

    def _conclude(self, context: Any, w: Workspace, status: int, result: Any) -> None:
        """Marks the kinematics that a step has computed on its way as current; raises if the step failed."""
        if status != 0:
            self._raise_failure(context, w, status)
        w.store.invalid &= w.kinematics_clearing
        if w.is_float and self._time_step == 0.0 and not checked.is_finite(result):
            raise RuntimeError(describe_overflow(self._model, context, w, result))

    def _raise_failure(self, context: Any, w: Workspace, status: int) -> None:
        """Raises an error that says why there are no dynamics, see contact/step.py."""
        if status == SINGULAR_PITCH:
            self._check_pitches("The motion", w)
        if status == BAD_INPUT:
            self._blame_inputs(context, w.tau)
        if status in (BAD_POSE, NOT_FINITE):
            values = w.x if status == BAD_POSE else w.step_room.results[0].x_next
            raise RuntimeError(describe_overflow(self._model, context, w, values))
        if status <= NO_FORCE:
            raise RuntimeError(self._describe_element_failure(context, NO_FORCE - status))
        raise RuntimeError(describe_singularity(self._model, context, w, status))
