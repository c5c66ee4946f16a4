"""Drivers of models in a simulation, from their settings: ApplyDriverConfig and ApplyDriverConfigs."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from merganser.framework import DiagramBuilder
from merganser.framework.common.errors import nearest_names
from merganser.framework.common.records import settings
from merganser.framework.core.values.arguments import require_types
from merganser.framework.lcm import LcmBuses
from merganser.framework.primitives import ConstantVectorSource, SharedPointerSystem
from merganser.multibody.manipulation.arm_controller_model import make_arm_controller_model
from merganser.multibody.manipulation.iiwa_control import BuildIiwaControl, IiwaDriver
from merganser.multibody.manipulation.schunk_wsg import SchunkWsgDriver
from merganser.multibody.manipulation.schunk_wsg_controller import BuildSchunkWsgControl
from merganser.multibody.parsing import ModelInstanceInfo
from merganser.multibody.plant import MultibodyPlant


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
