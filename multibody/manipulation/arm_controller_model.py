"""make_arm_controller_model: an arm as its controller knows it, with the masses of all that is fastened to it.

The model is read again from the arm's file, and welded to the world as in the simulation. What is fastened to a link
counts as one rigid body, whatever joints it has, as it is by default. With the hand's frame C, and a link L,

    M_BCo_C = sum of M_SCo_C over the bodies S of the hand, and those that welds connect with C           (1)
    M_BLo_L = sum of M_SLo_L over the other bodies S that welds connect with L, and which are not the arm's   (2)
"""

from __future__ import annotations

from collections.abc import Iterable

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing import ModelInstanceInfo, Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import BodyIndex, Frame


def make_arm_controller_model(
    sim_plant: MultibodyPlant, arm: ModelInstanceInfo, hand: ModelInstanceInfo | None = None
) -> MultibodyPlant:
    """Returns a continuous plant with one arm, finalized, without geometry.

    Args:
        sim_plant: has the arm and the hand, finalized.
        arm: the arm; welds connect its child frame with the world.
        hand: a hand, whose parent frame is one of the arm; None if whatever welds connect with the arm is all.

    Raises:
        RuntimeError: there is no such frame; the arm is not welded to the world, or it is in its own file already.
        ParsingError: the file of the arm is not there any more, or not as it was.
    """
    if not arm.child_frame_name:
        raise RuntimeError(
            f"The controller of an arm needs the pose of its base: model '{arm.model_name}' must be welded to the "
            "world by an add_weld directive, and not in its own file."
        )
    C = sim_plant.GetFrameByName(arm.child_frame_name, arm.model_instance)
    if not sim_plant.IsAnchored(C.body()):
        raise RuntimeError(
            f"The controller of an arm needs the pose of its base: frame '{C.name()}' of model '{arm.model_name}' "
            "must be welded to the world."
        )
    plant = MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector(sim_plant.gravity_field().gravity_vector())
    (model,) = Parser(plant).AddModels(arm.model_path)
    X_WC = C.CalcPoseInWorld(sim_plant.CreateDefaultContext())
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(C.name(), model), X_WC)
    fastened = _Fastened(sim_plant, arm.model_instance, plant, model)
    if hand is not None:
        fastened.add_hand(hand)
    fastened.add_others()
    plant.Finalize()
    return plant


class _Fastened:
    """Copies bodies fixed to an arm in a simulation into another plant with that arm."""

    def __init__(self, sim_plant: MultibodyPlant, arm: int, plant: MultibodyPlant, model: int) -> None:
        """`arm` is the model instance of the arm in `sim_plant`, `model` that in `plant`."""
        self._sim_plant, self._plant, self._model = sim_plant, plant, model
        self._context = sim_plant.CreateDefaultContext()
        self._arm = arm
        self._done = set(sim_plant.GetBodyIndices(arm))

    def add_hand(self, hand: ModelInstanceInfo) -> None:
        """Equation (1)."""
        if not hand.child_frame_name:
            raise RuntimeError(f"Hand '{hand.model_name}' must be welded to the arm by an add_weld directive.")
        self._sim_plant.GetFrameByName(hand.parent_frame_name, self._arm)  # raises
        C = self._sim_plant.GetFrameByName(hand.child_frame_name, hand.model_instance)
        bodies = {*self._sim_plant.GetBodyIndices(hand.model_instance), *self._welded_to(C)}
        self._add(C.name(), hand.parent_frame_name, C, bodies, hand.X_PC)

    def add_others(self) -> None:
        """Equation (2)."""
        for index in self._sim_plant.GetBodyIndices(self._arm):
            link = self._sim_plant.get_body(index)
            bodies = self._welded_to(link.body_frame()) - self._done
            if bodies and not self._sim_plant.IsAnchored(link):
                self._add(f"_{link.name()}_attached_mass", link.name(), link.body_frame(), bodies, RigidTransform())

    def _welded_to(self, frame: Frame) -> set[BodyIndex]:
        return {body.index() for body in self._sim_plant.GetBodiesWeldedTo(frame.body())}

    def _add(self, name: str, parent: str, C: Frame, bodies: Iterable[BodyIndex], X_PC: RigidTransform) -> None:
        """Adds one body for several, fastened to frame `parent` of the arm."""
        new = set(bodies) - self._done
        self._done |= new
        M_BCo_C = self._sim_plant.CalcSpatialInertia(self._context, C, sorted(new))
        body = self._plant.AddRigidBody(name, self._model, M_BCo_C)
        self._plant.WeldFrames(self._plant.GetFrameByName(parent, self._model), body.body_frame(), X_PC)
