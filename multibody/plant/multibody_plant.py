"""MultibodyPlant: a leaf system whose state is that of jointed rigid bodies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.inside import scalar_of, use_native_derivatives
from merganser.framework.core.scalars.templates import instantiate
from merganser.framework.core.system.scalar_conversion import ConversionRefused
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.scalars.linearized_motion import linearized_motion
from merganser.multibody.tree import (
    Joint,
    LinearBushingRollPitchYaw,
    MultibodyTree,
    PrismaticJoint,
    RevoluteJoint,
    RevoluteSpring,
    WeldJoint,
)
from merganser.multibody.tree.indices import DeformableBodyIndex
from merganser.multibody.tree.tree import copy_finalized_tree

if TYPE_CHECKING:
    from merganser.framework import Context
from merganser.framework import LeafSystem
from merganser.multibody.deformable.model import DeformableModel
from merganser.multibody.plant.center_of_mass import CenterOfMass
from merganser.multibody.plant.computations import ForceElements, PlantComputations
from merganser.multibody.plant.constraints import Constraints
from merganser.multibody.plant.contact_settings import ContactSettings, ContactsOfKinds
from merganser.multibody.plant.face.computations import DynamicsFace, KinematicsFace, StateFace
from merganser.multibody.plant.face.model import ContactFace, ElementsFace, GeometryFace, LoopsFace, PortsFace
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.plant.input_ports import InputPorts
from merganser.multibody.plant.jacobians import PlantJacobians, VelocityMaps
from merganser.multibody.plant.kinematics import FrameMotion, FramePoses, PlantKinematics
from merganser.multibody.plant.loops import LoopJoints
from merganser.multibody.plant.names import PlantNames, Selectors
from merganser.multibody.plant.outputs import OutputPorts
from merganser.multibody.plant.sampling import Sampling
from merganser.multibody.plant.state import FreeBodies, PlantState
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step.dynamics import PlantDynamics
from merganser.multibody.plant.step.failures import WarnOnce
from merganser.multibody.plant.transmissions import PlantBelts, PlantTransmissions

Array = NDArray[Any]


def printed_parameters(tree: MultibodyTree, context: Context) -> tuple[list[Array], int]:
    """The numbers of joints, actuators, bodies, frames and force elements, in this order, as in Drake.

    Args:
        tree: finalized.
        context: of its plant.

    Returns:
        The groups, and how many parameters there are that are no numbers: whether each mobilized body is locked,
        which constraints are active, and what distance constraints prescribe.
    """
    groups = [np.array(joint.GetDampingVector(context)) for joint in tree.joints]
    for actuator in tree.actuators:
        groups += [np.array([actuator.rotor_inertia(context)]), np.array([actuator.gear_ratio(context)])]
    groups.append(np.full(10, np.nan))  # the world
    for body in list(tree.bodies)[1:]:
        M_BBo_B = body.CalcSpatialInertiaInBodyFrame(context)
        G_BBo_B = M_BBo_B.get_unit_inertia()
        p_BoBcm_B, moments, products = M_BBo_B.get_com(), G_BBo_B.get_moments(), G_BBo_B.get_products()
        groups.append(np.concatenate([[M_BBo_B.get_mass()], p_BoBcm_B, moments, products]))
    poses = [frame.GetPoseInParentFrame(context) for frame in tree._offset_frames]
    for joint in sorted(tree.joints, key=lambda joint: int(tree.mobod_of_joint[joint.index()])):
        poses += _poses_made_by(tree, joint)
    groups += [X.GetAsMatrix34().T.ravel() for X in poses]  # [R p] by columns
    for element in tree.force_elements:
        if isinstance(element, LinearBushingRollPitchYaw):
            groups.append(np.array(element.GetTorqueStiffnessConstants(context)))
            groups.append(np.array(element.GetTorqueDampingConstants(context)))
            groups.append(np.array(element.GetForceStiffnessConstants(context)))
            groups.append(np.array(element.GetForceDampingConstants(context)))
        elif isinstance(element, RevoluteSpring):
            groups.append(np.array([element.GetStiffness(context), element.GetNominalAngle(context)]))
    return groups, len(tree.topology) + 2


def _poses_made_by(tree: MultibodyTree, joint: Joint) -> list[RigidTransform]:
    """The poses of frames that Drake adds since its mobilizers know no poses, and no axes but +x, +y and +z."""
    is_reversed = tree.mobod_of_body[joint.child_body().index()] != tree.mobod_of_joint[joint.index()]
    if isinstance(joint, WeldJoint):
        X_FM = joint.X_FM().inverse() if is_reversed else joint.X_FM()
        return [] if X_FM.IsExactlyIdentity() else [X_FM]
    if isinstance(joint, RevoluteJoint | PrismaticJoint):
        axis = joint.revolute_axis() if isinstance(joint, RevoluteJoint) else joint.translation_axis()
        axis = -axis if is_reversed else axis
        if not any(np.array_equal(axis, along) for along in np.eye(3)):
            return 2 * [RigidTransform(RotationMatrix.MakeFromOneVector(axis, 2))]
    return []


class MultibodyPlant(
    ElementsFace, StateFace, KinematicsFace, DynamicsFace, GeometryFace, ContactFace, LoopsFace, PortsFace, LeafSystem
):
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

    Its functions are in faces (face/), one line each that calls a part; `_make_parts` lists the parts.
    """

    _keeps_derivatives = True
    _sys_without_abstract_state = " Call SetUseSampledOutputPorts(False) before Finalize() to do without."
    _model: PlantModel
    _tree: MultibodyTree
    _views: StateViews
    _frame_poses: FramePoses
    _dynamics: PlantDynamics

    def __init__(self, time_step: float) -> None:
        super().__init__()
        if not (math.isfinite(time_step) and time_step >= 0.0):
            raise ValueError(f"The time step of a MultibodyPlant must be finite and not negative, got {time_step}.")
        self._make_parts(MultibodyTree(self), float(time_step))

    def _make_parts(self, tree: MultibodyTree, time_step: float) -> None:
        """Makes the parts, each with those that it needs."""
        self._tree = tree
        # The model: elements, geometry, settings and constraints.
        model = self._model = PlantModel(self, tree, time_step)
        self._names = PlantNames(model)
        self._selectors = Selectors(model)
        self._geometry = GeometryRegistration(model)
        self._settings = ContactSettings(model, self._geometry)
        self._warn_once = WarnOnce()
        self._constraints = Constraints(model, self._settings)
        self._contacts_of_kinds = ContactsOfKinds(model)
        # State, and what follows from it.
        views = self._views = StateViews(model)
        self._state = PlantState(model, views)
        self._free_bodies = FreeBodies(model, views)
        self._frame_poses = FramePoses(model, views)
        kinematics = self._kinematics = PlantKinematics(model, views)
        self._velocity_maps = VelocityMaps(model, views)
        self._jacobians = PlantJacobians(model, kinematics)
        self._transmissions = PlantTransmissions(model, kinematics)
        self._computations = PlantComputations(model, views, kinematics, self._transmissions)
        self._force_elements = ForceElements(model, kinematics, self._computations, self._transmissions)
        # Inputs, dynamics and outputs.
        self._inputs = InputPorts(model, views, kinematics)
        self._belts = PlantBelts(model, views, self._inputs)
        dynamics = self._dynamics = PlantDynamics(
            model, views, kinematics, self._inputs, self._geometry, self._settings, self._constraints,
            self._force_elements, self._warn_once,
        )  # fmt: skip
        self._contact_geometry = dynamics.contact_geometry
        self._deformables = DeformableModel(model, self._geometry, self._settings)
        self._sampling = Sampling(model, views, dynamics)
        self._center_of_mass = CenterOfMass(model, views, kinematics, self._jacobians, dynamics.calc_vdot)
        self._frame_motion = FrameMotion(model, kinematics, self._sampling)
        self._loops = LoopJoints(model, views, kinematics, self._settings, dynamics)
        self._outputs = OutputPorts(
            model, views, kinematics, self._geometry, self._sampling, self._transmissions, self._deformables
        )

    def time_step(self) -> float:
        """Returns the period of the discrete update [s]; 0 for a continuous plant."""
        return self._model.time_step

    def is_discrete(self) -> bool:
        """Returns whether the state is discrete."""
        return self._model.is_discrete

    def Finalize(self) -> None:
        """Completes the model: free bodies get floating joints, state and ports are declared.

        Raises:
            RuntimeError: the plant is finalized already, or its joints form a loop.
        """
        self._deformables.check()
        self._tree.Finalize()
        self._complete()
        self._geometry.finish(self._settings.choices.filters_adjacent_bodies)

    def DoCalcTimeDerivatives(self, context: Context, derivatives: Any) -> None:
        """Computes [qdot; vdot], equations (1) and (2), by the articulated body algorithm."""
        context.get_continuous_state_vector()
        context.get_parameters()
        xdot = derivatives.get_mutable_vector().get_mutable_value()
        num_x = self.num_positions() + self.num_velocities()
        w = self._dynamics.advance(context, xdot[:num_x])
        if len(xdot) > num_x:
            xdot[num_x:] = w.step_buffers.work.activations

    def DoCalcImplicitTimeDerivativesResidual(self, context: Context, proposed_derivatives: Any, residual: Any) -> None:
        """Computes [qdot - N(q) v; M(q) vdot + C(q, v) v - tau_g(q) + D v - tau], which divides by no masses.

        Where joints are locked or constraints hold, it is the difference to the true derivatives.
        """
        if self._tree.num_activations():
            super().DoCalcImplicitTimeDerivativesResidual(context, proposed_derivatives, residual)
            return
        qdot, vdot = proposed_derivatives.get_generalized_position(), proposed_derivatives.get_generalized_velocity()
        context.get_continuous_state_vector()
        context.get_parameters()
        tau = self._dynamics.calc_missing_forces(context, vdot.CopyToVector())
        if tau is None:
            super().DoCalcImplicitTimeDerivativesResidual(context, proposed_derivatives, residual)
            return
        num_q = self.num_positions()
        residual[:num_q] = qdot.CopyToVector() - self.MapVelocityToQDot(context, self.GetVelocities(context))
        residual[num_q:] = tau

    def _sys_linearized_dynamics(self, context: Context, port: Any) -> Any:
        if type(self).DoCalcTimeDerivatives is not MultibodyPlant.DoCalcTimeDerivatives:
            return None  # a program has derivatives of its own
        return linearized_motion(self._dynamics, context, port)

    def _sys_printed_parameters(self, context: Context) -> tuple[list[Any], int]:
        return printed_parameters(self._tree, context)

    # ------------------------------------------------------------------ completing

    @classmethod
    def _around(cls, tree: MultibodyTree) -> MultibodyPlant:
        """Makes a continuous plant that owns a finalized tree without a plant."""
        plant = cls.__new__(cls)
        LeafSystem.__init__(plant)
        plant._make_parts(tree, 0.0)
        tree.plant = plant
        plant._complete()
        return plant

    def _sys_declared_anew(self, T: Any) -> MultibodyPlant | None:
        """A plant like this for scalars of type T, which shares what Finalize() has made of the elements.

        Plants that are not finalized are copied, and those of other scalars, whose elements may hold such.
        """
        if self._deformables.num_bodies():
            if T is float:
                return None  # copied, with all that is known of the bodies
            name = self._deformables.GetBody(DeformableBodyIndex(0)).name()
            raise ConversionRefused(self, T, f"it has deformable body '{name}', and such bodies are of floats")
        if scalar_of(self) is not float or type(self) is not MultibodyPlant or not self.is_finalized():
            return None
        cls: type[MultibodyPlant] = instantiate(MultibodyPlant, T)
        plant = cls.__new__(cls)
        LeafSystem.__init__(plant)
        plant._make_parts(copy_finalized_tree(self._tree, plant), self._model.time_step)
        plant._sampling.is_used = self._sampling.is_used
        plant._geometry.share(self._geometry)
        plant._complete(self._model)
        plant._settings.take_over(self._settings)
        plant._outputs.take_over(self._outputs)
        plant._warn_once.warned = set(self._warn_once.warned)
        return plant

    def _complete(self, equal: PlantModel | None = None) -> None:
        """Declares what follows from the finalized tree.

        Args:
            equal: of a plant whose tree is the same.
        """
        self._model.freeze(equal)
        self._views.declare_state()
        self._deformables.declare()
        if self._deformables.num_bodies():
            from merganser.multibody.deformable.steps import DeformableSteps

            self._dynamics.deformables = DeformableSteps(self._deformables, self._dynamics)
        if self.is_discrete():
            self._sampling.declare_updates(self._views.num_parameters)
        else:
            use_native_derivatives(self, self._dynamics.native, of=MultibodyPlant)
        self._views.declare_parameters()
        self._kinematics.declare_entries()
        if not self.is_discrete():
            self._sys_unit_quaternions = list(self._model.quaternions)
        self._dynamics.freeze()
        self._inputs.declare()
        if not self.is_discrete() and type(self).DoCalcTimeDerivatives is MultibodyPlant.DoCalcTimeDerivatives:
            self._dynamics.declare_steps()  # not of a class with derivatives of its own
        self._sampling.declare_entries()
        self._outputs.declare()
        self._belts.declare()
        self._settings.freeze()
        self._constraints.declare()
        self._loops.declare()
