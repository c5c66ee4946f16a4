"""ScratchPlant: a plant that other systems ask for kinematics and dynamics, at states that come from elsewhere.

MultibodyPositionToGeometryPose is one of them.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.framework import AbstractValue, Context, LeafSystem, Value
from merganser.framework.core.declarations.cache import CacheEntry
from merganser.geometry import FramePoseVector
from merganser.multibody.plant.multibody_plant import MultibodyPlant
from merganser.multibody.tree import MultibodyForces

Array = NDArray[Any]


class _ScratchContext(AbstractValue):
    """The box of a context to compute in, of which files need nothing: its state is set before each computation."""

    __slots__ = ()

    def _plain_state(self) -> None:
        return None

    def _set_plain_state(self, state: Any, loading: Any) -> None:
        """There is nothing to restore."""


class ScratchPlant:
    """A plant, and in each Context of another system a context of that plant to compute in.

    So the other system, such as a controller, may be evaluated in several Contexts at a time, in threads too.

    Args:
        owner: the other system; called while it is being made.
        plant: finalized; it is shared, not copied.
        plant_context: its parameters, copied; the default ones if None.

    Raises:
        TypeError: there is no plant.
        RuntimeError: it is not finalized.
        ValueError: the context belongs to another system.
    """

    def __init__(self, owner: LeafSystem, plant: MultibodyPlant, plant_context: Context | None) -> None:
        require_plant(plant, type(owner).__name__)
        self.plant = plant
        if plant_context is not None:
            plant.ValidateContext(plant_context)
        self._parameters = plant.CreateDefaultContext()
        if plant_context is not None:
            self._parameters.SetTimeStateAndParametersFrom(plant_context)
        self._entry: CacheEntry = owner._sys_declare_storage("plant context", self._new_context)

    def _new_context(self) -> AbstractValue:
        return _ScratchContext(self._parameters.Clone())

    def context(self, context: Context) -> Context:
        """The plant's context in a context of the owner."""
        plant_context: Context = self._entry.get_cache_entry_value(context).GetMutableValueOrThrow()
        return plant_context

    def at(self, context: Context, x: Array) -> Context:
        """The plant's context with positions and velocities x, shape [num_multibody_states]."""
        plant_context = self.context(context)
        self.plant.SetPositionsAndVelocities(plant_context, x)
        return plant_context

    def at_positions(self, context: Context, q: Array) -> Context:
        """The plant's context with positions q, shape [num_positions]."""
        plant_context = self.context(context)
        self.plant.SetPositions(plant_context, q)
        return plant_context

    def force_elements(self, plant_context: Context) -> MultibodyForces:
        """The forces of all force elements, gravity and damping included."""
        forces = MultibodyForces(self.plant)
        self.plant.CalcForceElementsContribution(plant_context, forces)
        return forces


def require_plant(plant: Any, name: str) -> None:
    """Raises a TypeError unless there is a plant, and a RuntimeError unless it is finalized."""
    if not isinstance(plant, MultibodyPlant):
        raise TypeError(f"{name}: expected a MultibodyPlant, got {type(plant).__name__}.")
    if not plant.is_finalized():
        raise RuntimeError(f"{name}: plant '{plant.GetSystemPathname()}' is not finalized; call Finalize() first.")


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
