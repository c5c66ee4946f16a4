"""PD gains of actuators in model files."""

import pytest

from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import PdControllerGains

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
