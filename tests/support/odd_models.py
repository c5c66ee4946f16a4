"""Model files that are not by the book, as people write them, and that pydrake reads nevertheless."""

from __future__ import annotations

from pathlib import Path

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


def _sdf_model(inside: str) -> str:
    return f'<sdf version="1.9" xmlns:drake="d"><model name="m">{inside}</model></sdf>'


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
    "model of a nested model only": (_sdf_model('<model name="n"><link name="a"/></model>'), "sdf"),
    "nested models with frames of one name": (
        _sdf_model("".join(f'<model name="{n}"><link name="a"/><frame name="f"/></model>' for n in "np")), "sdf"
    ),
    "static model of nothing": (_sdf_model("<static>true</static>"), "sdf"),
    "static nested model": (
        _sdf_model(
            '<link name="a"/><model name="n"><static>true</static><link name="b"><pose>0 0 1 0 0 0</pose></link>'
            "</model>"
        ),
        "sdf",
    ),
    "ignored filter group": (
        _links(
            '<drake:collision_filter_group name="g" ignore="true"><drake:member link="a"/>'
            '<drake:ignored_collision_filter_group name="nowhere"/></drake:collision_filter_group>'
        ),
        "urdf",
    ),
    "ignored sdf filter group": (
        _sdf_model(
            '<link name="a"/><drake:collision_filter_group name="g" ignore="true"><drake:member>a</drake:member>'
            "<drake:ignored_collision_filter_group>g</drake:ignored_collision_filter_group>"
            "</drake:collision_filter_group>"
        ),
        "sdf",
    ),
    "empty sdf mass": (_sdf_link("<inertial><mass/></inertial>"), "sdf"),
}  # fmt: skip

# A box of 1 x 2 x 3 m with a corner at the origin.
CUBE_OBJ = """o first
v 0 0 0\nv 1 0 0\nv 1 2 0\nv 0 2 0\nv 0 0 3\nv 1 0 3\nv 1 2 3\nv 0 2 3
f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5
o brick
f 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8
"""

# Links with and without mass properties, in the ways in which files have them.
URDF_WITHOUT_INERTIA = """<?xml version="1.0"?>
<robot name="r">
  <!-- comment -->
  <link name="a">
    <visual><geometry><box size="1 2 3"/></geometry></visual>
  </link>
  <link name="b">
    <inertial>
      <mass value="3"/>
      <inertia ixx="-1" iyy="1" izz="1"/> <!-- odd -->
    </inertial>
    <collision><origin xyz="1 0 0" rpy="0.1 0.2 0.3"/><geometry><box size="1 2 3"/></geometry></collision>
    <visual><geometry><sphere radius="1"/></geometry></visual>
  </link>
  <link name="c">
    <inertial/>
    <collision><geometry><box size="1 2 3"/></geometry></collision>
  </link>
  <link name="d"/>
  <link name="world"><visual><geometry><box size="1 2 3"/></geometry></visual></link>
  <link name="e">
    <inertial>
      <origin xyz="1 2 3" rpy="1 0 0"/>
      <mass value="3"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <link name="f">
    <inertial>
      <origin xyz="1 2 3" rpy="1 0 0"></origin>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"></inertia>
      <mass value="3"></mass>
    </inertial>
    <collision><geometry><mesh filename="brick.obj"/></geometry></collision>
  </link>
</robot>
"""
SDF_WITHOUT_INERTIA = """<?xml version="1.0"?>
<sdf version="1.7">
  <model name="m">
    <link name="a">
      <inertial>
        <mass>2</mass>
      </inertial>
      <collision name="c"><pose>1 2 3 0 0 0</pose><geometry><sphere><radius>0.5</radius></sphere></geometry></collision>
    </link>
    <link name="b">
      <visual name="c"><geometry><sphere><radius>0.5</radius></sphere></geometry></visual>
    </link>
    <model name="n">
      <pose>1 0 0 0 0 0</pose>
      <link name="a">
        <inertial><pose>1 2 3 0 0 0</pose><mass>2</mass><inertia><ixx>1</ixx></inertia></inertial>
        <collision name="c"><geometry><sphere><radius>0.5</radius></sphere></geometry></collision>
        <collision name="d">
          <pose>1 0 0 0 0 0</pose><geometry><sphere><radius>0.5</radius></sphere></geometry>
        </collision>
      </link>
    </model>
  </model>
</sdf>
"""

# Two tetrahedra on a common face.
TETRAHEDRA_VTK = """# vtk DataFile Version 3.0
two tetrahedra
ASCII
DATASET UNSTRUCTURED_GRID
POINTS 5 double
0 0 0  1 0 0  0 1 0  0 0 1  0 0 -2
CELLS 2 10
4 0 1 2 3
4 0 2 1 4
CELL_TYPES 2
10
10
"""

# A model with everything that may refer to its own frame, which merging renames.
_RICH = """<sdf version="1.9"><model name="rich" canonical_link="l2"><pose>0 0 5 0 0 0.3</pose>
<link name="l1"><pose>1 0 0 0.1 0 0</pose></link><link name="l2"><pose relative_to="l1">0 1 0 0 0.2 0</pose></link>
<frame name="f1"/><frame name="f2" attached_to="l2"><pose relative_to="__model__">0 0 1 0 0 0</pose></frame>
<frame name="f3" attached_to="__model__"><pose>1 1 1 0 0 0</pose></frame>
<joint name="j" type="revolute"><parent>l1</parent><child>l2</child>
<axis><xyz expressed_in="__model__">1 0 0</xyz></axis></joint>
<model name="n"><pose>0 0 2 0 0 0</pose><link name="nl"/></model>
<joint name="jn" type="fixed"><parent>l1</parent><child>n::nl</child></joint>
</model></sdf>"""
_ROBOT = """<robot name="robot"><link name="base"/><link name="arm"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><limit effort="3" lower="-1"/></joint>
<transmission><type>SimpleTransmission</type><joint name="turn"/><actuator name="motor"/></transmission></robot>"""


def write_included_models(folder: Path) -> None:
    """Writes the models that INCLUDES include, as the package `models`."""
    (folder / "package.xml").write_text("<package><name>models</name></package>")
    (folder / "cube.obj").write_text(CUBE_OBJ)
    (folder / "rich.sdf").write_text(_RICH)
    (folder / "robot.urdf").write_text(_ROBOT)
    (folder / "versions").mkdir()
    (folder / "versions" / "model.config").write_text(
        '<?xml version="1.0"?><model><sdf version="1.6">old.sdf</sdf><sdf version="1.10">new.sdf</sdf>'
        '<sdf version="1.9">old.sdf</sdf></model>'
    )
    for name in ("old", "new"):
        (folder / "versions" / f"{name}.sdf").write_text(
            f'<sdf version="1.6"><model name="{name}"><link name="l"/></model></sdf>'
        )


def _include(file: str, inside: str = "", merge: str = "false", before: str = '<link name="z"/>') -> str:
    include = f'<include merge="{merge}"><uri>package://models/{file}</uri>{inside}</include>'
    return _sdf_model(before + include + '<link name="y"/>')


# Documents that name meshes of the package `models`; pydrake does not read all of this.
MESHES: dict[str, tuple[str, str]] = {
    "part and inertia": (
        _sdf_link(
            '<inertial auto="true"><density>3</density></inertial><collision name="c"><geometry><mesh>'
            "<uri>package://models/cube.obj</uri><scale>1 2 3</scale></mesh></geometry></collision>"
            '<visual name="v"><geometry><mesh optimization="convex_hull"><uri>package://models/cube.obj</uri><submesh>'
            "<name>brick</name><center>true</center></submesh></mesh></geometry></visual>"
        ),
        "sdf",
    ),
    "scaled": (
        '<robot name="r"><link name="a"><collision><geometry><mesh filename="package://models/cube.obj" scale="1 2 3">'
        "<drake:declare_convex/></mesh></geometry></collision></link></robot>",
        "urdf",
    ),
    "loop": (
        _sdf_model(
            "".join(f'<link name="{name}"/>' for name in "abc")
            + "".join(
                f'<joint name="{p}{c}" type="{kind}"><parent>{p}</parent><child>{c}</child><axis/></joint>'
                for p, c, kind in (("a", "b", "revolute"), ("b", "c", "prismatic"), ("a", "c", "ball"))
            )
        ),
        "sdf",
    ),
    "loop joint": (
        _links(
            _joint("j", "revolute", "a", "b")
            + '<loop_joint name="l" type="fixed"><link1 link="b" xyz="1 0 0"/><link2 link="c"/></loop_joint>'
        ),
        "urdf",
    ),
}

_POSE = '<pose relative_to="z">1 2 3 0 0 1</pose>'
INCLUDES = {
    "merged": _include("rich.sdf", merge="true"),
    "merged with another name and pose": _include("rich.sdf", f"<name>other</name>{_POSE}", "true"),
    "merged by a frame of its own": _include("rich.sdf", f"{_POSE}<placement_frame>f2</placement_frame>", "true"),
    "merged before any link": _include("rich.sdf", merge="true", before=""),
    "merged, without a word on static": _include("rich.sdf", "<static>true</static>", "true"),
    "static": _include("versions", f"<static>true</static>{_POSE}"),
    "robot": _include("robot.urdf"),
    "robot with a name and pose": _include("robot.urdf", f"<name>other</name>{_POSE}"),
    "merged robot": _include("robot.urdf", merge="true"),
    "merged robot with a name and pose": _include("robot.urdf", f"<name>other</name>{_POSE}", "true"),
    "robot merged by a frame of its own": _include(
        "robot.urdf", f"{_POSE}<placement_frame>arm</placement_frame>", "true"
    ),
    "robot merged before any link": _include("robot.urdf", merge="true", before=""),
    "robot that is referred to after merging": _sdf_model(
        '<link name="z"/><include merge="true"><uri>package://models/robot.urdf</uri></include>'
        '<joint name="w" type="fixed"><parent>z</parent><child>base</child></joint>'
        '<frame name="f" attached_to="arm"><pose>1 0 0 0 0 0</pose></frame>'
    ),
    "included twice in a nested model": _sdf_model(
        '<link name="z"/><model name="q"><link name="k"/>'
        "<include><uri>package://models/rich.sdf</uri><name>u</name></include>"
        "<include><uri>package://models/rich.sdf</uri><name>v</name><pose>1 2 3 0 0 1</pose></include></model>"
    ),
    "folder": _include("versions"),
}
