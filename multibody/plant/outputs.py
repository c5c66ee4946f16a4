"""Output ports of a plant."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from merganser.framework import LeafOutputPort, Value
from merganser.framework.core.values import AbstractValue, BasicVector
from merganser.framework.math import RigidTransform
from merganser.geometry import FramePoseVector
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant.actuation import PlantInputs
from merganser.multibody.tree import ModelInstanceIndex

__all__ = ["PlantOutputs"]


class PlantOutputs(PlantInputs):
    """Output ports: state, poses and velocities of bodies, poses of geometry frames.

    All of these follow from positions and velocities alone, so none has direct feedthrough.
    """

    _geometry_pose_port: LeafOutputPort
    _state_port: LeafOutputPort
    _body_poses_port: LeafOutputPort
    _body_velocities_port: LeafOutputPort
    _instance_state_ports: list[LeafOutputPort]

    def _declare_geometry_pose_port(self) -> None:
        self._geometry_pose_port = self.DeclareAbstractOutputPort(
            "geometry_pose", _allocate_geometry_poses, self._calc_geometry_pose, {self.configuration_ticket()}
        )

    def _declare_output_ports(self) -> None:
        """Declares the ports whose sizes are known once the plant is finalized."""
        tree = self._tree
        state = {self.xd_ticket()} if self._time_step > 0.0 else {self.q_ticket(), self.v_ticket()}
        position = {self._cache_entries[self._position_entry].ticket()}
        velocity = {self._cache_entries[self._velocity_entry].ticket()}
        self._state_port = self.DeclareVectorOutputPort("state", self.num_multibody_states(), self._calc_state, state)
        self._body_poses_port = self.DeclareAbstractOutputPort(
            "body_poses", self._allocate_body_poses, self._calc_body_poses, position
        )
        self._body_velocities_port = self.DeclareAbstractOutputPort(
            "body_spatial_velocities", self._allocate_body_velocities, self._calc_body_velocities, velocity
        )
        self._instance_state_ports = []
        for index in range(tree.num_model_instances()):
            indices = np.concatenate(
                [tree.position_indices(index), tree.num_positions() + tree.velocity_indices(index)]
            )
            name = tree.GetModelInstanceName(ModelInstanceIndex(index))
            self._instance_state_ports.append(
                self.DeclareVectorOutputPort(
                    f"{name}_state", len(indices), functools.partial(self._calc_instance_state, indices), state
                )
            )

    # ------------------------------------------------------------------ ports

    def get_state_output_port(self, model_instance: int | None = None) -> LeafOutputPort:
        """Returns the port with [q; v], of the whole plant or of one model instance."""
        self._require_finalized("get_state_output_port()")
        if model_instance is None:
            return self._state_port
        return self._of_instance(self._instance_state_ports, model_instance)

    def get_body_poses_output_port(self) -> LeafOutputPort:
        """Returns the port with a list of the poses X_WB of all bodies, by BodyIndex."""
        self._require_finalized("get_body_poses_output_port()")
        return self._body_poses_port

    def get_body_spatial_velocities_output_port(self) -> LeafOutputPort:
        """Returns the port with a list of the spatial velocities V_WB_W of all bodies, by BodyIndex."""
        self._require_finalized("get_body_spatial_velocities_output_port()")
        return self._body_velocities_port

    def get_geometry_pose_output_port(self) -> LeafOutputPort:
        """Returns the port with the poses of the frames that the plant has in the SceneGraph."""
        return self._geometry_pose_port

    # ------------------------------------------------------------------ calculations

    def _calc_state(self, context: Any, output: BasicVector) -> None:
        output._values[:] = self._workspace(context).x

    def _calc_instance_state(self, indices: Any, context: Any, output: BasicVector) -> None:
        output._values[:] = self._workspace(context).x[indices]

    def _allocate_body_poses(self) -> Value:
        return Value([RigidTransform()] * self._tree.num_bodies())

    def _allocate_body_velocities(self) -> Value:
        return Value([SpatialVelocity.Zero() for _ in range(self._tree.num_bodies())])

    def _calc_body_poses(self, context: Any, output: AbstractValue) -> None:
        position = self._eval_position(context).position[self._tree.mobod_of_body]
        R_WB, p_WoBo_W = position["R_WB"].copy(), position["p_WoBo_W"].copy()
        output.set_value([RigidTransform._from_parts(R, p) for R, p in zip(R_WB, p_WoBo_W)])

    def _calc_body_velocities(self, context: Any, output: AbstractValue) -> None:
        velocity = self._eval_velocity(context).velocity[self._tree.mobod_of_body]
        output.set_value([SpatialVelocity(V_WB_W) for V_WB_W in velocity["V_WB_W"].copy()])

    def _calc_geometry_pose(self, context: Any, output: AbstractValue) -> None:
        self._require_finalized("the geometry_pose port")
        position = self._eval_position(context).position[self._frame_mobods]
        X_WF = np.zeros((len(position), 4, 4))
        X_WF[:, :3, :3] = position["R_WB"].real  # geometry is where it is, also in a context for derivatives
        X_WF[:, :3, 3] = position["p_WoBo_W"].real
        X_WF[:, 3, 3] = 1.0
        output.get_mutable_value().set_poses(self._moving_frame_ids, X_WF)

    _frame_mobods: Any
    _moving_frame_ids: list[Any]


def _allocate_geometry_poses() -> Value:
    return Value(FramePoseVector())
