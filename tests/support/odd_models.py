"""Model files that are not by the book, as people write them, and that pydrake reads nevertheless."""

from __future__ import annotations

__all__ = ["CUBE_OBJ", "ODD_DOCUMENTS"]

_LINK = '<robot name="r"><link name="a"/></robot>'
_SDF_LINK = '<sdf version="1.9"><model name="m"><link name="a"/></model></sdf>'
_BOX = "<geometry><box size='1 2 3'/></geometry>"
_TRANSMISSION = "<transmission><type>SimpleTransmission</type><joint name='j'/><actuator name='{}'/></transmission>"


def _visual(material: str) -> str:
    return f'<robot name="r"><link name="a"><visual name="v">{_BOX}{material}</visual></link></robot>'


def _links(body: str) -> str:
    return f'<robot name="r"><link name="a"/><link name="b"/><link name="c"/>{body}</robot>'


def _joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def _inertial(mass: str, moments: str) -> str:
    origin = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
    inside = f'<inertial>{origin}<mass value="{mass}"/><inertia {moments}/></inertial>'
    return f'<robot name="r"><link name="a">{inside}</link></robot>'


def _sdf_link(inside: str) -> str:
    return f'<sdf version="1.9"><model name="m"><link name="a">{inside}</link></model></sdf>'


def _sdf_mimic(first: str, second: str) -> str:
    axis = {"fixed": "", "ball": ""}
    return f"""<sdf version="1.9"><model name="m"><link name="a"/><link name="b"/><link name="c"/>
<joint name="j" type="{first}"><parent>a</parent><child>b</child>{axis.get(first, "<axis/>")}
<drake:mimic joint="k" multiplier="1" offset="0"/></joint>
<joint name="k" type="{second}"><parent>b</parent><child>c</child>{axis.get(second, "<axis/>")}</joint></model></sdf>"""


# Text and file type by what is odd.
ODD_DOCUMENTS: dict[str, tuple[str, str]] = {
    "space before the declaration": (f'\n\t <?xml version="1.0"?>\n{_LINK}', "urdf"),
    "byte-order mark and space before the declaration": (f'\ufeff\n<?xml version="1.0"?>{_LINK}', "urdf"),
    "space before the declaration of sdf": (f'\n <?xml version="1.0"?>{_SDF_LINK}', "sdf"),
    "misspelt declaration": (f'<?xml vertsion="1.0"?>{_LINK}', "urdf"),
    "misspelt declaration of sdf": (f'<?xml vertsion="1.0"?>{_SDF_LINK}', "sdf"),
    "empty declaration": (f"<?xml ?>{_LINK}", "urdf"),
    "declaration without spaces": (f'<?xml version="1.0"encoding="UTF-8"?>{_LINK}', "urdf"),
    "declaration with many spaces": (f'<?xml   version = "1.0"\n encoding= "UTF-8"  ?>{_LINK}', "urdf"),
    "encoding before the version": (f'<?xml encoding="utf-8" version="1.0"?>{_LINK}', "urdf"),
    "declaration without quotation marks": (f"<?xml version=1.0?>{_LINK}", "urdf"),
    "two declarations": (f'<?xml version="1.0"?><?xml version="1.0"?>{_LINK}', "urdf"),
    "unknown encoding": (f'<?xml version="1.0" encoding="nonsense"?>{_LINK}', "urdf"),
    "hyphens in a comment": ('<robot name="r"><!--- a -- b ---><link name="a"/></robot>', "urdf"),
    "control character in a comment": ('<robot name="r"><!-- \x01 --><link name="a"/></robot>', "urdf"),
    "lone ampersand": ('<robot name="r"><link name="a &  b"/></robot>', "urdf"),
    "empty material": (_visual("<material/>"), "urdf"),
    "material with an empty name": (_visual('<material name=""/>'), "urdf"),
    "empty sdf material": (
        _sdf_link(
            "<visual name='v'><geometry><sphere><radius>1</radius></sphere></geometry>"
            "<material><diffuse/></material></visual>"
        ),
        "sdf",
    ),
    "sphere without extent": (
        "<robot name='r'><link name='a'>"
        + "".join(f"<{role}><geometry><sphere radius='0'/></geometry></{role}>" for role in ("visual", "collision"))
        + "</link></robot>",
        "urdf",
    ),
    "fixed joint without an axis": (_links(_joint("j", "fixed", "a", "b", '<axis xyz="0 0 0"/>')), "urdf"),
    "fixed joint with limits": (
        _links(_joint("j", "fixed", "a", "b", '<limit lower="1" upper="-1" effort="none"/><dynamics damping="-1"/>')),
        "urdf",
    ),
    "two transmissions": (
        _links(_joint("j", "revolute", "a", "b") + _TRANSMISSION.format("m") + _TRANSMISSION.format("n")), "urdf"
    ),
    "reduction in words": (
        _links(
            _joint("j", "revolute", "a", "b")
            + _TRANSMISSION.format("m").replace("/></", "><mechanicalReduction>x</mechanicalReduction></actuator></")
        ),
        "urdf",
    ),
    "fixed joint that mimics a fixed one": (
        _links(_joint("j", "fixed", "a", "b", '<mimic joint="k"/>') + _joint("k", "fixed", "b", "c")), "urdf"
    ),
    "floating joint that mimics": (
        _links(_joint("j", "floating", "a", "b", '<mimic joint="k"/>') + _joint("k", "revolute", "b", "c")), "urdf"
    ),
    "sdf mimic of fixed joints": (_sdf_mimic("fixed", "fixed"), "sdf"),
    "sdf mimic of a ball joint": (_sdf_mimic("revolute", "ball"), "sdf"),
    "inertia without mass": (_inertial("0", "ixx='1' iyy='1' izz='1'"), "urdf"),
    "negative mass": (_inertial("-1", "ixx='1' iyy='1' izz='1'"), "urdf"),
    "moments against the triangle inequality": (_inertial("8", "ixx='1' iyy='1' izz='3'"), "urdf"),
    "negative moment": (_inertial("2", "ixx='-1' iyy='1' izz='1'"), "urdf"),
    "sdf moments against the triangle inequality": (
        _sdf_link("<inertial><mass>8</mass><inertia><izz>3</izz></inertia></inertial>"), "sdf"
    ),
    "sdf link without mass": (_sdf_link("<inertial><mass>0</mass></inertial>"), "sdf"),
    "empty sdf mass": (_sdf_link("<inertial><mass/></inertial>"), "sdf"),
}  # fmt: skip

# A box of 1 x 2 x 3 m with a corner at the origin.
CUBE_OBJ = """o first
v 0 0 0\nv 1 0 0\nv 1 2 0\nv 0 2 0\nv 0 0 3\nv 1 0 3\nv 1 2 3\nv 0 2 3
f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5
o brick
f 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8
"""
