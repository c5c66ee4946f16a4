"""Functions of MultibodyPlant: positions and velocities."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.multibody.plant.delegation import from_part
from merganser.multibody.plant.free_bodies import FreeBodies
from merganser.multibody.plant.state import PlantState

__all__ = ["StateFace"]

Array = NDArray[Any]


class StateFace:
    """State of a MultibodyPlant: x = [q; v], continuous or discrete.

    Every `Set...` function checks its arguments, and refuses values that are not finite, before it changes
    anything.

    *Free bodies* are those whose joint towards the world leaves them all six degrees of freedom. A *floating base body*
    is one that Finalize() connected to the world: the frames Jp and Jc of its joint are those of the world and of the
    body.
    """

    _state: PlantState
    _free_bodies: FreeBodies

    # ------------------------------------------------------------------ positions and velocities

    GetPositions = from_part(PlantState.get_positions)
    GetVelocities = from_part(PlantState.get_velocities)
    GetPositionsAndVelocities = from_part(PlantState.get_positions_and_velocities)
    SetPositions = from_part(PlantState.set_positions)
    SetVelocities = from_part(PlantState.set_velocities)
    SetPositionsAndVelocities = from_part(PlantState.set_positions_and_velocities)

    # ------------------------------------------------------------------ parts of arrays

    GetPositionsFromArray = from_part(PlantState.get_positions_from_array)
    GetVelocitiesFromArray = from_part(PlantState.get_velocities_from_array)
    GetActuationFromArray = from_part(PlantState.get_actuation_from_array)
    SetPositionsInArray = from_part(PlantState.set_positions_in_array)
    SetVelocitiesInArray = from_part(PlantState.set_velocities_in_array)
    SetActuationInArray = from_part(PlantState.set_actuation_in_array)

    # ------------------------------------------------------------------ defaults

    SetDefaultState = from_part(PlantState.set_default_state)
    SetDefaultParameters = from_part(PlantState.set_default_parameters)
    SetRandomState = from_part(PlantState.set_random_state)
    GetDefaultPositions = from_part(PlantState.get_default_positions)
    SetDefaultPositions = from_part(PlantState.set_default_positions)

    # ------------------------------------------------------------------ free bodies

    SetFreeBodyPose = from_part(FreeBodies.set_free_body_pose)
    GetFreeBodyPose = from_part(FreeBodies.get_free_body_pose)
    SetFloatingBaseBodyPoseInWorldFrame = from_part(FreeBodies.set_floating_base_body_pose_in_world_frame)
    SetFloatingBaseBodyPoseInAnchoredFrame = from_part(FreeBodies.set_floating_base_body_pose_in_anchored_frame)
    SetFreeBodySpatialVelocity = from_part(FreeBodies.set_free_body_spatial_velocity)
