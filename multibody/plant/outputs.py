"""Output ports of a plant."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from merganser.framework import CacheEntry, LeafOutputPort, Value
from merganser.framework.core.context.native_code import CONTINUOUS_STATE, OUTPUT, DiscreteStateOf, NativeCode
from merganser.framework.core.scalars.scalars import ScalarArray
from merganser.framework.core.values.values import AbstractValue, BasicVector
from merganser.framework.math import RigidTransform
from merganser.framework.math.rotations.rigid_transform import rigid_transform
from merganser.framework.native import bind
from merganser.geometry import FramePoseVector, GeometryConfigurationVector
from merganser.multibody.deformable.model import DeformableModel
from merganser.multibody.kernels.frames import geometry_poses
from merganser.multibody.math import SpatialAcceleration, SpatialForce, SpatialVelocity
from merganser.multibody.plant.contact_results import ContactResults
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.sampling import (
    NativeAcceleration,
    NativeContactForces,
    NativeNetActuation,
    NativePart,
    Sampling,
)
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.transmissions import PlantTransmissions
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import ModelInstanceIndex

if TYPE_CHECKING:
    from merganser.framework import Context, LeafContext
    from merganser.multibody.plant.multibody_plant import MultibodyPlant

Array = NDArray[Any]


class OutputPorts:
    """Output ports.

    State, poses and velocities of bodies, and poses of geometry frames follow from positions and velocities alone, and
    have no direct feedthrough. Accelerations, net actuation and reaction forces follow from forces, too: where they are
    sampled (sampling.py), they are zero before the first step and have no direct feedthrough either; otherwise all
    inputs feed through.

    Args:
        model, views, kinematics, geometry: of the plant.
        results: results of the dynamics, sampled or live.
        transmissions: of the plant, with its limits.
        deformables: the deformable bodies.

    Attributes:
        geometry_pose_port: one of the two ports that are there before Finalize(), with that of configurations.
    """

    _state_port: LeafOutputPort
    _body_poses_port: LeafOutputPort
    _body_velocities_port: LeafOutputPort
    _body_accelerations_port: LeafOutputPort
    _acceleration_port: LeafOutputPort
    _net_actuation_port: LeafOutputPort
    _reaction_forces_port: LeafOutputPort
    _instance_state_ports: list[LeafOutputPort]
    _instance_acceleration_ports: list[LeafOutputPort]
    _instance_net_actuation_ports: list[LeafOutputPort]
    _instance_contact_ports: list[LeafOutputPort]
    _contact_forces_entry: CacheEntry
    _contact_results_port: LeafOutputPort
    _frame_mobods: Any
    _moving_frame_ids: list[Any]

    def __init__(
        self,
        model: PlantModel,
        views: StateViews,
        kinematics: PlantKinematics,
        geometry: GeometryRegistration,
        results: Sampling,
        transmissions: PlantTransmissions,
        deformables: DeformableModel,
    ) -> None:
        self._model, self._tree, self._system = model, model.tree, model.system
        self._views, self._kinematics, self._geometry, self._results = views, kinematics, geometry, results
        self._transmissions = transmissions
        self._limit_forces_port: LeafOutputPort[Array] | None = None
        self.geometry_pose_port = self._system.DeclareAbstractOutputPort(
            "geometry_pose", _allocate_geometry_poses, self._calc_geometry_pose, {self._system.configuration_ticket()}
        )
        geometry.pose_port = self.geometry_pose_port
        self._configuration_port = self._system.DeclareAbstractOutputPort(
            "deformable_body_configuration", lambda: Value(GeometryConfigurationVector()),
            deformables.calc_configurations, {self._system.xd_ticket()},
        )  # fmt: skip

    def declare(self) -> None:
        """Declares the ports whose sizes are known once the plant is finalized."""
        tree, plant = self._tree, cast("MultibodyPlant", self._system)
        num_states = tree.num_positions() + tree.num_velocities()
        system = self._system
        state = {system.xd_ticket()} if self._model.is_discrete else {system.q_ticket(), system.v_ticket()}
        position = {system.cache_entry_ticket(self._views.position_entry)}
        velocity = {system.cache_entry_ticket(self._views.velocity_entry)}
        self._state_port = self._system.DeclareVectorOutputPort("state", num_states, self._calc_state, state)
        x = DiscreteStateOf(0) if self._model.is_discrete else CONTINUOUS_STATE
        self._state_port.cache_entry().use_native(NativeCode("copy", (num_states, x, OUTPUT)))
        self._body_poses_port = self._system.DeclareAbstractOutputPort(
            "body_poses", self._allocate_body_poses, self._calc_body_poses, position
        )
        self._body_velocities_port = self._system.DeclareAbstractOutputPort(
            "body_spatial_velocities", self._allocate_body_velocities, self._calc_body_velocities, velocity
        )
        self._activations_port: LeafOutputPort[Array] | None = None
        if tree.num_activations():
            of = state if self._model.is_discrete else {system.z_ticket()}
            self._activations_port = system.DeclareVectorOutputPort(
                "activations", tree.num_activations(), self._calc_activations, of
            )
        self._declare_dynamics_ports()
        self._contact_results_port = self._system.DeclareAbstractOutputPort(
            "contact_results", lambda: Value(ContactResults(plant)), self._calc_contact_results,
            {self._results.sample_entry.ticket(), self._results.contacts_entry.ticket()},
        )  # fmt: skip
        for port in (
            self._body_poses_port, self._body_velocities_port, self._body_accelerations_port,
            self._reaction_forces_port,
        ):  # fmt: skip
            port.cache_entry().makes_room_late = True
        self._instance_state_ports = []
        self._instance_acceleration_ports = []
        self._instance_net_actuation_ports = []
        self._instance_contact_ports = []
        for index in range(tree.num_model_instances()):
            indices = np.concatenate(
                [tree.position_indices(index), tree.num_positions() + tree.velocity_indices(index)]
            )
            name = tree.GetModelInstanceName(ModelInstanceIndex(index))
            self._instance_state_ports.append(
                self._system.DeclareVectorOutputPort(
                    f"{name}_state", len(indices), functools.partial(self._calc_instance_state, indices), state
                )
            )
            self._instance_state_ports[-1].cache_entry().use_native(NativePart(x, indices))
            self._declare_instance_dynamics_ports(index, name)
        moving = [(index, frame) for index, frame in self._geometry.frame_ids.items() if index != 0]
        self._frame_mobods = np.array([tree.mobod_of_body[index] for index, _ in moving], np.int64)
        self._moving_frame_ids = [frame for _, frame in moving]

    def _declare_dynamics_ports(self) -> None:
        tree, plant, dynamics = self._tree, cast("MultibodyPlant", self._system), self._results.dynamics
        bodies = {self._results.body_dynamics_entry.ticket()}
        of_forces = {self._results.sample_entry.ticket()}
        if not self._model.is_discrete:  # from which the operations take what they give
            of_forces.add(self._system.xcdot_ticket())
        self._body_accelerations_port = self._system.DeclareAbstractOutputPort(
            "body_spatial_accelerations", self._allocate_body_accelerations, self._calc_body_accelerations, bodies
        )
        self._acceleration_port = self._system.DeclareVectorOutputPort(
            "generalized_acceleration", tree.num_velocities(), self._calc_acceleration, of_forces
        )
        self._acceleration_port.cache_entry().use_native(NativeAcceleration(plant, dynamics))
        self._net_actuation_port = self._system.DeclareVectorOutputPort(
            "net_actuation", tree.num_actuated_dofs(), self._calc_net_actuation, of_forces
        )
        self._net_actuation_port.cache_entry().use_native(NativeNetActuation(plant, dynamics))
        self._contact_forces_entry = self._system._sys_declare_entry(
            "generalized contact forces", BasicVector(tree.num_velocities()), self._calc_contact_forces,
            {self._results.contacts_entry.ticket()},
        )  # fmt: skip
        self._contact_forces_entry.use_native(NativeContactForces(plant, dynamics))
        self._reaction_forces_port = self._system.DeclareAbstractOutputPort(
            "reaction_forces", self._allocate_reaction_forces, self._calc_reaction_forces, bodies
        )

    def _declare_instance_dynamics_ports(self, index: int, name: str) -> None:
        velocities, inputs = self._tree.velocity_indices(index), self._tree.input_indices(index)
        acceleration, net_actuation = self._acceleration_port.cache_entry(), self._net_actuation_port.cache_entry()
        for ports, what, whole, indices in (
            (self._instance_acceleration_ports, "generalized_acceleration", acceleration, velocities),
            (self._instance_contact_ports, "generalized_contact_forces", self._contact_forces_entry, velocities),
            (self._instance_net_actuation_ports, "net_actuation", net_actuation, inputs),
        ):
            calc = functools.partial(_calc_part, whole.cache_index(), indices)
            port = self._system.DeclareVectorOutputPort(f"{name}_{what}", len(indices), calc, {whole.ticket()})
            port.cache_entry().use_native(NativePart(whole, indices))
            ports.append(port)

    # ------------------------------------------------------------------ ports

    def get_state_output_port(self, model_instance: int | None = None) -> LeafOutputPort[Array]:
        """Returns the port with [q; v], of the whole plant or of one model instance."""
        self._model.require_finalized("get_state_output_port()")
        if model_instance is None:
            return self._state_port
        return self._of_instance(self._instance_state_ports, model_instance)

    def get_activations_output_port(self) -> LeafOutputPort[Array]:
        """Returns the port with the activations of muscles and other actuators that have one, in their order.

        (pydrake has no such port.)

        Raises:
            RuntimeError: before Finalize(), or no actuator has an activation.
        """
        self._model.require_finalized("get_activations_output_port()")
        if self._activations_port is None:
            raise RuntimeError("get_activations_output_port(): no actuator of the plant has an activation.")
        return self._activations_port

    def get_body_poses_output_port(self) -> LeafOutputPort[list[RigidTransform]]:
        """Returns the port with a list of the poses X_WB of all bodies, by BodyIndex."""
        self._model.require_finalized("get_body_poses_output_port()")
        return self._body_poses_port

    def get_body_spatial_velocities_output_port(self) -> LeafOutputPort[list[SpatialVelocity]]:
        """Returns the port with a list of the spatial velocities V_WB_W of all bodies, by BodyIndex."""
        self._model.require_finalized("get_body_spatial_velocities_output_port()")
        return self._body_velocities_port

    def get_body_spatial_accelerations_output_port(self) -> LeafOutputPort[list[SpatialAcceleration]]:
        """Returns the port with a list of the spatial accelerations A_WB_W of all bodies, by BodyIndex."""
        self._model.require_finalized("get_body_spatial_accelerations_output_port()")
        return self._body_accelerations_port

    def get_generalized_acceleration_output_port(self, model_instance: int | None = None) -> LeafOutputPort[Array]:
        """Returns the port with vdot, of the whole plant or of one model instance."""
        self._model.require_finalized("get_generalized_acceleration_output_port()")
        if model_instance is None:
            return self._acceleration_port
        return self._of_instance(self._instance_acceleration_ports, model_instance)

    def get_net_actuation_output_port(self, model_instance: int | None = None) -> LeafOutputPort[Array]:
        """Returns the port with what actuators exert, of the whole plant or of one model instance.

        That is actuation and PD control, within the effort limits. Controllers of locked joints do not contribute.
        """
        self._model.require_finalized("get_net_actuation_output_port()")
        if model_instance is None:
            return self._net_actuation_port
        return self._of_instance(self._instance_net_actuation_ports, model_instance)

    def get_reaction_forces_output_port(self) -> LeafOutputPort[list[SpatialForce]]:
        """Returns the port with a list of the joints' reaction forces F_CJc_Jc, by JointIndex.

        Each is the spatial force that the joint exerts, with its actuators, damping and springs on its coordinates, on
        its child body C at the origin of the frame Jc that it has there, expressed in Jc.
        """
        self._model.require_finalized("get_reaction_forces_output_port()")
        return self._reaction_forces_port

    def get_limit_forces_output_port(self) -> LeafOutputPort[Array]:
        """Returns the port with the forces of limits: tau of those of joints, behind it f of those of transmissions.

        They are positive where limits push towards greater q or length, as steps have found them, or as springs of
        continuous plants exert them [N m or N], shape [num_velocities + num_transmissions]. (pydrake has no such port:
        it is declared, as the last one, when it is first asked for; Contexts that are older cannot evaluate it.)

        Raises:
            RuntimeError: before Finalize(), or nothing has limits that the plant keeps.
        """
        self._model.require_finalized("get_limit_forces_output_port()")
        if self._limit_forces_port is None:
            records = self._tree.transmission_records
            if not (len(self._model.contact.limits) or np.isfinite([records["lower"], records["upper"]]).any()):
                raise RuntimeError("get_limit_forces_output_port(): no joint or transmission of the plant has limits.")
            self._limit_forces_port = self._system.DeclareVectorOutputPort(
                "limit_forces", self._tree.num_velocities() + len(records), self._calc_limit_forces,
                {self._results.sample_entry.ticket()},
            )  # fmt: skip
        return self._limit_forces_port

    def take_over(self, others: OutputPorts) -> None:
        """Declares what another plant has been asked for."""
        if others._limit_forces_port is not None:
            self.get_limit_forces_output_port()

    def get_contact_results_output_port(self) -> LeafOutputPort[ContactResults]:
        """Returns the port with the ContactResults."""
        self._model.require_finalized("get_contact_results_output_port()")
        return self._contact_results_port

    def get_generalized_contact_forces_output_port(self, model_instance: int) -> LeafOutputPort[Array]:
        """Returns the port with the generalized forces of all contacts on a model instance, in the order of its v."""
        self._model.require_finalized("get_generalized_contact_forces_output_port()")
        return self._of_instance(self._instance_contact_ports, model_instance)

    def get_geometry_pose_output_port(self) -> LeafOutputPort[FramePoseVector]:
        """Returns the port with the poses of the frames that the plant has in the SceneGraph."""
        return self.geometry_pose_port

    def get_deformable_body_configuration_output_port(self) -> LeafOutputPort[GeometryConfigurationVector]:
        """Returns the port with where the vertices of all deformable bodies are, by their geometries."""
        return self._configuration_port

    def _of_instance(self, ports: list[LeafOutputPort], model_instance: int) -> LeafOutputPort:
        self._tree.GetModelInstanceName(ModelInstanceIndex(model_instance))  # refuses one that does not exist
        return ports[model_instance]

    # ------------------------------------------------------------------ calculations

    def _calc_activations(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._views.workspace(context).activations)

    def _calc_state(self, context: Context, output: BasicVector) -> None:
        output.get_mutable_value()[:] = self._views.workspace(context).x

    def _calc_instance_state(self, indices: Any, context: Context, output: BasicVector) -> None:
        output.get_mutable_value()[:] = self._views.workspace(context).x[indices]

    def _calc_acceleration(self, context: Context, output: BasicVector) -> None:
        output.get_mutable_value()[:] = self._results.eval_vdot(context)

    def _calc_net_actuation(self, context: Context, output: BasicVector) -> None:
        u, middles = self._results.eval_net_actuation(context), self._results.dynamics.inputs.effort_middles()
        output.get_mutable_value()[:] = u + middles if middles.any() else u

    def _calc_limit_forces(self, context: Context, output: BasicVector) -> None:
        sample = self._results.eval_sample(context)
        forces = 0.0 if sample is None else self._transmissions.calc_limit_forces(context, sample)
        output.get_mutable_value()[:] = forces

    def _calc_contact_results(self, context: Context, output: AbstractValue) -> None:
        plant = cast("MultibodyPlant", self._system)
        output.set_value(ContactResults(plant, self._results.eval_contacts(context)))

    def _calc_contact_forces(self, context: Context, output: BasicVector) -> None:
        contacts = self._results.eval_contacts(context)
        output.get_mutable_value()[:] = 0.0 if contacts is None else contacts.tau

    def _allocate_body_accelerations(self) -> Value:
        return Value([SpatialAcceleration.Zero() for _ in range(self._tree.num_bodies())])

    def _calc_body_accelerations(self, context: Context, output: AbstractValue) -> None:
        bodies = self._results.eval_body_dynamics(context)
        if bodies is None:
            output.SetFrom(self._allocate_body_accelerations())
        else:
            A_WB_W = bodies.A_WB_W[self._tree.mobod_of_body]
            output.set_value(list(map(SpatialAcceleration._from_coeffs, A_WB_W)))

    def _allocate_reaction_forces(self) -> Value:
        return Value([SpatialForce.Zero() for _ in self._tree.joints])

    def _calc_reaction_forces(self, context: Context, output: AbstractValue) -> None:
        bodies = self._results.eval_body_dynamics(context)
        if bodies is None:
            output.SetFrom(self._allocate_reaction_forces())
        else:
            output.set_value(list(map(SpatialForce._from_coeffs, self._results.reaction_forces_of(context, bodies))))

    def _allocate_body_poses(self) -> Value:
        return Value([RigidTransform()] * self._tree.num_bodies())

    def _allocate_body_velocities(self) -> Value:
        return Value([SpatialVelocity.Zero() for _ in range(self._tree.num_bodies())])

    def _calc_body_poses(self, context: Context, output: AbstractValue) -> None:
        position, mobods = self._kinematics.eval_poses(context).position, self._tree.mobod_of_body
        R_WB, p_WoBo_W = position["R_WB"][mobods], position["p_WoBo_W"][mobods]
        output.set_value(list(map(rigid_transform, R_WB, p_WoBo_W)))

    def _calc_body_velocities(self, context: Context, output: AbstractValue) -> None:
        V_WB_W = self._kinematics.eval_velocity(context).velocity["V_WB_W"][self._tree.mobod_of_body]
        output.set_value(list(map(SpatialVelocity._from_coeffs, V_WB_W)))

    def _calc_geometry_pose(self, context: Context, output: AbstractValue) -> None:
        w = self._kinematics.eval_poses(context)  # which refuses a plant that is not finalized
        poses: FramePoseVector = output.get_mutable_value()
        if w.is_float:
            buffers, write = w.frame_poses
            if buffers is None or poses.poses() is not buffers:
                write = self._bind_frame_poses(w, poses)
            write()
            return
        position = w.position[self._frame_mobods]
        shape = (len(position), 4, 4)
        R_WB, p_WoBo_W = position["R_WB"], position["p_WoBo_W"]
        if w.is_numeric:  # geometry is where it is, also in a context of complex numbers
            X_WF, R_WB, p_WoBo_W = np.zeros(shape), R_WB.real, p_WoBo_W.real
        else:
            X_WF = ScalarArray.of(shape, w.scalar)
        X_WF[:, :3, :3] = R_WB
        X_WF[:, :3, 3] = p_WoBo_W
        X_WF[:, 3, 3] = 1.0
        poses.set_poses(self._moving_frame_ids, X_WF)

    def _bind_frame_poses(self, w: Workspace, poses: FramePoseVector) -> Callable[[], Any]:
        """Makes the function that writes the poses of all frames into the vector."""
        identities = np.tile(np.eye(4), (len(self._frame_mobods), 1, 1))
        poses.set_poses(self._moving_frame_ids, identities)
        write = bind(geometry_poses, np.asarray(self._frame_mobods, np.int64), identities, w.position, poses.poses())
        w.frame_poses = poses.poses(), write
        return write


def _calc_part(whole: int, indices: Any, context: LeafContext, output: BasicVector) -> None:
    """The elements of a model instance in a vector of the whole plant, by the number of its cache entry."""
    vector: Any = context.read_entry(whole)
    output.get_mutable_value()[:] = vector.value()[indices]


def _allocate_geometry_poses() -> Value:
    return Value(FramePoseVector())
