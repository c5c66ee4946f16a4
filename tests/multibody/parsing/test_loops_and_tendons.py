"""Loops of joints in model files, and tendons."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, DiscreteContactApproximation, MultibodyPlant
from tests.support.model_corners import chain, sdf

LINK = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
# A square of four hinges, of which the last one closes it.
SQUARE = """<robot name="r"><link name="a">{link}</link><link name="b">{link}</link><link name="c">{link}</link>
<joint name="j1" type="revolute"><parent link="world"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/></joint>
<joint name="j3" type="revolute"><parent link="world"/><child link="c"/><origin xyz="1 0 0"/><axis xyz="0 1 0"/></joint>
{closing}</robot>""".replace("{link}", LINK)
BY_TAG = """<loop_joint name="j4" type="continuous"><link1 link="b" xyz="1 0 0"/><link2 link="c" xyz="0 0 1"/>
<axis xyz="0 1 0"/></loop_joint>"""


def read(text: str, file_type: str, time_step: float = 0.0) -> MultibodyPlant:
    plant = MultibodyPlant(time_step)
    Parser(plant).AddModelsFromString(text, file_type)
    return plant


def closed(plant: MultibodyPlant) -> float:
    """The largest error of the loop, half a turn of its first hinge later."""
    plant.Finalize()
    context = plant.CreateDefaultContext()
    assert np.abs(plant.CalcLoopJointErrors(context)).max() < 1e-12
    hinge = plant.GetJointByName("j1")
    hinge.set_angle(context, 0.5)
    plant.CloseLoops(context, [hinge])
    assert plant.GetJointByName("j3").get_angle(context) == pytest.approx(0.5)  # a parallelogram
    return float(np.abs(plant.CalcLoopJointErrors(context)).max())


def test_loop_joint_closes_a_loop(caplog):
    plant = read(SQUARE.format(closing=BY_TAG), "urdf")
    assert not caplog.records
    assert (plant.num_joints(), plant.num_loop_joints()) == (3, 1)
    assert plant.GetLoopJointByName("j4").type_name() == "revolute"
    assert closed(plant) < 1e-9


SDF_SQUARE = sdf(
    """<link name="a"/><link name="b"><pose>0 0 1 0 0 0</pose></link><link name="c"><pose>1 0 0 0 0 0</pose></link>
<joint name="j1" type="revolute"><parent>world</parent><child>a</child><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="j2" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="j4" type="{kind}"><pose relative_to="__model__">1 0 1 0 0 0</pose><parent>b</parent><child>c</child>
<axis><xyz>0 1 0</xyz><dynamics><damping>1</damping></dynamics></axis></joint>
<joint name="j3" type="revolute"><parent>world</parent><child>c</child><axis><xyz>0 1 0</xyz></axis></joint>"""
)


def test_last_joint_of_a_loop_becomes_a_loop_joint(caplog):
    plant = read(SDF_SQUARE.replace("{kind}", "revolute"), "sdf")
    assert [plant.get_joint(i).name() for i in plant.GetJointIndices()] == ["j1", "j2", "j4"]
    assert [record.getMessage() for record in caplog.records] == [
        "<literal-string>.sdf:6: joint 'j3' closes a loop: it is a loop joint; its actuator has no effect."
    ]
    plant.Finalize()
    assert np.abs(plant.CalcLoopJointErrors(plant.CreateDefaultContext())).max() < 1e-12


def test_ball_joints_close_loops_rather_than_hinges(caplog):
    plant = read(SDF_SQUARE.replace("{kind}", "ball"), "sdf")
    assert plant.GetLoopJointByName("j4").type_name() == "ball_quaternion"
    assert "j4' closes a loop: it is a loop joint; its damping has no effect" in caplog.text
    assert closed(plant) < 1e-9


@pytest.mark.parametrize("closing", [BY_TAG, BY_TAG.replace("continuous", "ball")])
def test_closed_models_fall_in_discrete_steps(closing):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    Parser(plant).AddModelsFromString(SQUARE.format(closing=closing), "urdf")
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    hinge = plant.GetJointByName("j1")
    hinge.set_angle(context, 0.1)
    plant.CloseLoops(context, [hinge])
    simulator.AdvanceTo(0.2)
    assert hinge.get_angle(context) > 0.105
    assert np.abs(plant.CalcLoopJointErrors(context)).max() < 1e-4


def test_solver_without_loops_refuses_them_before_the_plant_is_touched():
    plant = MultibodyPlant(0.01)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kTamsi)
    with pytest.raises(ParsingError, match=r"urdf:5: joint 'j4' closes a loop, which the TAMSI solver"):
        Parser(plant).AddModelsFromString(SQUARE.format(closing=BY_TAG), "urdf")
    assert (plant.num_bodies(), plant.num_model_instances()) == (1, 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("continuous", "screw"), "type of a <loop_joint>"),
        (('name="j4" ', ""), "'name'"),
        (('<link1 link="b" xyz="1 0 0"/>', ""), "<link1>"),
        (('link="c" xyz="0 0 1"', 'link="q"'), "link 'q'"),
        (("0 1 0", "0 0 0"), "needs a direction"),
        (('link="b" xyz="1 0 0"', 'link="c"'), "to itself"),
    ],
)
def test_bad_loop_joints_are_refused(change, words):
    with pytest.raises(ParsingError, match=words):
        read(SQUARE.format(closing=BY_TAG.replace(*change)), "urdf")


# ---------------------------------------------------------------------- tendons


def tendon(**values: str) -> str:
    numbers = "".join(f"<drake:tendon_constraint_{k}>{v}</drake:tendon_constraint_{k}>" for k, v in values.items())
    joints = '<drake:tendon_constraint_joint name="j" a="2"/><drake:tendon_constraint_joint name="k" a="-1"/>'
    return f"<drake:tendon_constraint>{joints}{numbers}</drake:tendon_constraint>"


def length_after(text: str, v: float, time: float = 1.0) -> float:
    """l = 2 q_j - q_k + 0.1 of a model without gravity, some time after it starts with a velocity of joint j."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    Parser(plant).AddModelsFromString(text, "sdf")
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, 0.0])
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.GetJointByName("j").set_angular_rate(context, v)
    simulator.AdvanceTo(time)
    angles = [plant.GetJointByName(name).get_angle(context) for name in "jk"]
    return float(2.0 * angles[0] - angles[1] + 0.1)


def test_tendon_keeps_its_length_within_limits():
    limits = {"offset": "0.1", "lower_limit": "-0.5", "upper_limit": "0.4", "stiffness": "1e5", "damping": "2e3"}
    held, free = (chain(after=after) for after in (tendon(**limits), ""))
    for v, bound in ((1.0, 0.4), (-1.0, -0.5)):
        assert abs(length_after(free, v) - 0.1) > 1.0
        assert abs(length_after(held, v)) < abs(bound) + 0.01


def test_tendon_has_limits_and_springs_only_where_the_file_gives_them():
    one_sided = chain(after=tendon(offset="0.1", upper_limit="0.4"))
    assert length_after(one_sided, 1.0) < 0.41
    assert length_after(one_sided, -1.0) < -1.0
    assert read(chain(after=tendon()), "sdf", 0.01).num_constraints() == 0  # without limits it does nothing


def test_continuous_plant_has_no_tendons(caplog):
    assert read(chain(after=tendon(upper_limit="1")), "sdf").num_constraints() == 0
    assert "the tendon has no effect: only discrete plants keep its limits" in caplog.text


def test_tendon_along_three_joints_is_kept(caplog):
    third = '<drake:tendon_constraint_joint name="w" a="1"/><drake:tendon_constraint_joint'
    joint = '<joint name="w" type="prismatic"><parent>world</parent><child>a</child><axis/></joint>'
    text = chain(after=joint + tendon(upper_limit="1").replace("<drake:tendon_constraint_joint", third, 1))
    assert read(text, "sdf", 0.01).num_constraints() == 1
    assert "tendon" not in caplog.text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (tendon(lower_limit="1", upper_limit="0"), "the lower one must be the smaller one"),
        (tendon(upper_limit="1", stiffness="0"), "positive stiffness"),
        (tendon(upper_limit="1", damping="-1"), "damping that is not negative"),
        (tendon(offset="inf"), "finite offset"),
        (tendon(upper_limit="many"), "'many'"),
        (tendon().replace('name="j"', 'name="q"'), "'q' is not there"),
        ("<drake:tendon_constraint/>", "give it a <drake:tendon_constraint_joint>"),
    ],
)
def test_bad_tendons_are_refused(text, words):
    with pytest.raises(ParsingError, match=words):
        read(chain(after=text), "sdf", 0.01)


# ---------------------------------------------------------------------- mimic of SDFormat


def test_mimic_of_sdformat_counts_from_its_reference():
    mimic = '<mimic joint="j"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>'
    (coupler,) = read(chain(mimic), "sdf", 0.01)._tree.constraints
    assert (coupler.gear_ratio, coupler.offset) == (2.0, pytest.approx(0.3))


def test_mimic_of_drake_replaces_that_of_sdformat():
    both = chain('<mimic joint="j"/>', '<drake:mimic joint="j" multiplier="3" offset="0"/>')
    (coupler,) = read(both, "sdf", 0.01)._tree.constraints
    assert coupler.gear_ratio == 3.0
