"""MultibodyPositionToGeometryPose: where the geometry of a plant is, at positions that come from elsewhere."""

from __future__ import annotations

from typing import Any

from merganser.framework import Context, LeafSystem, Value
from merganser.geometry import FramePoseVector
from merganser.multibody.plant.multibody_plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import ScratchPlant

__all__ = ["MultibodyPositionToGeometryPose"]


class MultibodyPositionToGeometryPose(LeafSystem):
    """Gives a SceneGraph the poses of a plant that is not simulated, to show or to query it.

    The output `geometry_pose` is what the plant's port of that name gives at the positions of the input `position`. It
    goes to the port of the plant's source: scene_graph.get_source_pose_port(plant.get_source_id()).

    Args:
        plant: finalized, and registered with the SceneGraph; it is shared, not copied.
        input_multibody_state: whether the input has the velocities too, which are not used, as states of plants do.

    Raises:
        RuntimeError: the plant is not finalized, or not registered.
    """

    def __init__(self, plant: MultibodyPlant, input_multibody_state: bool = False) -> None:
        super().__init__()
        self._scratch = ScratchPlant(self, plant, None)
        if not plant.geometry_source_is_registered():
            raise RuntimeError(
                f"MultibodyPositionToGeometryPose: plant '{plant.GetSystemPathname()}' is not registered with a "
                "SceneGraph. Make it with AddMultibodyPlantSceneGraph(), or call RegisterAsSourceForSceneGraph()."
            )
        self._num_positions = plant.num_positions()
        size = plant.num_multibody_states() if input_multibody_state else self._num_positions
        position = self.DeclareVectorInputPort("position", size)
        self.DeclareAbstractOutputPort(
            "geometry_pose", lambda: Value(FramePoseVector()), self._calc_poses, {position.ticket()}
        )

    def _calc_poses(self, context: Context, output: Any) -> None:
        q = self.get_input_port(0).Eval(context)[: self._num_positions]
        plant_context = self._scratch.at_positions(context, q)
        output.SetFrom(self._scratch.plant.get_geometry_pose_output_port().EvalAbstract(plant_context))
