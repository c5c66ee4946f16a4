"""Dry friction of joints in URDF, SDFormat and MJCF files."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import MultibodyPlant

URDF = """<robot name="r" xmlns:drake="d"><link name="a"/><link name="b"/>
<{tag} name="j" type="{kind}"><parent link="a"/><child link="b"/>{inside}</{tag}></robot>"""
SDF = """<sdf version="1.9"><model name="m"><link name="a"/><link name="b"/>
<joint name="j" type="{kind}"><parent>a</parent><child>b</child>{inside}</joint></model></sdf>"""
MJCF = """<mujoco><default><joint frictionloss="0.5"/>
<default class="stiff"><joint frictionloss="2"/></default></default>
<worldbody><body><joint name="j" {inside}/><geom size="1"/></body></worldbody></mujoco>"""
AXES = """<axis><xyz>1 0 0</xyz><dynamics><friction>0.4</friction></dynamics></axis>
<axis2><xyz>0 1 0</xyz><dynamics><friction>0.1</friction></dynamics></axis2>"""


def friction(text: str, kind: str) -> list[float]:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, kind)
    plant.Finalize()
    joint = plant.GetJointByName("j")
    found: np.ndarray = joint.GetFrictionVector(plant.CreateDefaultContext())
    np.testing.assert_array_equal(joint.default_friction_vector(), found)
    return found.tolist()


@pytest.mark.parametrize(
    ("tag", "kind", "inside", "expected"),
    [
        ("joint", "revolute", '<dynamics friction="0.4"/>', [0.4]),
        ("joint", "prismatic", '<dynamics damping="1"/>', [0.0]),
        ("drake:joint", "planar", '<dynamics friction="1 2 3"/>', [1.0, 2.0, 3.0]),
        ("drake:joint", "universal", '<dynamics friction="0.4"/>', [0.4, 0.4]),
    ],
)
def test_urdf(tag: str, kind: str, inside: str, expected: list[float]) -> None:
    assert friction(URDF.format(tag=tag, kind=kind, inside=inside), "urdf") == expected


@pytest.mark.parametrize(
    ("kind", "inside", "expected"),
    [
        ("revolute", "<axis><xyz>1 0 0</xyz><dynamics><friction>0.4</friction></dynamics></axis>", [0.4]),
        ("universal", AXES, [0.4, 0.1]),
    ],
)
def test_sdf(kind: str, inside: str, expected: list[float]) -> None:
    assert friction(SDF.format(kind=kind, inside=inside), "sdf") == expected


@pytest.mark.parametrize(
    ("inside", "expected"),
    [("", [0.5]), ('frictionloss="0"', [0.0]), ('class="stiff"', [2.0]), ('type="ball" class="stiff"', [2.0] * 3)],
)
def test_mjcf_with_defaults_of_classes(inside: str, expected: list[float]) -> None:
    assert friction(MJCF.format(inside=inside), "xml") == expected


@pytest.mark.parametrize("text", [URDF.format(tag="joint", kind="revolute", inside='<dynamics friction="-1"/>')])
def test_negative_friction_is_refused(text: str) -> None:
    with pytest.raises(ParsingError, match="joint 'j' has friction -1; it cannot be negative"):
        friction(text, "urdf")
