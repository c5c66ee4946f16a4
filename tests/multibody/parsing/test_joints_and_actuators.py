"""Dry friction of joints and PD gains of their actuators in URDF, SDFormat and MJCF files."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import PdControllerGains

URDF = """<robot name="r" xmlns:drake="d"><link name="a"/><link name="b"/>
<{tag} name="j" type="{kind}"><parent link="a"/><child link="b"/>{inside}</{tag}></robot>"""
SDF = """<sdf version="1.9"><model name="m"><link name="a"/><link name="b"/>
<joint name="j" type="{kind}"><parent>a</parent><child>b</child>{inside}</joint></model></sdf>"""
MJCF = """<mujoco><default><joint frictionloss="0.5"/>
<default class="stiff"><joint frictionloss="2"/></default></default>
<worldbody><body><joint name="j" {inside}/><geom size="1"/></body></worldbody></mujoco>"""
AXES = """<axis><xyz>1 0 0</xyz><dynamics><friction>0.4</friction></dynamics></axis>
<axis2><xyz>0 1 0</xyz><dynamics><friction>0.1</friction></dynamics></axis2>"""


KINDS = {"<rob": "urdf", "<sdf": "sdf", "<muj": "xml"}


def friction(text: str, kind: str) -> list[float]:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, kind)
    plant.Finalize()
    joint = plant.GetJointByName("j")
    found: np.ndarray = joint.GetFrictionVector(plant.CreateDefaultContext())
    np.testing.assert_array_equal(joint.default_friction_vector(), found)
    return found.tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (URDF.format(tag="joint", kind="revolute", inside='<dynamics friction="0.4"/>'), [0.4]),
        (URDF.format(tag="joint", kind="prismatic", inside='<dynamics damping="1"/>'), [0.0]),
        (URDF.format(tag="drake:joint", kind="planar", inside='<dynamics friction="1 2 3"/>'), [1.0, 2.0, 3.0]),
        (URDF.format(tag="drake:joint", kind="universal", inside='<dynamics friction="0.4"/>'), [0.4, 0.4]),
        (SDF.format(kind="revolute", inside=AXES.partition("\n")[0]), [0.4]),
        (SDF.format(kind="universal", inside=AXES), [0.4, 0.1]),
        (MJCF.format(inside=""), [0.5]),  # of the default classes
        (MJCF.format(inside='frictionloss="0"'), [0.0]),
        (MJCF.format(inside='class="stiff"'), [2.0]),
        (MJCF.format(inside='type="ball" class="stiff"'), [2.0] * 3),
    ],
)
def test_joints_have_the_friction_of_their_file(text: str, expected: list[float]) -> None:
    assert friction(text, KINDS[text[:4]]) == expected


@pytest.mark.parametrize("text", [URDF.format(tag="joint", kind="revolute", inside='<dynamics friction="-1"/>')])
def test_negative_friction_is_refused(text: str) -> None:
    with pytest.raises(ParsingError, match="joint 'j' has friction -1; it cannot be negative"):
        friction(text, "urdf")


INERTIA = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"


def sdf(gains):
    return f"""<sdf version='1.9'><model name='m'><link name='a'>{INERTIA}</link><joint name='j' type='revolute'>
        <parent>world</parent><child>a</child><axis><xyz>0 0 1</xyz></axis>{gains}</joint></model></sdf>"""


def urdf(gains):
    return f"""<robot name='m'><link name='base'/><link name='a'><inertial><mass value='1'/>
        <inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>
        <joint name='j' type='continuous'><parent link='base'/><child link='a'/><axis xyz='0 0 1'/></joint>
        <transmission><type>transmission_interface/SimpleTransmission</type><joint name='j'/>
        <actuator name='j'>{gains}</actuator></transmission></robot>"""


@pytest.mark.parametrize("write", [sdf, urdf])
def test_gains_go_to_the_actuator(write):
    for text, gains in (("<drake:controller_gains p='20' d='0.5'/>", PdControllerGains(p=20.0, d=0.5)), ("", None)):
        plant = MultibodyPlant(0.01)
        Parser(plant).AddModelsFromString(write(text), write.__name__)
        actuator = plant.GetJointActuatorByName("j")
        assert (actuator.get_controller_gains() if actuator.has_controller() else None) == gains


BAD = [("p='20'", "needs an attribute 'd'"), ("p='20' d='-1'", "derivative gain -1")]


@pytest.mark.parametrize("write", [sdf, urdf])
@pytest.mark.parametrize("text, message", BAD)
def test_bad_gains_are_errors_with_their_line(write, text, message):
    with pytest.raises(RuntimeError, match=rf"(?s):\d+.*{message}"):
        Parser(MultibodyPlant(0.01)).AddModelsFromString(write(f"<drake:controller_gains {text}/>"), write.__name__)
