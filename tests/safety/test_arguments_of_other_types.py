"""Functions that put blocks together, given something else in the place of each argument: a TypeError names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.lcm import ApplyLcmBusConfig, DrakeLcm, DrakeLcmParams, LcmBuses
from merganser.framework.lcm.lcm_systems import LcmScopeSystem
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import ConstantVectorSource
from merganser.multibody.inverse_kinematics import (
    DifferentialInverseKinematicsParameters,
    DoDifferentialInverseKinematics,
)
from merganser.multibody.manipulation import (
    ApplyDriverConfig,
    ApplyDriverConfigs,
    ApplyNamedPositionsAsDefaults,
    BuildIiwaControl,
    BuildSchunkWsgControl,
    IiwaDriver,
    SimIiwaDriver,
    ZeroForceDriver,
)
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.sensors import Accelerometer, ApplyCameraConfig, CameraConfig, Gyroscope

ARM = str(Path(__file__).parents[2] / "examples" / "models" / "arm7.urdf")


def arguments() -> dict[str, Any]:
    """Valid values, by names of arguments."""
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.01)
    (instance,) = Parser(plant).AddModels(ARM)
    plant.Finalize()
    buses, lcm = LcmBuses(), DrakeLcm("memq://")
    buses.Add("default", lcm)
    source = builder.AddSystem(ConstantVectorSource([1.0]))
    return {
        "builder": builder, "plant": plant, "sim_plant": plant, "robot": plant, "controller_plant": plant,
        "scene_graph": scene_graph, "lcm": lcm, "lcms": buses, "lcm_buses": buses, "signal": source.get_output_port(),
        "channel": "A", "publish_period": 0.1, "model_instance_name": "arm7", "models_from_directives": {},
        "driver_config": IiwaDriver(), "driver_configs": {"arm7": ZeroForceDriver()}, "iiwa_instance": instance,
        "wsg_instance": instance, "input": {"arm7": {"joint_1": [0.1]}}, "config": CameraConfig(),
        "body": plant.GetBodyByName("link_3"), "X_BS": RigidTransform(), "context": plant.CreateDefaultContext(),
        "V_WE_desired": np.ones(6), "frame_E": plant.GetFrameByName("link_7"),
        "parameters": DifferentialInverseKinematicsParameters(7, 7),
    }  # fmt: skip


FUNCTIONS: list[tuple[Callable[..., Any], list[str], list[str]]] = [  # arguments that are replaced, and others
    (LcmScopeSystem.AddToBuilder, ["builder", "lcm"], ["signal", "channel", "publish_period"]),
    (ApplyDriverConfigs, ["driver_configs", "sim_plant", "builder"], ["models_from_directives", "lcm_buses"]),
    (ApplyDriverConfig, ["driver_config", "model_instance_name", "sim_plant", "models_from_directives",
                         "builder"], ["lcms"]),
    (BuildIiwaControl, ["builder", "plant", "driver_config", "controller_plant", "lcm"], ["iiwa_instance"]),
    (BuildSchunkWsgControl, ["builder", "plant"], ["lcm", "wsg_instance"]),
    (SimIiwaDriver.AddToBuilder, ["builder", "plant", "driver_config", "controller_plant"], ["iiwa_instance"]),
    (ApplyNamedPositionsAsDefaults, ["input", "plant"], []),
    (DoDifferentialInverseKinematics, ["robot", "parameters"], ["context", "V_WE_desired", "frame_E"]),
    (Accelerometer, ["body"], ["X_BS"]),
    (Gyroscope, ["body"], ["X_BS"]),
    (ApplyCameraConfig, ["config", "builder", "plant", "scene_graph", "lcm", "lcm_buses"], []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "name", "names"),
    [(function, name, [*names, *others]) for function, names, others in FUNCTIONS for name in names],
)
def test_an_argument_of_another_type_is_named(function: Callable[..., Any], name: str, names: list[str]) -> None:
    given = {each: value for each, value in arguments().items() if each in names}
    if function is ApplyCameraConfig and name == "lcm_buses":
        del given["lcm"]  # which would come first
    given[name] = object()
    with pytest.raises(TypeError, match=r"object") as error:
        function(**given)
    called = ("driver's settings", "MultibodyPlant", "LcmBuses")  # what some are called
    assert name in str(error.value) or any(each in str(error.value) for each in called)


@pytest.mark.parametrize("name", ["lcm_url", "channel_suffix"])
def test_settings_of_messages_are_text(name: str) -> None:
    settings = DrakeLcmParams(**{"lcm_url": "memq://", name: 3})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=f"DrakeLcm: {name} must be of type str; given 3"):
        DrakeLcm(settings)
    builder = DiagramBuilder()
    with pytest.raises(TypeError, match="must be of type str"):
        ApplyLcmBusConfig({"a": settings}, builder)
    with pytest.raises(TypeError, match="lcm_buses must be of type Mapping"):
        ApplyLcmBusConfig(["a"], builder)  # type: ignore[arg-type]
    assert not builder.GetSystems()


@pytest.mark.parametrize("name", ["focal", "background", "X_PB", "X_BC", "X_BD"])
def test_settings_of_cameras_are_named(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"Invalid CameraConfig 'preview_camera': {name} must be a"):
        CameraConfig(**{name: 1.0}).MakeCameras()


def test_models_of_directives_must_be_of_their_type() -> None:
    builder, plant = DiagramBuilder(), MultibodyPlant(0.0)
    with pytest.raises(TypeError, match="models_from_directives: each must be of type ModelInstanceInfo; given 'arm'"):
        ApplyDriverConfigs(
            driver_configs={}, sim_plant=plant, models_from_directives=["arm"], lcm_buses=LcmBuses(),  # type: ignore
            builder=builder,
        )  # fmt: skip
