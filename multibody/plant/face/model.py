"""Functions of MultibodyPlant about the model: elements, geometry, ports, contact, constraints and loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import NDArray

from merganser.framework.common.errors import deprecated_method
from merganser.framework.common.keywords import Delegated, written_out
from merganser.framework.math import RigidTransform
from merganser.geometry import HydroelasticContactRepresentation
from merganser.multibody.deformable.model import DeformableModel
from merganser.multibody.plant.constraints import Constraints
from merganser.multibody.plant.contact_geometry import ContactGeometry
from merganser.multibody.plant.contact_settings import ContactSettings, ContactsOfKinds
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.plant.input_ports import InputPorts
from merganser.multibody.plant.loops import LoopJoints
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.names import PlantNames, Selectors
from merganser.multibody.plant.outputs import OutputPorts
from merganser.multibody.plant.sampling import Sampling
from merganser.multibody.plant.topology_graph import topology_graphviz_string
from merganser.multibody.plant.transmissions import PlantBelts
from merganser.multibody.tree import (
    MultibodyTree,
    RigidBody,
)
from merganser.multibody.tree.lookup import TreeLookup

P = ParamSpec("P")
R = TypeVar("R")


def from_part(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A function that calls one of a part; an annotation of the class says where that is."""
    return Delegated(method, "MultibodyPlant")  # type: ignore[return-value]  # which the class replaces by a function


def from_tree(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A function that calls one of the tree."""
    return Delegated(method, "MultibodyPlant", "_tree")  # type: ignore[return-value]


Array = NDArray[Any]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _renamed(name: str, method: _Function) -> _Function:
    """A function of the tree under its older name, which warns."""
    function: _Function = written_out(method, "_tree", f"MultibodyPlant.{method.__name__}")
    instead = f"Use {method.__name__}()."
    return deprecated_method(f"MultibodyPlant.{name}", instead, until="2026-06-01")(function)


class ElementsFace:
    """Elements of a MultibodyPlant (see MultibodyTree for the elements themselves), and what follows from them.

    The functions that give names take, by position or by keyword,

        model_instance: which instance; left out for all.
        add_model_instance_prefix: whether names start with that of the instance; by default only if no
            instance is given.
        always_add_suffix: whether joints with a single coordinate have its suffix too; by default they do.
            Not for GetStateNames() and GetActuatorNames().

    Raises:
        RuntimeError: before Finalize(), or there is no such model instance.
        TypeError: other arguments.
    """

    _tree: MultibodyTree
    _model: PlantModel
    _names: PlantNames
    _selectors: Selectors
    _deformables: DeformableModel

    # ------------------------------------------------------------------ adding elements

    AddModelInstance = from_tree(MultibodyTree.AddModelInstance)
    AddFrame = from_tree(MultibodyTree.AddFrame)
    AddJoint = from_tree(MultibodyTree.AddJoint)
    AddJointActuator = from_tree(MultibodyTree.AddJointActuator)
    AddActuator = from_tree(MultibodyTree.AddActuator)
    AddTransmission = from_tree(MultibodyTree.AddTransmission)
    RemoveJoint = from_tree(MultibodyTree.RemoveJoint)
    RemoveJointActuator = from_tree(MultibodyTree.RemoveJointActuator)
    RemoveAllJointActuatorEffortLimits = from_tree(MultibodyTree.RemoveAllJointActuatorEffortLimits)
    WeldFrames = from_tree(MultibodyTree.WeldFrames)
    SetBaseBodyJointType = from_tree(MultibodyTree.SetBaseBodyJointType)
    GetBaseBodyJointType = from_tree(MultibodyTree.GetBaseBodyJointType)
    SetDefaultFloatingBaseBodyPose = from_tree(MultibodyTree.SetDefaultFloatingBaseBodyPose)
    GetDefaultFloatingBaseBodyPose = from_tree(MultibodyTree.GetDefaultFloatingBaseBodyPose)
    SetDefaultFloatingBaseBodyDamping = from_tree(MultibodyTree.SetDefaultFloatingBaseBodyDamping)
    SetDefaultFloatingBaseBodyArmature = from_tree(MultibodyTree.SetDefaultFloatingBaseBodyArmature)
    GetDefaultFreeBodyPose = _renamed("GetDefaultFreeBodyPose", MultibodyTree.GetDefaultFloatingBaseBodyPose)

    @deprecated_method(
        "MultibodyPlant.SetDefaultFreeBodyPose", "Use SetDefaultFloatingBaseBodyPose().", until="2026-06-01"
    )
    def SetDefaultFreeBodyPose(self, body: RigidBody, X_PB: RigidTransform) -> None:
        """SetDefaultFloatingBaseBodyPose() under its older name."""
        self._tree.SetDefaultFloatingBaseBodyPose(body, X_PB)

    gravity_field = from_tree(MultibodyTree.gravity_field)
    mutable_gravity_field = gravity_field

    # ------------------------------------------------------------------ deformable bodies

    deformable_model = from_part(DeformableModel.get)
    mutable_deformable_model = from_part(DeformableModel.get_mutable)

    # ------------------------------------------------------------------ finding elements

    world_body = from_tree(TreeLookup.world_body)
    world_frame = from_tree(TreeLookup.world_frame)
    get_body = from_tree(TreeLookup.get_body)
    get_frame = from_tree(TreeLookup.get_frame)
    get_joint = from_tree(TreeLookup.get_joint)
    has_joint = from_tree(TreeLookup.has_joint)
    has_joint_actuator = from_tree(TreeLookup.has_joint_actuator)
    get_transmission = from_tree(TreeLookup.get_transmission)
    num_transmissions = from_tree(TreeLookup.num_transmissions)
    HasTransmissionNamed = from_tree(TreeLookup.HasTransmissionNamed)
    GetTransmissionByName = from_tree(TreeLookup.GetTransmissionByName)
    get_mutable_joint = from_tree(TreeLookup.get_joint)
    get_joint_actuator = from_tree(TreeLookup.get_joint_actuator)
    get_mutable_joint_actuator = from_tree(TreeLookup.get_joint_actuator)
    GetBodyByName = from_tree(TreeLookup.GetBodyByName)
    GetRigidBodyByName = from_tree(TreeLookup.GetRigidBodyByName)
    GetFrameByName = from_tree(TreeLookup.GetFrameByName)
    GetJointByName = from_tree(TreeLookup.GetJointByName)
    GetMutableJointByName = from_tree(TreeLookup.GetJointByName)
    GetJointActuatorByName = from_tree(TreeLookup.GetJointActuatorByName)
    GetModelInstanceByName = from_tree(TreeLookup.GetModelInstanceByName)
    GetModelInstanceName = from_tree(TreeLookup.GetModelInstanceName)
    HasBodyNamed = from_tree(TreeLookup.HasBodyNamed)
    HasFrameNamed = from_tree(TreeLookup.HasFrameNamed)
    HasJointNamed = from_tree(TreeLookup.HasJointNamed)
    HasJointActuatorNamed = from_tree(TreeLookup.HasJointActuatorNamed)
    HasModelInstanceNamed = from_tree(TreeLookup.HasModelInstanceNamed)
    NumBodiesWithName = from_tree(TreeLookup.NumBodiesWithName)
    GetBodyIndices = from_tree(TreeLookup.GetBodyIndices)
    GetFrameIndices = from_tree(TreeLookup.GetFrameIndices)
    GetJointIndices = from_tree(TreeLookup.GetJointIndices)
    GetJointActuatorIndices = from_tree(TreeLookup.GetJointActuatorIndices)
    GetActuatedJointIndices = from_tree(TreeLookup.GetActuatedJointIndices)
    GetBodiesWeldedTo = from_tree(TreeLookup.GetBodiesWeldedTo)
    GetFloatingBaseBodies = from_tree(TreeLookup.GetFloatingBaseBodies)
    HasUniqueFloatingBaseBody = from_tree(TreeLookup.HasUniqueFloatingBaseBody)
    HasUniqueFreeBaseBody = _renamed("HasUniqueFreeBaseBody", TreeLookup.HasUniqueFloatingBaseBody)
    GetUniqueFloatingBaseBodyOrThrow = from_tree(TreeLookup.GetUniqueFloatingBaseBodyOrThrow)
    GetUniqueFreeBaseBodyOrThrow = _renamed("GetUniqueFreeBaseBodyOrThrow", TreeLookup.GetUniqueFloatingBaseBodyOrThrow)
    IsAnchored = from_tree(TreeLookup.IsAnchored)
    num_bodies = from_tree(TreeLookup.num_bodies)
    num_frames = from_tree(TreeLookup.num_frames)
    num_joints = from_tree(TreeLookup.num_joints)
    num_actuators = from_tree(TreeLookup.num_actuators)
    num_model_instances = from_tree(TreeLookup.num_model_instances)
    num_positions = from_tree(TreeLookup.num_positions)
    num_velocities = from_tree(TreeLookup.num_velocities)
    num_actuated_dofs = from_tree(TreeLookup.num_actuated_dofs)
    is_finalized = from_tree(TreeLookup.is_finalized)

    def num_multibody_states(self, model_instance: int | None = None) -> int:
        """Returns the number of positions and velocities, of one model instance or of all."""
        return self._tree.num_positions(model_instance) + self._tree.num_velocities(model_instance)

    # ------------------------------------------------------------------ names
    GetPositionNames = from_part(PlantNames.get_position_names)
    GetVelocityNames = from_part(PlantNames.get_velocity_names)
    GetStateNames = from_part(PlantNames.get_state_names)
    GetActuatorNames = from_part(PlantNames.get_actuator_names)

    # ------------------------------------------------------------------ limits

    GetPositionLowerLimits = from_tree(MultibodyTree.position_lower_limits)
    GetPositionUpperLimits = from_tree(MultibodyTree.position_upper_limits)
    GetVelocityLowerLimits = from_tree(MultibodyTree.velocity_lower_limits)
    GetVelocityUpperLimits = from_tree(MultibodyTree.velocity_upper_limits)
    GetAccelerationLowerLimits = from_tree(MultibodyTree.acceleration_lower_limits)
    GetAccelerationUpperLimits = from_tree(MultibodyTree.acceleration_upper_limits)
    GetEffortUpperLimits = from_part(PlantNames.get_effort_upper_limits)
    GetEffortLowerLimits = from_part(PlantNames.get_effort_lower_limits)

    # ------------------------------------------------------------------ what follows from the topology

    MakeActuationMatrix = from_part(Selectors.make_actuation_matrix)
    MakeActuationMatrixPseudoinverse = from_part(Selectors.make_actuation_matrix_pseudoinverse)
    MakeStateSelectorMatrix = from_part(Selectors.make_state_selector_matrix)
    MakeActuatorSelectorMatrix = from_part(Selectors.make_actuator_selector_matrix)
    GetBodiesKinematicallyAffectedBy = from_part(Selectors.get_bodies_kinematically_affected_by)

    def GetTopologyGraphvizString(self) -> str:
        """Returns the bodies, by model instance, and the joints between them in Graphviz's language, for `dot`.

        Before Finalize() the joints of floating bodies are not there yet.
        """
        return topology_graphviz_string(self._model)


class GeometryFace:
    """Frames of the bodies in a SceneGraph, and the shapes fixed to them."""

    _geometry: GeometryRegistration
    _contact_geometry: ContactGeometry

    # ------------------------------------------------------------------ source and frames

    RegisterAsSourceForSceneGraph = from_part(GeometryRegistration.register_as_source_for_scene_graph)
    geometry_source_is_registered = from_part(GeometryRegistration.geometry_source_is_registered)
    get_source_id = from_part(GeometryRegistration.get_source_id)
    AddRigidBody = from_part(GeometryRegistration.add_rigid_body)
    RenameModelInstance = from_part(GeometryRegistration.rename_model_instance)
    GetBodyFrameIdIfExists = from_part(GeometryRegistration.get_body_frame_id_if_exists)
    GetBodyFrameIdOrThrow = from_part(GeometryRegistration.get_body_frame_id_or_throw)
    GetBodyFromFrameId = from_part(GeometryRegistration.get_body_from_frame_id)

    # ------------------------------------------------------------------ shapes

    RegisterVisualGeometry = from_part(GeometryRegistration.register_visual_geometry)
    RegisterCollisionGeometry = from_part(GeometryRegistration.register_collision_geometry)
    GetVisualGeometriesForBody = from_part(GeometryRegistration.get_visual_geometries_for_body)
    GetCollisionGeometriesForBody = from_part(GeometryRegistration.get_collision_geometries_for_body)
    num_collision_geometries = from_part(GeometryRegistration.num_collision_geometries)
    num_visual_geometries = from_part(GeometryRegistration.num_visual_geometries)

    # ------------------------------------------------------------------ collision filters

    CollectRegisteredGeometries = from_part(GeometryRegistration.collect_registered_geometries)
    EvalSceneGraphInspector = from_part(ContactGeometry.eval_inspector)


class PortsFace:
    """Ports. All but those of geometry are there after Finalize(); before, RuntimeError is raised."""

    _belts: PlantBelts
    _inputs: InputPorts
    _outputs: OutputPorts
    _sampling: Sampling

    # ------------------------------------------------------------------ input ports

    get_actuation_input_port = from_part(InputPorts.get_actuation_input_port)
    get_desired_state_input_port = from_part(InputPorts.get_desired_state_input_port)
    get_applied_generalized_force_input_port = from_part(InputPorts.get_applied_generalized_force_input_port)
    get_applied_spatial_force_input_port = from_part(InputPorts.get_applied_spatial_force_input_port)
    get_surface_speeds_input_port = from_part(PlantBelts.get_input_port)
    get_geometry_query_input_port = from_part(InputPorts.get_geometry_query_input_port)

    # ------------------------------------------------------------------ belts

    SetSurfaceVelocityAxis = from_part(PlantBelts.set_axis)
    GetSurfaceVelocityAxis = from_part(PlantBelts.get_axis)
    num_misc_continuous_states = from_part(PlantBelts.num_misc_continuous_states)

    # ------------------------------------------------------------------ sampling

    def SetUseSampledOutputPorts(self, use_sampled_output_ports: bool) -> None:
        """Chooses whether output ports that follow from forces show the last step of a discrete plant, or the moment.

        Raises:
            RuntimeError: the plant is finalized already, or sampling is asked of a continuous plant.
        """
        self._sampling.set_use(use_sampled_output_ports)

    def has_sampled_output_ports(self) -> bool:
        """Returns whether output ports that follow from forces change at steps only; False for a continuous plant."""
        return bool(self._sampling.is_used)

    # ------------------------------------------------------------------ output ports

    get_activations_output_port = from_part(OutputPorts.get_activations_output_port)
    get_state_output_port = from_part(OutputPorts.get_state_output_port)
    get_body_poses_output_port = from_part(OutputPorts.get_body_poses_output_port)
    get_body_spatial_velocities_output_port = from_part(OutputPorts.get_body_spatial_velocities_output_port)
    get_body_spatial_accelerations_output_port = from_part(OutputPorts.get_body_spatial_accelerations_output_port)
    get_generalized_acceleration_output_port = from_part(OutputPorts.get_generalized_acceleration_output_port)
    get_net_actuation_output_port = from_part(OutputPorts.get_net_actuation_output_port)
    get_reaction_forces_output_port = from_part(OutputPorts.get_reaction_forces_output_port)
    get_surface_displacements_output_port = from_part(PlantBelts.get_output_port)
    get_limit_forces_output_port = from_part(OutputPorts.get_limit_forces_output_port)
    get_contact_results_output_port = from_part(OutputPorts.get_contact_results_output_port)
    get_generalized_contact_forces_output_port = from_part(OutputPorts.get_generalized_contact_forces_output_port)
    get_geometry_pose_output_port = from_part(OutputPorts.get_geometry_pose_output_port)
    get_deformable_body_configuration_output_port = from_part(OutputPorts.get_deformable_body_configuration_output_port)


class ContactFace:
    """Contact settings. All but penetration allowance and stiction tolerance are fixed by Finalize().

    Functions that set something raise RuntimeError after Finalize() unless they say otherwise, TypeError if the value
    is of the wrong kind, and then leave everything as it was.

    Constraints between joints and bodies are for plants of any time step. They are added before Finalize(). In a
    Context, each can be switched off, and the parameters of distance constraints can be changed. Errors of the
    Add...Constraint() functions: RuntimeError, if the plant is finalized, uses the TAMSI solver, or a body or joint
    belongs to another plant; ValueError, if a number is not finite.
    """

    _settings: ContactSettings
    _constraints: Constraints
    _contacts_of_kinds: ContactsOfKinds

    # ------------------------------------------------------------------ models

    set_contact_model = from_part(ContactSettings.set_contact_model)
    get_contact_model = from_part(ContactSettings.get_contact_model)
    set_discrete_contact_approximation = from_part(ContactSettings.set_discrete_contact_approximation)
    get_discrete_contact_approximation = from_part(ContactSettings.get_discrete_contact_approximation)
    set_discrete_contact_solver = from_part(ContactSettings.set_discrete_contact_solver)
    get_discrete_contact_solver = from_part(ContactSettings.get_discrete_contact_solver)
    set_contact_surface_representation = from_part(ContactSettings.set_contact_surface_representation)
    get_contact_surface_representation = from_part(ContactSettings.get_contact_surface_representation)

    @staticmethod
    def GetDefaultContactSurfaceRepresentation(time_step: float) -> HydroelasticContactRepresentation:
        """Returns polygons for discrete plants, triangles for continuous ones (of time step 0)."""
        return ContactSettings.get_default_contact_surface_representation(time_step)

    set_adjacent_bodies_collision_filters = from_part(ContactSettings.set_adjacent_bodies_collision_filters)
    get_adjacent_bodies_collision_filters = from_part(ContactSettings.get_adjacent_bodies_collision_filters)

    # ------------------------------------------------------------------ numbers

    set_sap_near_rigid_threshold = from_part(ContactSettings.set_sap_near_rigid_threshold)
    get_sap_near_rigid_threshold = from_part(ContactSettings.get_sap_near_rigid_threshold)
    set_penetration_allowance = from_part(ContactSettings.set_penetration_allowance)
    get_contact_penalty_method_time_scale = from_part(ContactSettings.get_contact_penalty_method_time_scale)
    set_stiction_tolerance = from_part(ContactSettings.set_stiction_tolerance)

    # ------------------------------------------------------------------ contacts

    AddContact = from_part(ContactsOfKinds.add_contact)
    GetContactSides = from_part(ContactsOfKinds.get_contact_sides)

    # ------------------------------------------------------------------ constraints

    AddCouplerConstraint = from_part(Constraints.add_coupler_constraint)
    AddDistanceConstraint = from_part(Constraints.add_distance_constraint)
    AddBallConstraint = from_part(Constraints.add_ball_constraint)
    AddWeldConstraint = from_part(Constraints.add_weld_constraint)
    AddTendonConstraint = from_part(Constraints.add_tendon_constraint)
    AddConstraint = from_part(Constraints.add_constraint)
    RemoveConstraint = from_part(Constraints.remove_constraint)
    GetConstraintIds = from_part(Constraints.get_constraint_ids)
    num_constraints = from_part(Constraints.num_constraints)
    num_coupler_constraints = from_part(Constraints.num_coupler_constraints)
    num_distance_constraints = from_part(Constraints.num_distance_constraints)
    num_ball_constraints = from_part(Constraints.num_ball_constraints)
    num_weld_constraints = from_part(Constraints.num_weld_constraints)

    # ------------------------------------------------------------------ constraints in a Context

    GetConstraintActiveStatus = from_part(Constraints.get_constraint_active_status)
    SetConstraintActiveStatus = from_part(Constraints.set_constraint_active_status)
    GetDefaultDistanceConstraintParams = from_part(Constraints.get_default_distance_constraint_params)
    GetDistanceConstraintParams = from_part(Constraints.get_distance_constraint_params)
    SetDistanceConstraintParams = from_part(Constraints.set_distance_constraint_params)


class LoopsFace:
    """Joints that close loops. These functions are not Drake's, which has no loop joints.

        M vdot + C v = tau + K^T mu,   K vdot = -k - 2/T gdot - 1/T^2 g

    with the errors g of the constraints, gdot = K v and gddot = K vdot + k, see kernels/constraints/. A discrete step
    holds the same rows, as it does constraints between bodies (contact/README.md); T plays no part there.
    """

    _loops: LoopJoints

    AddLoopJoint = from_part(LoopJoints.add)
    GetLoopJointByName = from_tree(TreeLookup.GetLoopJointByName)
    HasLoopJointNamed = from_tree(TreeLookup.HasLoopJointNamed)
    get_loop_joint = from_tree(TreeLookup.get_loop_joint)
    num_loop_joints = from_tree(TreeLookup.num_loop_joints)
    CalcLoopJointErrors = from_part(LoopJoints.calc_errors)
    CalcLoopJointJacobian = from_part(LoopJoints.calc_jacobian)
    CalcLoopJointSpatialForce = from_part(LoopJoints.calc_spatial_force)
    CloseLoops = from_part(LoopJoints.close)
