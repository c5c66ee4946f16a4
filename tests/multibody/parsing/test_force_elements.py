"""Springs, dampers and bushings in model files."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import LinearBushingRollPitchYaw, LinearSpringDamper, PrismaticSpring, RevoluteSpring

URDF = """<robot name="r" xmlns:drake="d"><link name="a"/><link name="b"/>
<frame name="fa" link="a" xyz="1 2 3" rpy="0 0 0"/>
<drake:linear_bushing_rpy>
  <drake:bushing_frameA name="fa"/><drake:bushing_frameC name="{C}"/>
  <drake:bushing_torque_stiffness value="{K}"/><drake:bushing_torque_damping value="4 5 6"/>
  <drake:bushing_force_stiffness value="7 8 9"/><drake:bushing_force_damping value="10 11 12"/>
</drake:linear_bushing_rpy></robot>"""
SDF = """<sdf version="1.8" xmlns:drake="d"><model name="m"><link name="a"/><model name="n"><link name="b"/></model>
<frame name="fa" attached_to="a"><pose>1 2 3 0 0 0</pose></frame>
<drake:linear_bushing_rpy>
  <drake:bushing_frameA>fa</drake:bushing_frameA><drake:bushing_frameC>{C}</drake:bushing_frameC>
  <drake:bushing_torque_stiffness>{K}</drake:bushing_torque_stiffness>
  <drake:bushing_torque_damping>4 5 6</drake:bushing_torque_damping>
  <drake:bushing_force_stiffness>7 8 9</drake:bushing_force_stiffness>
  <drake:bushing_force_damping>10 11 12</drake:bushing_force_damping>
</drake:linear_bushing_rpy></model></sdf>"""
FILES = {"urdf": (URDF, "b"), "sdf": (SDF, "n::b")}


def parse(text: str, file_type: str) -> MultibodyPlant:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, file_type)
    return plant


def joint_with_spring(kind: str, dynamics: str) -> str:
    return (
        '<sdf version="1.8"><model name="m"><link name="a"/><link name="b"/>'
        f'<joint name="j" type="{kind}"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz>'
        f"<dynamics>{dynamics}</dynamics></axis></joint></model></sdf>"
    )


@pytest.mark.parametrize("file_type", FILES)
def test_bushing_has_the_frames_and_constants_of_the_file(file_type):
    text, C = FILES[file_type]
    plant = parse(text.format(C=C, K="1 2 3"), file_type)
    bushing = plant.get_force_element(1)
    assert isinstance(bushing, LinearBushingRollPitchYaw) and plant.num_force_elements() == 2
    assert (bushing.frameA().name(), bushing.frameC().name()) == ("fa", "b")
    assert (bushing.link0().name(), bushing.link1().name()) == ("a", "b")
    np.testing.assert_array_equal(bushing.torque_stiffness_constants(), [1, 2, 3])
    np.testing.assert_array_equal(bushing.torque_damping_constants(), [4, 5, 6])
    np.testing.assert_array_equal(bushing.force_stiffness_constants(), [7, 8, 9])
    np.testing.assert_array_equal(bushing.force_damping_constants(), [10, 11, 12])


@pytest.mark.parametrize("file_type", FILES)
def test_bad_bushing_is_refused_with_its_line(file_type):
    text, C = FILES[file_type]
    with pytest.raises(ParsingError, match=r":[23]: .*frameC '.*', which does not exist .*'b'"):
        parse(text.format(C=C + "b", K="1 2 3"), file_type)
    with pytest.raises(ParsingError, match=r":\d: .*must not be negative.*-2"):
        parse(text.format(C=C, K="1 -2 3"), file_type)
    with pytest.raises(ParsingError, match=r":\d: .*2 values.*expected 3"):
        parse(text.format(C=C, K="1 2"), file_type)
    with pytest.raises(ParsingError, match="bushing_torque_stiffness"):
        parse(text.format(C=C, K="1 2 3").replace("bushing_torque_stiffness", "bushing"), file_type)


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_joint_spring_of_sdf_becomes_a_force_element(kind):
    spring = "<spring_stiffness>5</spring_stiffness><spring_reference>0.3</spring_reference>"
    plant = parse(joint_with_spring(kind, spring), "sdf")
    element = plant.get_force_element(1)
    assert element.joint() is plant.GetJointByName("j")
    if kind == "prismatic":
        assert isinstance(element, PrismaticSpring)
        assert (element.nominal_position(), element.stiffness()) == (0.3, 5.0)
    else:
        assert isinstance(element, RevoluteSpring)
        assert (element.default_nominal_angle(), element.default_stiffness()) == (0.3, 5.0)


def test_joint_without_spring_stiffness_has_no_force_element():
    text = joint_with_spring("revolute", "<spring_reference>0.3</spring_reference>")
    assert parse(text, "sdf").num_force_elements() == 1


def test_spring_of_a_joint_that_has_none_in_drake_is_a_warning(caplog):
    plant = parse(joint_with_spring("screw", "<spring_stiffness>5</spring_stiffness>"), "sdf")
    assert plant.num_force_elements() == 1
    assert "screw joint 'j' has a spring" in caplog.text


# ---------------------------------------------------------------------- <drake:linear_spring_damper>

SPRING = {"body_A": "a", "p_AP": "1 2 3", "body_B": "b", "p_BQ": "0 0 1", "free_length": 0.5, "stiffness": 10}


def spring_damper(file_type: str, **changes: object) -> str:
    tag = "drake:linear_spring_damper"
    parts = {**SPRING, "damping": 0.1, **changes}
    if file_type == "urdf":
        inside = "".join(f'<{tag}_{k} {"name" if "body" in k else "value"}="{v}"/>' for k, v in parts.items())
        return f'<robot name="r" xmlns:drake="d"><link name="a"/><link name="b"/>\n<{tag}>{inside}</{tag}></robot>'
    inside = "".join(f"<{tag}_{k}>{v}</{tag}_{k}>" for k, v in parts.items())
    links = '<link name="a"/><link name="b"/>'
    return f'<sdf version="1.8" xmlns:drake="d"><model name="m">{links}\n<{tag}>{inside}</{tag}></model></sdf>'


@pytest.mark.parametrize("file_type", FILES)
def test_spring_damper_has_the_points_and_constants_of_the_file(file_type):
    plant = parse(spring_damper(file_type), file_type)
    spring = plant.get_force_element(1)
    assert isinstance(spring, LinearSpringDamper)
    assert (spring.bodyA().name(), spring.bodyB().name()) == ("a", "b")
    np.testing.assert_array_equal(spring.p_AP(), [1, 2, 3])
    np.testing.assert_array_equal(spring.p_BQ(), [0, 0, 1])
    assert (spring.free_length(), spring.stiffness(), spring.damping()) == (0.5, 10.0, 0.1)


@pytest.mark.parametrize("file_type", FILES)
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"body_B": "nothing"}, "'nothing'"),
        ({"free_length": 0}, "free_length .* 0; it must be positive"),
        ({"stiffness": -1}, "stiffness .* -1; it must not be negative"),
        ({"damping": -1}, "damping .* -1; it must not be negative"),
        ({"p_AP": "1 2"}, "2 values"),
    ],
)
def test_bad_spring_damper_is_refused_with_its_line(file_type, changes, words):
    with pytest.raises(ParsingError, match=rf":2: .*{words}"):
        parse(spring_damper(file_type, **changes), file_type)
