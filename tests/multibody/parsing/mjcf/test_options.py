"""The <option> of MJCF files: flags switch off what they name, later ones count, and the time step can be asked for."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.parsing.mjcf import LoadMjcfOptions
from merganser.multibody.parsing.mjcf.settings import read_options
from merganser.multibody.parsing.xml_reader import read_xml
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.tree import FluidForceOnBox, FluidForceOnEllipsoid

MODEL = """<mujoco model="m">{}<worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 1">
<joint name="j" range="-10 20" stiffness="2" damping="3"/><geom size=".1"/><body pos="1 0 0">
<joint name="k" range="-10 20" springdamper="1 1"/><geom size=".1"/></body></body></worldbody>
<actuator><motor name="m" joint="j" ctrlrange="-1 1" group="2"/><position name="p" joint="k"/></actuator>
<equality><joint joint1="j" joint2="k"/></equality></mujoco>"""


def read(option: str):
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant).AddModelsFromString(MODEL.format(option), "xml")
    return plant, scene_graph


def what_there_is(option: str) -> dict[str, object]:
    plant, scene_graph = read(option)
    joint = plant.GetJointByName("j")
    return {
        "gravity": plant.gravity_field().gravity_vector().tolist() != [0.0, 0.0, 0.0],
        "contact": bool(scene_graph.model_inspector().GetCollisionCandidates()),
        "equality": plant.num_coupler_constraints() == 1,
        "limit": bool(np.isfinite(joint.position_upper_limits()).all()),
        "spring": plant.num_force_elements() == 3,
        "damper": all(plant.GetJointByName(name).default_damping() > 0.0 for name in "jk"),
        "actuation": plant.num_actuators() == 2,
        "clampctrl": plant.num_actuators() == 0 or plant.GetJointActuatorByName("m").effort_limit() == 1.0,
    }


FLAGS = list(what_there_is(""))


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_switches_off_what_it_names_and_nothing_else(flag, caplog):
    assert all(what_there_is("").values())
    found = what_there_is(f'<option><flag {flag}="disable"/></option>')
    assert found == {name: name != flag for name in FLAGS}
    assert not caplog.records


def test_without_constraints_there_are_no_contacts_limits_and_equalities():
    found = what_there_is('<option><flag constraint="disable"/></option>')
    assert [name for name, is_there in found.items() if not is_there] == ["contact", "equality", "limit"]


def test_neighbours_in_the_tree_that_touch_in_mujoco_are_named(caplog):
    read('<option><flag filterparent="disable"/></option>')
    assert "does not touch" in caplog.text


def test_actuators_of_disabled_groups_do_nothing():
    plant, _ = read('<option actuatorgroupdisable="1 2"/>')
    assert [plant.HasJointActuatorNamed(name) for name in "mp"] == [False, True]


OFF = '<option><flag gravity="disable"/></option>'


@pytest.mark.parametrize(
    ("option", "gravity"),
    [
        (OFF + '<option gravity="0 0 -2"/>', np.zeros(3)),
        (OFF + '<option gravity="0 0 2"><flag gravity="enable"/></option>', [0, 0, 2]),
        ('<option><flag gravity="disable"/><flag gravity="enable"/></option>', None),
        ('<option gravity="1 2 3"/><option gravity="0 0 -5" timestep="0.1"/><option timestep="0.2"/>', [0, 0, -5]),
    ],
)  # fmt: skip
def test_of_repeated_options_and_flags_the_last_counts(option, gravity):
    options = read_options(read_xml(f"<mujoco>{option}</mujoco>", "<string>"))
    assert (options.gravity is None) if gravity is None else np.array_equal(options.gravity, gravity)
    assert options.time_step == (0.2 if "0.2" in option else 0.002)


def test_options_of_a_file_have_the_defaults_of_the_format(tmp_path):
    file = tmp_path / "m.xml"
    file.write_text(MODEL.format('<option density="1.2" integrator="RK4" wind="1 0 0"/>'))
    options = LoadMjcfOptions(file)
    assert (options.time_step, options.integrator, options.density, options.viscosity) == (0.002, "RK4", 1.2, 0.0)
    assert options.gravity is None and options.wind.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('timestep="0"', "m.xml:1: attribute 'timestep' of <option> is 0; it has to be positive"),
        ('density="-1"', "attribute 'density' of <option> is -1; it cannot be negative"),
        ('integrator="euler"', "Unknown value of attribute 'integrator' of <option> 'euler'. Did you mean 'Euler'"),
        ('gravity="1 2"', "has 2 values in '1 2', expected 3"),
        ('actuatorgroupdisable="a"', "has 'a' where a number is expected"),
    ],
)
def test_values_that_cannot_be_are_refused(option, message, tmp_path):
    (tmp_path / "m.xml").write_text(f"<mujoco><option {option}/></mujoco>")
    with pytest.raises(ParsingError) as error:
        LoadMjcfOptions(tmp_path / "m.xml")
    assert message in str(error.value)


def test_a_missing_file_is_an_error_with_what_is_there(tmp_path):
    (tmp_path / "arm.xml").write_text("<mujoco/>")
    with pytest.raises(ParsingError, match=r"does not exist.*arm\.xml"):
        LoadMjcfOptions(tmp_path / "arn.xml")


def test_a_fluid_acts_on_bodies_that_move_by_their_inertia_or_by_their_ellipsoids():
    wet = '<geom fluidshape="ellipsoid" size=".1"/>'
    text = f"""<mujoco><option density="1" viscosity="2"/><worldbody><body><geom size=".1"/></body>
<body name="a"><joint/><geom size=".1"/><body name="b">{wet}{wet}<body name="c"><joint/><geom size=".1"/></body></body>
</body></worldbody></mujoco>"""
    plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
    Parser(plant).AddModelsFromString(text, "xml")
    elements = [plant.get_force_element(k) for k in range(1, plant.num_force_elements())]
    found = [(type(element), element.body().name()) for element in elements]
    ellipsoid = (FluidForceOnEllipsoid, "b")
    assert found == [(FluidForceOnBox, "a"), ellipsoid, ellipsoid, (FluidForceOnBox, "c")]


def test_a_warning_says_that_a_mesh_has_no_fluid_forces(caplog):
    text = """<mujoco><option density="1"/><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>
<body><joint/><geom type="mesh" mesh="m" fluidshape="ellipsoid"/></body></worldbody></mujoco>"""
    Parser(AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)[0]).AddModelsFromString(text, "xml")
    assert "<geom> fluidshape of a mesh, plane or height field: no forces of the fluid" in caplog.text
