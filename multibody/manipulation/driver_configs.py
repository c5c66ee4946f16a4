"""Drivers of models in a simulation, from their settings: ApplyDriverConfig and ApplyDriverConfigs.

make_arm_controller_model() makes an arm as its controller knows it, with the masses of all that is fastened to it.
The model is read again from the arm's file, and welded to the world as in the simulation. What is fastened to a link
counts as one rigid body, whatever joints it has, as it is by default. With the hand's frame C, and a link L,

    M_BCo_C = sum of M_SCo_C over the bodies S of the hand, and those that welds connect with C           (1)
    M_BLo_L = sum of M_SLo_L over the other bodies S that welds connect with L, and which are not the arm's   (2)
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework import DiagramBuilder
from merganser.framework.common.errors import nearest_names
from merganser.framework.common.records import settings
from merganser.framework.core.values.arguments import require_types
from merganser.framework.lcm import LcmBuses
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import ConstantVectorSource, SharedPointerSystem
from merganser.multibody.manipulation.iiwa import IiwaDriver
from merganser.multibody.manipulation.iiwa_control import BuildIiwaControl
from merganser.multibody.manipulation.schunk_wsg_controller import BuildSchunkWsgControl
from merganser.multibody.manipulation.schunk_wsg_messages import SchunkWsgDriver
from merganser.multibody.parsing import ModelInstanceInfo, Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import BodyIndex, Frame


@settings
@dataclasses.dataclass(kw_only=True, eq=False)
class ZeroForceDriver:
    """Settings of a driver that does nothing: no force at any actuator."""


def ApplyDriverConfig(
    driver_config: Any,
    model_instance_name: str,
    sim_plant: MultibodyPlant,
    models_from_directives: Mapping[str, ModelInstanceInfo],
    lcms: LcmBuses,
    builder: DiagramBuilder,
) -> None:
    """Adds to a diagram what drives a model, and connects it.

    Args:
        driver_config: its settings: an IiwaDriver, see `BuildIiwaControl`; a SchunkWsgDriver, see
            `BuildSchunkWsgControl`; or a ZeroForceDriver.
        model_instance_name: of the model.
        sim_plant: that has the model, finalized.
        models_from_directives: what directives have added, by name: of an IiwaDriver, the arm, whose model its
            controller reads again, and the hand.
        lcms: buses for messages.
        builder: of the diagram, which has the plant.

    Raises:
        TypeError: these are settings of no driver, or an argument is of another type.
        RuntimeError: the plant has no such model, or is not finalized; directives have not added the arm or its hand,
            or not welded them; there is no such bus; or as of the functions above.
    """
    require_types(
        "ApplyDriverConfig",
        model_instance_name=(model_instance_name, str),
        sim_plant=(sim_plant, MultibodyPlant),
        models_from_directives=(models_from_directives, Mapping),
        builder=(builder, DiagramBuilder),
    )
    if isinstance(driver_config, IiwaDriver):
        _apply_iiwa_driver(driver_config, model_instance_name, sim_plant, models_from_directives, lcms, builder)
    elif isinstance(driver_config, SchunkWsgDriver):
        lcm = _bus_of(driver_config, model_instance_name, lcms)
        instance = sim_plant.GetModelInstanceByName(model_instance_name)
        BuildSchunkWsgControl(sim_plant, instance, lcm, builder, driver_config.pid_gains)
    elif isinstance(driver_config, ZeroForceDriver):
        instance = sim_plant.GetModelInstanceByName(model_instance_name)
        port = sim_plant.get_actuation_input_port(instance)
        source = ConstantVectorSource(np.zeros(port.size()))
        builder.AddNamedSystem(f"zero_force_source_for_{model_instance_name}", source)
        builder.Connect(source.get_output_port(), port)
    else:
        raise TypeError(f"ApplyDriverConfig: expected a driver's settings, got {type(driver_config).__name__}.")


def ApplyDriverConfigs(
    *,
    driver_configs: Mapping[str, Any],
    sim_plant: MultibodyPlant,
    models_from_directives: Sequence[ModelInstanceInfo],
    lcm_buses: LcmBuses,
    builder: DiagramBuilder,
) -> None:
    """Adds to a diagram what drives some models: calls `ApplyDriverConfig` of the module that defines each driver.

    So a program may have drivers of its own: a class of settings, and beside it a function of that name.

    Args:
        driver_configs: settings, by names of models.
        sim_plant: that has the models.
        models_from_directives: what directives have added, such as the result of `ProcessModelDirectives`.
        lcm_buses: buses for messages.
        builder: of the diagram.

    Raises:
        RuntimeError: the module of a driver has no function ApplyDriverConfig.
    """
    require_types("ApplyDriverConfigs", driver_configs=(driver_configs, Mapping))
    for info in models_from_directives:
        require_types("ApplyDriverConfigs: models_from_directives", each=(info, ModelInstanceInfo))
    models = {info.model_name: info for info in models_from_directives}
    functions = {name: _function_of(config, name) for name, config in driver_configs.items()}
    for name, config in driver_configs.items():
        functions[name](config, name, sim_plant, models, lcm_buses, builder)


def _apply_iiwa_driver(
    config: IiwaDriver,
    name: str,
    sim_plant: MultibodyPlant,
    models: Mapping[str, ModelInstanceInfo],
    lcms: LcmBuses,
    builder: DiagramBuilder,
) -> None:
    arm = _model_of(models, name, "arm")
    hand = _model_of(models, config.hand_model_name, "hand") if config.hand_model_name else None
    if config.arm_child_frame_name is not None:
        arm = dataclasses.replace(arm, child_frame_name=config.arm_child_frame_name)
    if hand is not None and config.gripper_parent_frame_name is not None:
        hand = dataclasses.replace(hand, parent_frame_name=config.gripper_parent_frame_name)
    lcm = _bus_of(config, name, lcms)
    controller_plant = make_arm_controller_model(sim_plant, arm, hand)
    instance = sim_plant.GetModelInstanceByName(name)
    BuildIiwaControl(builder, lcm, sim_plant, instance, config, controller_plant)
    builder.AddNamedSystem(f"{name}_controller_plant", SharedPointerSystem(controller_plant))


def _model_of(models: Mapping[str, ModelInstanceInfo], name: str, what: str) -> ModelInstanceInfo:
    """The directives about a model.

    Raises:
        RuntimeError: they have not added it.
    """
    if name not in models:
        raise RuntimeError(
            f"ApplyDriverConfig: IiwaDriver could not find {what} model directive '{name}' to actuate. "
            f"{nearest_names(name, models)}"
        )
    return models[name]


def _bus_of(config: IiwaDriver | SchunkWsgDriver, name: str, lcms: LcmBuses) -> Any:
    """The bus of a driver.

    Raises:
        TypeError: there are no buses.
        RuntimeError: no bus has this name.
    """
    if not isinstance(lcms, LcmBuses):
        raise TypeError(
            f"ApplyDriverConfig: the {type(config).__name__} of model '{name}' needs LcmBuses, as ApplyLcmBusConfig() "
            f"returns them; given {type(lcms).__name__}."
        )
    return lcms.Find(f"Driver for {name}", config.lcm_bus)


def _function_of(config: Any, model: str) -> Any:
    module = type(config).__module__
    if module.startswith(f"{__package__}."):
        return ApplyDriverConfig
    function = getattr(sys.modules[module], "ApplyDriverConfig", None)
    if function is None:
        raise RuntimeError(
            f"ApplyDriverConfigs: module '{module}' has no function ApplyDriverConfig for the "
            f"{type(config).__name__} of model '{model}'."
        )
    return function


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


def ApplyNamedPositionsAsDefaults(input: Mapping[str, Mapping[str, ArrayLike]], plant: MultibodyPlant) -> None:
    """Sets default positions of joints; those that are not mentioned stay as they are.

    Args:
        input: positions of each joint [rad, m], shape [num_positions], by names of model instances, then of joints.
        plant: that has the joints, finalized.

    Raises:
        TypeError: an argument is of another type.
        RuntimeError: there is no such model instance or joint, or a joint has another number of positions; then nothing
            is changed.
    """
    where = "ApplyNamedPositionsAsDefaults"
    require_types(where, input=(input, Mapping), plant=(plant, MultibodyPlant))
    found = []
    for instance_name, joints in input.items():
        require_types(f"{where}: input", **{str(instance_name): (joints, Mapping)})
        instance = plant.GetModelInstanceByName(instance_name)
        for joint_name, positions in joints.items():
            joint, q = plant.GetJointByName(joint_name, instance), np.array(positions, float).ravel()
            if q.size != joint.num_positions():
                raise RuntimeError(
                    f"{where}: joint '{instance_name}::{joint_name}' has "
                    f"{joint.num_positions()} positions; got {q.size}."
                )
            found.append((joint, q))
    for joint, q in found:
        joint.set_default_positions(q)
