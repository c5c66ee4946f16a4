"""Drivers of models in a simulation, from their settings: ApplyDriverConfig and ApplyDriverConfigs."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from merganser.framework import DiagramBuilder
from merganser.framework.core.records import settings
from merganser.framework.primitives import ConstantVectorSource
from merganser.multibody.manipulation.iiwa import IiwaDriver
from merganser.multibody.manipulation.schunk_wsg import SchunkWsgDriver
from merganser.multibody.parsing import ModelInstanceInfo
from merganser.multibody.plant import MultibodyPlant

__all__ = ["ApplyDriverConfig", "ApplyDriverConfigs", "ZeroForceDriver"]

_INSTEAD = {
    IiwaDriver: "SimIiwaDriver.AddToBuilder(), which has the commands and the status as ports",
    SchunkWsgDriver: "SchunkWsgPositionController, which has the commands and the status as ports",
}


@settings
@dataclasses.dataclass(kw_only=True, eq=False)
class ZeroForceDriver:
    """Settings of a driver that does nothing: no force at any actuator."""


def ApplyDriverConfig(
    driver_config: Any,
    model_instance_name: str,
    sim_plant: MultibodyPlant,
    models_from_directives: Mapping[str, ModelInstanceInfo],
    lcms: Any,
    builder: DiagramBuilder,
) -> None:
    """Adds to a diagram what drives a model, and connects it.

    Args:
        driver_config: its settings: of this module, a ZeroForceDriver.
        model_instance_name: of the model.
        sim_plant: that has the model, finalized.
        models_from_directives: what directives have added, by name.
        lcms: buses for messages.
        builder: of the diagram.

    Raises:
        NotImplementedError: the driver talks by LCM messages, as an IiwaDriver or a SchunkWsgDriver does.
        TypeError: these are settings of no driver.
        RuntimeError: the plant has no such model, or is not finalized.
    """
    if type(driver_config) in _INSTEAD:
        name = type(driver_config).__name__
        raise NotImplementedError(
            f"ApplyDriverConfig: the {name} of model '{model_instance_name}' talks by LCM messages, which merganser "
            f"does not have. Use {_INSTEAD[type(driver_config)]}."
        )
    if not isinstance(driver_config, ZeroForceDriver):
        raise TypeError(f"ApplyDriverConfig: expected a driver's settings, got {type(driver_config).__name__}.")
    instance = sim_plant.GetModelInstanceByName(model_instance_name)
    port = sim_plant.get_actuation_input_port(instance)
    source = ConstantVectorSource(np.zeros(port.size()))
    builder.AddNamedSystem(f"zero_force_source_for_{model_instance_name}", source)
    builder.Connect(source.get_output_port(), port)


def ApplyDriverConfigs(
    *,
    driver_configs: Mapping[str, Any],
    sim_plant: MultibodyPlant,
    models_from_directives: Sequence[ModelInstanceInfo],
    lcm_buses: Any,
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
    models = {info.model_name: info for info in models_from_directives}
    functions = {name: _function_of(config, name) for name, config in driver_configs.items()}
    for name, config in driver_configs.items():
        functions[name](config, name, sim_plant, models, lcm_buses, builder)


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
