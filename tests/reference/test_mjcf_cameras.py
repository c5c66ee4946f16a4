"""Cameras of MJCF files that follow bodies or turn towards them are where those of MuJoCo are."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.sensors import AddMjcfCameras, GetMjcfCameraConfigs
from tests.support.mujoco_models import ModelPair

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra `reference`)")

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore::DeprecationWarning:mujoco.*")]

MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
CAMERAS = "".join(
    f'<camera name="{mode}-{{0}}" mode="{mode}" pos="1 -2 {height}" euler="10 -20 30"'
    + (' target="b"/>' if "target" in mode else "/>")
    for mode, height in zip(MODES, (0.1, 0.5, 0.3, 0.7, 2.0))
)
MODEL = f"""<mujoco model="m"><option><flag contact="disable"/></option><worldbody>{CAMERAS.format("w")}
<camera name="above" mode="targetbody" target="world" pos="0 0 3"/><camera name="alone" mode="targetbody" pos="0 0 3"/>
<body name="a" pos="0 0 1" euler="10 20 30"><freejoint/><geom size=".2"/>{CAMERAS.format("a")}
<body name="b" pos="1 0 0"><joint axis="0 1 1" ref="20"/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/>
<body name="c" pos="0 1 0" euler="0 40 0"><joint type="slide" axis="1 0 0"/>{CAMERAS.format("c")}
<geom type="capsule" fromto="0 0 0 .3 .2 .1" size=".1"/></body></body></body></worldbody></mujoco>"""


def test_cameras_are_where_those_of_mujoco_are(caplog):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    parser = Parser(plant)
    (instance,) = parser.AddModelsFromString(MODEL, "xml")
    plant.Finalize()
    sensors = AddMjcfCameras(builder, parser)
    assert not caplog.records
    assert list(GetMjcfCameraConfigs(parser)) == ["fixed-w", "alone", "fixed-a", "fixed-c"]
    context = builder.Build().CreateDefaultContext()
    model = mujoco.MjModel.from_xml_string(MODEL)
    pair = ModelPair(mujoco, model, plant, instance)
    pair.context = plant.GetMyMutableContextFromRoot(context)
    assert len(sensors) == model.ncam
    rng = np.random.default_rng(0)
    for _ in range(4):
        pair.random_state(rng)
        for name, sensor in sensors.items():
            X_WC = sensor.body_pose_in_world_output_port().Eval(sensor.GetMyContextFromRoot(context))
            camera = pair.data.camera(name)
            np.testing.assert_allclose(X_WC.translation(), camera.xpos, atol=1e-9, err_msg=name)
            R_WE = X_WC.rotation().matrix() @ np.diag([1.0, -1.0, -1.0])
            np.testing.assert_allclose(R_WE, camera.xmat.reshape(3, 3), atol=1e-9, err_msg=name)
