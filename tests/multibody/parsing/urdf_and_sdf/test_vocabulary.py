"""Each element of SDFormat and each attribute of URDF is read, named in a warning, or known to change nothing.

One gets a value that makes no sense. If it is read, the file is refused; if not, a warning has its name.
"""

from __future__ import annotations

import logging
import re

import pytest

from merganser.multibody.parsing.errors import Diagnostics, ParsingError
from merganser.multibody.parsing.package_map import PackageMap
from merganser.multibody.parsing.urdf_and_sdf.sdf import read_sdf
from merganser.multibody.parsing.urdf_and_sdf.urdf import read_urdf
from merganser.multibody.parsing.xml_reader import read_xml

SDF = """<sdf version="1.9"><model name="m"><link name="a"><inertial><mass>1</mass><inertia><ixx>1</ixx>
</inertia></inertial><collision name="c"><geometry><box><size>1 1 1</size></box></geometry><surface><friction>
<ode/></friction></surface></collision><visual name="v"><geometry><cylinder><radius>1</radius><length>1</length>
</cylinder></geometry><material/></visual></link><link name="b"/><frame name="f"/>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz><dynamics/><limit/>
</axis></joint><link name="e"/><joint name="u" type="universal"><parent>b</parent><child>e</child><axis>
<xyz>1 0 0</xyz><limit><effort>0</effort></limit></axis><axis2><xyz>0 1 0</xyz></axis2></joint></model></sdf>"""
# Children of elements in SDFormat 1.9, but for those that only have to do with plugins and sensors.
SDF_CHILDREN = {
    "model": "pose static self_collide allow_auto_disable enable_wind gripper plugin",
    "link": "pose inertial gravity enable_wind self_collide kinematic must_be_base_link velocity_decay sensor "
    "projector audio_sink audio_source battery light particle_emitter plugin",
    "inertial": "pose mass inertia density auto_inertia_params fluid_added_mass",
    "inertia": "ixx iyy izz ixy ixz iyz",
    "collision": "pose geometry laser_retro max_contacts surface density auto_inertia_params",
    "visual": "pose geometry material cast_shadows laser_retro transparency visibility_flags meta plugin",
    "surface": "bounce contact soft_contact",
    "friction": "torsional bullet",
    "ode": "mu mu2 fdir1 slip1 slip2",
    "material": "script shader render_order lighting ambient diffuse specular shininess emissive double_sided pbr",
    "box": "size",
    "cylinder": "radius length",
    "frame": "pose",
    "joint": "pose parent child axis gearbox_ratio gearbox_reference_body thread_pitch screw_thread_pitch physics "
    "sensor",
    "axis": "xyz initial_position use_parent_model_frame mimic",
    "dynamics": "damping friction spring_reference spring_stiffness",
    "limit": "lower upper effort velocity stiffness dissipation",
    "axis2": "xyz dynamics limit initial_position",
}
_CONTAINERS = ["inertial", "inertia", "surface", "material", "pbr", "axis", "dynamics", "limit"]
SDF_SILENT = {
    **dict.fromkeys(_CONTAINERS, "what is in it counts"),
    "density": "of links whose inertia is given",
    "specular": "of a material without a texture", "thread_pitch": "of joints that are no screws",
    "screw_thread_pitch": "of joints that are no screws",
}  # fmt: skip
URDF = """<robot name="r"><material name="blue"><color rgba="0 0 1 1"/></material><link name="a"><inertial>
<origin/><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><origin/>
<geometry><box size="1 1 1"/></geometry><material name="red"><color rgba="1 0 0 1"/></material></visual>
<collision><geometry><cylinder radius="1" length="1"/></geometry></collision><collision><geometry>
<sphere radius="1"/></geometry></collision></link><link name="b"/><joint name="j" type="revolute"><origin/>
<parent link="a"/><child link="b"/><axis xyz="0 0 1"/><calibration/><dynamics/><limit effort="1" velocity="1"/>
<safety_controller/></joint><link name="c"/><joint name="k" type="prismatic"><parent link="b"/><child link="c"/>
<mimic joint="j"/></joint></robot>"""
URDF_ATTRIBUTES = {
    "robot": "name version", "link": "name type", "origin": "xyz rpy", "mass": "value",
    "inertia": "ixx iyy izz ixy ixz iyz", "box": "size", "cylinder": "radius length", "sphere": "radius",
    "color": "rgba", "joint": "name type", "parent": "link", "child": "link", "axis": "xyz",
    "dynamics": "damping friction", "limit": "lower upper effort velocity",
    "mimic": "joint multiplier offset", "visual": "name", "collision": "name group",
}  # fmt: skip
URDF_SILENT = {"name": "any name", "effort": "of a joint that nothing drives", "link": "refused where it is added"}


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL)


def warnings_of(read, text: str, name: str) -> set[str] | None:
    """The words of all warnings; None if the text is refused."""
    diagnostics = Diagnostics()
    try:
        read(read_xml(text, name), PackageMap(), diagnostics)
    except ParsingError:
        return None
    return {word for _, message in diagnostics.warnings for word in re.findall(r"\w+", message)}


def with_child(parent: str, child: str) -> str:
    """The model with an element without sense as the first one in another."""
    opening = re.compile(rf"<{parent}(?=[ />])[^>]*>").search(SDF)
    assert opening is not None
    tag, inside = opening.group(), f"<{child}>?!</{child}>"
    new = f"{tag[:-2]}>{inside}</{parent}>" if tag.endswith("/>") else tag + inside
    return SDF[: opening.start()] + new + SDF[opening.end() :]


def with_attribute(tag: str, name: str) -> str:
    """The robot with an attribute without sense in the first element of a tag that has it, or in the first one."""
    openings = list(re.compile(rf"<{tag}(?=[ />])[^>]*>").finditer(URDF))
    opening = next((each for each in openings if f' {name}="' in each.group()), openings[0])
    cleared = re.sub(rf' {name}="[^"]*"', "", opening.group())
    return URDF[: opening.start()] + cleared.replace(f"<{tag}", f'<{tag} {name}="?!"', 1) + URDF[opening.end() :]


def test_the_models_themselves_have_nothing_to_name():
    assert warnings_of(read_sdf, SDF, "sdf") == set()
    found = warnings_of(read_urdf, URDF, "urdf")
    assert found is not None and {"calibration", "safety_controller"} <= found


@pytest.mark.parametrize("parent", [*SDF_CHILDREN, "geometry"])
def test_elements_of_sdf_are_read_or_named(parent):
    for child in [*SDF_CHILDREN.get(parent, "").split(), "misspelt"]:
        found = warnings_of(read_sdf, with_child(parent, child), f"{parent} {child}")
        assert found is None or child in found or child in SDF_SILENT, child


@pytest.mark.parametrize("tag", URDF_ATTRIBUTES)
def test_attributes_of_urdf_are_read_or_named(tag):
    for name in [*URDF_ATTRIBUTES[tag].split(), "misspelt"]:
        found = warnings_of(read_urdf, with_attribute(tag, name), f"{tag} {name}")
        assert found is None or name in found or name in URDF_SILENT, name
