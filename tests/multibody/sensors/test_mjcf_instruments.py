"""Sensors and cameras of MJCF files in diagrams."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.sensors import AddMjcfCameras, AddMjcfSensors, GetMjcfCameraConfigs, MjcfSensors

SCENE = """<mujoco model="m"><worldbody><geom type="plane" size="1 1 1"/><camera name="top" pos="0 0 3" fovy="60"/>
<camera pos="0 -2 .1" xyaxes="1 0 0 0 0 1" resolution="80 40" sensorsize=".08 .04" focal=".05 .06"/>
<camera mode="trackcom" name="follows"/><camera orthographic="true" name="flat"/>
<body name="a" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" rgba="1 0 0 1"/><site name="sole" type="box"
size=".2 .2 .05" pos="0 0 -.1"/><site name="top" type="sphere" size=".05" pos="0 0 .1"/></body></worldbody>
<sensor><touch name="sole" site="sole"/><touch site="top"/><accelerometer name="a" site="top"/><rangefinder site="top"/>
<touch name="weak" site="sole" cutoff="1"/><rangefinder camera="top"/></sensor></mujoco>"""


def make(text: str = SCENE, time_step: float = 0.01):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    parser = Parser(plant)
    (instance,) = parser.AddModelsFromString(text, "xml")
    plant.Finalize()
    return builder, plant, parser, instance


def test_touch_sensors_measure_weights_and_accelerometers_gravity():
    builder, plant, parser, instance = make()
    sensors = AddMjcfSensors(builder, parser, instance)
    assert sensors.get_name() == "m_sensors"
    assert sensors.sensor_names() == ["sole", "touch1", "a", "rangefinder3", "weak"]
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    context = sensors.GetMyContextFromRoot(simulator.get_context())
    weight = 9.81 * plant.CalcTotalMass(plant.GetMyContextFromRoot(simulator.get_context()))
    found = sensors.EvalSensors(context)
    np.testing.assert_allclose(found, [weight, 0.0, 0.0, 0.0, 9.81, -1.0, 1.0], rtol=1e-3, atol=1e-3)


def test_an_unknown_sensor_is_an_error_with_a_hint():
    builder, _, parser, _ = make()
    with pytest.raises(RuntimeError, match=r"There is no sensor 'sola'. Did you mean 'sole'"):
        AddMjcfSensors(builder, parser).get_sensor_output_port("sola")


def test_what_is_left_out_is_reported_with_its_reason(caplog):
    make()
    for text in (
        "<rangefinder> of a camera, or with other data than distances, is left out: take a depth image",
        "<camera> with an orthographic projection is left out",
        "<camera> has the name of another frame: a number is added to its own",
    ):
        assert text in caplog.text


def test_cameras_are_frames_and_records_of_their_names():
    _, plant, parser, _ = make()
    top, front = GetMjcfCameraConfigs(parser).values()
    assert (top.name, top.width, top.height, top.focal.y) == ("top", 640, 480, 60.0)
    assert (front.name, front.width, front.height) == ("camera1", 80, 40)
    assert (front.focal.x, front.focal.y) == (50.0, 60.0)
    X_WC = plant.GetFrameByName("camera1").CalcPoseInWorld(plant.CreateDefaultContext())
    np.testing.assert_allclose(X_WC.translation(), [0.0, -2.0, 0.1])
    np.testing.assert_allclose(X_WC.rotation().matrix() @ [0, 0, 1], [0, 1, 0], atol=1e-15)  # forward
    np.testing.assert_allclose(X_WC.rotation().matrix() @ [0, 1, 0], [0, 0, -1], atol=1e-15)  # down


def test_cameras_see_the_model():
    pytest.importorskip("vtk", reason="vtk is not installed (extra `viz`)")
    builder, _, parser, _ = make()
    cameras = AddMjcfCameras(builder, parser)
    assert list(cameras) == ["top", "camera1", "follows"]
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    sensor = cameras["camera1"]
    image = sensor.color_image_output_port().Eval(sensor.GetMyContextFromRoot(context))
    red, green, _ = image.data[20, 40, :3].astype(int)
    assert image.data.shape[:2] == (40, 80)
    assert red > 2 * green  # the box is in the middle


def test_a_parser_that_has_read_nothing_of_the_kind_says_so():
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    parser.AddModelsFromString('<mujoco model="m"><worldbody><geom size="1"/></worldbody></mujoco>', "xml")
    for call in (lambda: AddMjcfSensors(DiagramBuilder(), parser), lambda: GetMjcfCameraConfigs(parser)):
        with pytest.raises(RuntimeError, match="the plant is not finalized; call Finalize"):
            call()
    plant.Finalize()
    with pytest.raises(RuntimeError, match=r"none that this parser has read from an MJCF file.*There are: none"):
        GetMjcfCameraConfigs(parser)
    with pytest.raises(TypeError, match="parser"):
        GetMjcfCameraConfigs(plant)


def test_sensors_of_a_continuous_plant_are_ports_of_a_system():
    builder, _, parser, _ = make(time_step=0.0)
    sensors = AddMjcfSensors(builder, parser)
    assert isinstance(sensors, MjcfSensors)
    diagram = builder.Build()
    a = sensors.get_sensor_output_port("a").Eval(sensors.GetMyContextFromRoot(diagram.CreateDefaultContext()))
    assert a.shape == (3,) and np.isfinite(a).all()


LIT = """<mujoco model="m"><visual><headlight diffuse=".2 .3 .4" ambient="0 0 0"/></visual><worldbody>
<light pos="0 0 3" diffuse="1 0 0" attenuation="1 0 .1" cutoff="20"/><light active="false"/>
<frame euler="0 90 0"><light type="directional" dir="0 0 1"/></frame><camera name="top" pos="0 0 2"/>
<body pos="0 0 .1"><freejoint/><geom type="box" size=".5 .5 .1" rgba="1 1 1 1"/><light type="point"/></body></worldbody>
</mujoco>"""


def test_lights_that_do_not_move_are_those_of_the_renderer(caplog):
    _, _, parser, _ = make(LIT)
    (config,) = GetMjcfCameraConfigs(parser).values()
    spot, sun, at_camera = config.renderer_class.lights
    assert (spot.type, spot.frame, spot.cone_angle) == ("spot", "world", 20.0)
    np.testing.assert_array_equal(spot.color.rgba[:3], [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(spot.position, [0.0, 0.0, 3.0])
    np.testing.assert_array_equal(spot.direction, [0.0, 0.0, -1.0])
    np.testing.assert_array_equal(spot.attenuation_values, [1.0, 0.0, 0.1])
    np.testing.assert_allclose(sun.direction, [1.0, 0.0, 0.0], atol=1e-15)
    assert (at_camera.type, at_camera.frame) == ("directional", "camera")
    np.testing.assert_allclose(at_camera.color.rgba[:3], [0.2, 0.3, 0.4])
    assert "<light> is left out: lights are fixed to the world, and do not follow" in caplog.text
    _, _, parser, _ = make(SCENE)  # which has no lights
    assert GetMjcfCameraConfigs(parser)["top"].renderer_class == ""


def test_a_red_light_makes_what_is_white_red():
    pytest.importorskip("vtk", reason="vtk is not installed (extra `viz`)")
    dark = LIT.replace("headlight", 'headlight active="0"')
    for text, is_red in ((dark, True), (dark.replace('diffuse="1 0 0"', 'diffuse="1 1 1"'), False)):
        builder, _, parser, _ = make(text.replace('<light type="point"/>', ""))
        camera = AddMjcfCameras(builder, parser)["top"]
        context = builder.Build().CreateDefaultContext()
        red, green, _ = camera.color_image_output_port().Eval(camera.GetMyContextFromRoot(context)).data[240, 320, :3]
        assert red > 50 and (green < 5) == is_red


@pytest.mark.parametrize(
    ("light", "words"), [('type="sun"', "value of attribute 'type' of <light>"), ('dir="0 0 0"', "has the dir 0 0 0")]
)
def test_lights_that_are_none_are_refused(light, words):
    with pytest.raises(ParsingError, match=words):
        make(f"<mujoco><worldbody><light {light}/></worldbody></mujoco>")


def test_a_range_finder_without_a_scene_graph_says_what_it_lacks():
    text = '''<mujoco model="m"><worldbody><body><freejoint/><geom size=".1"/><site name="s"/></body></worldbody>
    <sensor><rangefinder site="s" name="r"/><gyro site="s" name="g"/></sensor></mujoco>'''
    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(0.0))
    parser = Parser(plant)
    parser.AddModelsFromString(text, "xml")
    plant.Finalize()
    sensors = AddMjcfSensors(builder, parser)
    context = sensors.GetMyContextFromRoot(builder.Build().CreateDefaultContext())
    np.testing.assert_array_equal(sensors.get_sensor_output_port("g").Eval(context), np.zeros(3))
    with pytest.raises(RuntimeError, match=r"Input port 'geometry_query'.* is not connected"):
        sensors.get_sensor_output_port("r").Eval(context)


@pytest.mark.parametrize("principal", ['principal=".0001 .0002"', 'principalpixel="10 20"'])
def test_principal_points_of_cameras_are_those_of_the_file(principal):
    sizes = 'resolution="640 480" sensorsize=".0064 .0048" focal=".004 .005"'
    _, _, parser, instance = make(f'<mujoco><worldbody><camera name="c" {sizes} {principal}/></worldbody></mujoco>')
    config = GetMjcfCameraConfigs(parser, instance)["c"]
    assert (config.focal_x(), config.focal_y()) == pytest.approx((400.0, 500.0))
    assert config.principal_point() == pytest.approx((319.5 - 10.0, 239.5 - 20.0))
