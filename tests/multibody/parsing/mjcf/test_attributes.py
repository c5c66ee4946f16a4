"""Each attribute of MJCF is read, named in the report, or known to change neither the motion nor what is measured.

An attribute gets a value that makes no sense. If it is read, the file is refused; if not, a warning has its name.
"""

from __future__ import annotations

import logging
import re

import pytest

from merganser.multibody.parsing.errors import Diagnostics, ParsingError
from merganser.multibody.parsing.mjcf.reader import read_mjcf
from merganser.multibody.parsing.package_map import PackageMap
from merganser.multibody.parsing.xml_reader import read_xml
from tests.support.mjcf_attributes import MJCF_ATTRIBUTES

MODEL = """<mujoco model="m"><compiler/><option><flag/></option><asset>
<mesh name="me" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
<hfield name="hf" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 1 0"/>
<texture name="tx" type="2d" builtin="checker" width="2" height="2"/><material name="ma" texture="tx"/></asset>
<worldbody><camera name="cam" sensorsize=".1 .1" focal=".1 .1"/><light directional="true"/>
<geom type="mesh" mesh="me"/><geom type="hfield" hfield="hf"/>
<body name="b" pos="0 0 1"><joint name="j" axis="0 1 0"/><joint name="k" type="slide" range="-1 1"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom name="g" type="box" size=".1 .1 .1" material="ma"/>
<site name="s"/>
<body name="c" pos=".3 0 0"><joint name="l" axis="0 1 0"/><geom name="h" size=".1"/></body></body>
<body name="f"><freejoint/><geom name="fg" size=".1"/></body></worldbody>
<contact><pair geom1="g" geom2="fg"/><exclude body1="c" body2="f"/></contact>
<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed><fixed name="t2"><joint joint="k" coef="1"/></fixed></tendon>
<equality><connect body1="c" anchor="0 0 0"/><weld body1="c"/><joint joint1="j" joint2="k"/>
<tendon tendon1="t" tendon2="t2"/></equality>
<actuator><general name="m" joint="j"/><motor joint="j"/><position joint="j"/><velocity joint="j"/></actuator>
<sensor>{sensors}</sensor><keyframe><key name="home" qpos="0 0 0 0 0 0 1 0 0 0"/></keyframe></mujoco>"""
SENSORS = {
    "site": "touch accelerometer velocimeter gyro force torque magnetometer camprojection rangefinder",
    "joint": "jointpos jointvel jointactuatorfrc jointlimitpos",
    "tendon": "tendonpos tendonvel",
    "actuator": "actuatorpos actuatorvel actuatorfrc",
    "objname": "framepos framequat framexaxis framelinvel frameangvel framelinacc frameangacc insidesite",
    "body": "subtreecom subtreelinvel subtreeangmom",
    "": "clock",
}
OF = {"site": 'site="s"', "joint": 'joint="k"', "tendon": 'tendon="t"', "actuator": 'actuator="m"', "": "",
      "objname": 'objtype="site" objname="s"', "body": 'body="b"'}  # fmt: skip
MORE = {"camprojection": ' camera="cam"', "insidesite": ' site="s"'}
PATHS = [path for path in MJCF_ATTRIBUTES if not path.startswith("sensor/")]
PATHS += [f"sensor/{kind}" for kinds in SENSORS.values() for kind in kinds.split()]

BEFORE = {"body/geom": '<body name="f"', "body/camera": "<worldbody", "body/light": "<worldbody"}

# Attributes that may have any value without a word, by why.
SILENT = {
    "names, and what other programs keep in a file": "name user group",
    "classes of names that are not there are refused": "class childclass",
    "how files are found and written": "assetdir meshdir texturedir conflict passthrough savecanonical savecompiled "
    "saveinertial usethread content_type embed",
    "how MuJoCo solves": "ccd_iterations ccd_tolerance cone iterations jacobian ls_iterations ls_tolerance "
    "noslip_iterations noslip_tolerance sdf_initpoints sdf_iterations sleep_tolerance solver tolerance autoreset "
    "diagexact eulerdamp invdiscrete island midphase multiccd nativeccd refsafe warmstart simple",
    "what MuJoCo computes beside the motion": "energy fwdinv lengthrange noise interp",
    "drawing": "castshadow ipd output projection bulbradius ambient exponent intensity softness specular range "
    "texture emission metallic reflectance roughness shininess texrepeat texuniform rgba colorspace smoothnormal "
    "texcoord normal nchannel hflip vflip random mark markrgb gridsize gridlayout fileback filedown filefront fileleft "
    "fileright fileup",
    "used by other types of the element only": "fitscale fluidcoef fluidshape fromto hfield mesh material mocap fuse "
    "actdim actlimited actrange dynprm cranklength jointinparent reftype target params inertia maxhullvert plastic "
    "builtin file type",
    "pixels take their place": "focalpixel principalpixel focal principal",
    "a light without a place or direction is where it is": "dir pos",
    "of a site that no sensor is about": "size",
}  # fmt: skip
NEVER_SILENT = {
    "body/joint": "pos range type", "body/geom": "type size pos mesh material rgba", "actuator": "kp kv gear",
}  # fmt: skip


def outcome(path: str, attribute: str, value: str = "?!") -> str:
    """The effect of the attribute in the element: refused, named, or the empty string."""
    *_, tag = path.split("/")
    section = path.split("/")[0] if "/" in path else ""
    sensors = "".join(
        f"<{kind} {OF[of]}{MORE.get(kind, '')}/>" for of, kinds in SENSORS.items() for kind in kinds.split()
        if section == "sensor" and kind == tag
    )  # fmt: skip
    text = MODEL.format(sensors=sensors)
    start = text.index(BEFORE.get(path, f"<{section}" if section else ""))
    element = re.compile(rf"<{tag}(?=[ />])[^>]*>").search(text, start)
    assert element is not None
    old = element.group()
    cleared = re.sub(rf' {attribute}="[^"]*"', "", old)
    new = re.sub(rf"<{tag}", f'<{tag} {attribute}="{value}"', cleared, count=1) if attribute else old
    diagnostics = Diagnostics()
    try:
        read_mjcf(read_xml(text[: element.start()] + new + text[element.end() :], path), PackageMap(), diagnostics)
    except ParsingError:
        return "refused"
    words = {word for _, message in diagnostics.warnings for word in re.findall(r"\w+", message)}
    return "named" if attribute in words else ""


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL)


@pytest.mark.parametrize("path", PATHS)
def test_attributes_are_read_or_named(path):
    assert outcome(path, "") == ""
    silent = {name for name in MJCF_ATTRIBUTES[path] if not outcome(path, name)}
    allowed = {name for names in SILENT.values() for name in names.split()}
    assert not silent - allowed
    loud = NEVER_SILENT.get(path, NEVER_SILENT.get(path.split("/")[0], "")).split()
    assert not silent.intersection(loud)
    assert outcome(path, "misspelt") == "named"


@pytest.mark.parametrize(
    ("path", "attribute", "value"),
    [
        ("option", "integrator", "discrete"),
        ("option/flag", "speculative", "enable"),
        ("option/flag", "sleep", "enable"),
        ("option/flag", "ipc", "enable"),
        ("body", "sleep", "allowed"),
        ("actuator/general", "input", "vel"),
        ("actuator/motor", "site", "s"),
        ("contact/pair", "condim", "4"),
        ("sensor/jointpos", "interval", "0.1"),
        ("sensor/insidesite", "enclosed", "true"),
    ],
)
def test_modes_that_are_not_followed_are_named(path, attribute, value):
    assert outcome(path, attribute, value) == "named"


@pytest.mark.parametrize(
    ("path", "attribute", "value"),
    [
        ("option", "integrator", "RK4"),
        ("option/flag", "sleep", "disable"),
        ("body", "sleep", "auto"),
        ("sensor/jointpos", "interval", "0"),
        ("actuator/general", "input", "pos"),
    ],
)
def test_what_changes_nothing_is_not_named(path, attribute, value):
    assert outcome(path, attribute, value) == ""
