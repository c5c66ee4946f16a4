"""MJCF documents for tests, each with a corner of the format; those of files need the files beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.odd_models import CUBE_OBJ

DOCUMENTS: dict[str, str] = {
    "joints": """<mujoco model="joints"><compiler angle="radian"/><option gravity="0 0 -5"/>
<default><joint damping="0.2"/><geom friction="0.7 0.01 0.001"/></default>
<worldbody><geom type="plane" size="1 1 1"/><geom name="named" type="box" size="1 1 1" group="4"/>
<body name="a" pos="1 0 0" euler="0.1 0.2 0.3"><joint name="s1" type="slide" axis="1 0 0" range="-1 1" ref="0.5"/>
<joint axis="0 1 0" limited="true" range="-1 2" pos="0 0 0.1"/><joint name="h" axis="1 1 0" stiffness="3"
springref="0.3" ref="0.2" armature="0.3"/><geom size=".1"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".1"/>
<body pos="0 0 1"><joint name="ball" type="ball" pos="0.1 0 0"/><geom type="ellipsoid" size=".1 .2 .3"/>
<body name="w" pos="0 1 0"><geom type="cylinder" size=".2 .1" mass="3"/></body></body></body>
<body name="f" pos="0 0 3" quat="1 2 0 0"><freejoint name="fj"/><geom type="box" size=".1 .2 .3" pos="0.1 0 0"/>
</body>
<body name="d" pos="0 0 5"><joint type="free" damping="3"/><geom size=".1"/></body>
<body pos="0 0 9"><geom type="box" size=".1 .2 .3"/></body></worldbody></mujoco>""",
    "classes": """<mujoco model="classes"><compiler autolimits="false" eulerseq="ZYx" boundmass="0.5"
inertiagrouprange="0 1"/>
<default><geom size="0.1" density="500"/><joint axis="1 0 0"/>
<default class="big"><geom size="0.3 0.2 0.1" type="box"/><joint damping="1" type="slide"/>
<default class="bigger"><geom shellinertia="true"/></default></default>
<default class="motors"><position kp="7" kv="2"/></default></default>
<worldbody><body name="a" childclass="big"><joint name="j" range="-1 1" limited="true"/><geom/>
<body name="b" pos="0 0 1"><joint class="main" name="k" axis="0 1 1"/><geom class="bigger"/><geom group="2" mass="9"/>
<frame pos="1 0 0" euler="10 20 30" childclass="bigger"><geom/><body name="c" axisangle="1 2 3 40"><joint name="l"/>
<geom/>
<inertial pos="0.1 0 0.2" quat="1 0 1 0" mass="2" diaginertia="1 1.5 2"/></body></frame></body></body></worldbody>
<actuator><position name="p" joint="k" class="motors" forcerange="-3 3" forcelimited="true"/>
<motor joint="j" gear="-2" ctrlrange="-1 1" ctrllimited="true"/><velocity joint="l" kv="3"/></actuator></mujoco>""",
    "replicas": """<mujoco model="replicas"><worldbody><replicate count="2" offset="0 1 0" euler="90 0 0">
<body name="b" pos="0 0 .3"><joint name="j"/><geom size=".1 .2 .3" type="box"/>
<replicate count="11" sep="-" offset=".3 .1 0" euler="10 20 30"><geom name="A" size=".1" pos=".1 0 0"/></replicate>
<replicate count="2" sep="_" offset="1 0 0" euler="0 40 20"><body name="c" pos="1 0 0">
<joint name="k" axis="0 1 0" pos=".1 .2 .3"/><geom type="box" size=".1 .2 .3"/></body></replicate></body></replicate>
<body name="q" pos="0 0 3"><joint name="z" axis="0 1 0"/><geom size=".1"/>
<body name="r" xyaxes="0 1 0 -1 1 0"><geom size=".2" pos="1 0 0"/></body></body>
<body name="s" zaxis="1 2 3"><joint/><geom size=".1"/><attach body="r" prefix="again-"/></body></worldbody>
<actuator><motor name="m" joint="j"/><motor name="n" joint="k"/><motor name="one" joint="k_01"/></actuator>
<contact><exclude body1="q" body2="r"/><exclude body1="b0" body2="again-r"/></contact></mujoco>""",
    "actuators": """<mujoco model="actuators"><default><motor ctrlrange="-1 1" gear="3"/></default><worldbody>
<body name="a"><joint name="j" range="-30 50" armature="0.2" actuatorfrcrange="-9 9"/><geom size=".1" pos="1 0 0"/>
<body name="b" pos="1 0 0"><joint name="k" type="slide" axis="1 0 0"/><geom size=".1"/>
<joint name="ball" type="ball"/></body></body></worldbody>
<actuator><motor name="m" joint="j"/><position name="p" joint="k" kp="4" dampratio="0.5" gear="2" armature="0.1"/>
<velocity name="v" joint="j" kv="2" forcerange="-5 4"/><general name="g" joint="k" gainprm="3" biastype="affine"
biasprm="0.5 -2 -1"/><general name="o" joint="k" dyntype="integrator"/><muscle name="u" joint="j"/>
<motor name="w" joint="ball" gear="1 0 0"/><motor name="t" tendon="t"/><damper name="d" joint="j" kv="1" ctrlrange="0
1"/><dcmotor joint="j" resistance="1" motorconst="0.1" inductance="1" cogging=".1 5 .2" saturation="1 0 9"
thermal="2 30
0 .004 25 20" lugre="50 .3 .1 .15 .2" controller="2 .5 .1 3 .4 5" input="pos" delay=".01" nsample="3"
interp="linear"/>
<pid joint="k" kp="3" ki="2" imax="1" slewmax="4" gear="2"/><orientation name="q" joint="ball" kp="3" forcerange="0
2"/>
<general joint="ball" gaintype="so3" biastype="so3" dyntype="integrator" gainprm="3" biasprm="0 -3 0"
actearly="true"/>
<adhesion body="a" ctrlrange="0 1"/>
<general joint="k" dyntype="user"/></actuator><tendon><fixed name="t"><joint joint="j" coef="2"/>
<joint joint="k" coef="-3"/></fixed>
<spatial name="sp" armature="1" margin="0.1"><site site="s1"/><site site="s2"/></spatial></tendon></mujoco>""".replace(
        '<geom size=".1"/>\n<joint name="ball"', '<geom size=".1"/><site name="s2"/>\n<joint name="ball"'
    ).replace('<body name="b"', '<site name="s1"/><body name="b"'),
    "equalities": """<mujoco model="equalities"><worldbody><body name="a" pos="0 0 1" euler="0 20 0">
<joint name="j" ref="10"/>
<geom size=".1"/><site name="s" pos="0.1 0 0" euler="0 0 30"/><body name="b" pos="1 0 0"><joint name="k" axis="1 0
0"/>
<geom size=".1"/><site name="t" pos="0 0.2 0"/></body></body><body name="f" pos="0 2 0"><freejoint/><geom size=".1"/>
</body>
</worldbody><tendon><fixed name="x"><joint joint="j" coef="2"/><joint joint="k" coef="-3"/></fixed>
<fixed name="y"><joint joint="j" coef="1"/></fixed><fixed name="z"><joint joint="k" coef="4"/></fixed></tendon>
<equality><connect body1="a" body2="f" anchor="0.3 0 1"/><weld body1="b" body2="f" anchor="0.1 0.2 0"/>
<weld body1="f" relpose="0.1 0.2 0.3 1 1 0 0"/><connect site1="s" site2="t"/><weld site1="s" site2="t"/>
<joint joint1="j" joint2="k" polycoef="0.1 2 0 0 0"/><tendon tendon1="x" polycoef="0.2 0 0 0 0"/>
<tendon tendon1="y" tendon2="z" polycoef="0.3 0.5 0 0 0"/><joint joint1="j"/><joint joint1="j" joint2="k" polycoef="0
1 1 0 0"/>
<weld body1="a" body2="f" active="false"/></equality></mujoco>""",
    "contacts": """<mujoco model="contacts"><worldbody><geom name="ground" type="plane" size="1 1 1"/>
<body name="base"><geom name="g0" size=".1"/><body name="arm"><joint/><geom name="g1" size=".1"/>
<geom name="g2" size=".1" contype="2" conaffinity="2"/><body name="hand"><joint axis="1 0 0"/><joint axis="0 1 0"/>
<geom name="g3" size=".1"/><body name="tool"><geom name="g4" size=".1" contype="2" conaffinity="0"/></body></body>
</body>
</body><body name="cup"><freejoint/><geom name="g5" size=".1"/><geom name="g6" size=".1" contype="0" conaffinity="0"/>
<geom name="g7" size=".1" contype="0" conaffinity="2" group="3"/></body></worldbody><contact>
<exclude body1="cup" body2="arm"/><pair geom1="g6" geom2="ground" condim="1"/><pair geom1="g1" geom2="g5"/></contact>
</mujoco>""",
    "keyframes": """<mujoco model="keyframes"><worldbody><body name="a"><joint name="j" type="slide" axis="1 0 0"
ref="0.5"/>
<geom size=".1"/><body name="b"><joint name="ball" type="ball"/><geom size=".1"/></body></body>
<body name="f" pos="0 0 3"><freejoint/><geom size=".1"/></body></worldbody><keyframe><key name="other" qpos="0"/>
<key name="home" qpos="0.7 0.6 0.8 0 0 1 2 3 0 0 0 1" qvel="1"/></keyframe></mujoco>""",
    "masses": """<mujoco model="masses"><compiler boundmass=".5" boundinertia=".2" balanceinertia="true"
settotalmass="20"/>
<worldbody><body><joint/><geom size=".01"/></body><body><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 5"/>
</body>
<body><joint springdamper=".3 .7"/><joint type="slide" axis="1 2 3" springdamper=".2 1"/>
<geom type="cylinder" size=".1 .2" pos="0.3 0 0"/><body><joint stiffness="3" springref="20" axis="0 1 0"
damping=".4"/>
<geom size=".1"/></body></body><body><joint/><inertial pos="1 2 3" mass="4" fullinertia="3 4 5 0.1 0.2 0.3"/></body>
</worldbody></mujoco>""",
    "shells": """<mujoco model="shells"><default><geom shellinertia="true" density="30"/></default><worldbody>
<body><joint/><geom size=".3" pos="1 0 0"/></body><body><joint/><geom type="box" size=".1 .2 .3" euler="10 20 30"/>
</body>
<body><joint/><geom type="cylinder" size=".1 .3"/></body><body><joint/><geom type="capsule" size=".1 .3" mass="2"/>
</body>
<body><joint/><geom type="ellipsoid" size=".1 .2 .3"/></body></worldbody></mujoco>""",
    "fused": """<mujoco model="fused"><compiler fusestatic="true" discardvisual="true"/><worldbody>
<body name="s" pos="0 0 1"><geom size=".1"/><site name="t"/><body name="a" euler="10 0 0"><joint name="j"/>
<geom size=".1"/>
<body name="b" pos="1 0 0" euler="0 20 0"><inertial pos="0 0 1" mass="2" diaginertia="1 1 1"/>
<geom type="box" size=".1 .2 .3"/><body name="c" pos="0 1 0"><joint/><geom size=".2"/><body name="kept">
<geom size=".1"/>
</body></body></body></body></body></worldbody><contact><exclude body1="kept" body2="a"/></contact></mujoco>""",
    "vertices": """<mujoco model="vertices"><asset><mesh name="m" vertex="0 0 0 1 0 0 0 2 0 0 0 3 .5 .6 .7" refpos="1
2 3"
refquat="0.7 0.7 0 0" scale="2 1 1"/><mesh name="n" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"/>
<hfield name="h" nrow="2" ncol="3" elevation="0 1 2 3 4 10" size="1 2 3 .5"/></asset><worldbody>
<geom type="hfield" hfield="h" pos="0 0 -5"/><body pos="1 0 0"><joint/><geom type="mesh" mesh="m" euler="10 20 30"/>
</body>
<body><joint/><geom type="box" mesh="m" pos="1 0 0" fitscale="1.1"/></body><body><joint/>
<geom type="capsule" mesh="m"/></body>
<body><joint/><geom type="mesh" mesh="n" mass="2"/></body></worldbody></mujoco>""",
    "tendons": """<mujoco model="tendons"><option timestep=".002"/><asset><hfield name="h" nrow="3" ncol="3"
elevation="0 1 0 1 2 1 0 1 0" size="1 1 .2 .1"/></asset><default><joint damping=".1"/><geom contype="0"
conaffinity="0"/>
</default><worldbody><geom type="hfield" hfield="h" pos="0 0 -1" contype="1" conaffinity="1"/><site name="s0"
pos="-.3 0 .1"/>
<site name="p0" pos="0 0 1"/><body name="a"><joint name="j" axis="0 1 0" range="-60 60"/>
<geom name="knuckle" type="cylinder" size=".05 .1" zaxis="0 1 0"/><geom name="knob" size=".04" pos=".3 0 0"/>
<site name="over" pos="0 0 .2"/><site name="s1" pos=".2 0 .05"/><body name="b" pos=".3 0 0"><joint name="k" axis="0
1 0"/>
<geom name="tip" size=".03" pos=".3 0 0" contype="1" conaffinity="1"/><site name="in" pos="0 0 .01"/>
<site name="s2" pos=".2 0 .05"/></body></body><body name="ball" pos="0 0 2"><freejoint/>
<geom size=".1" contype="1" conaffinity="1"/></body></worldbody><tendon>
<spatial name="outer" limited="true" range=".1 2" stiffness="3" damping=".2" springlength=".3 .4" frictionloss=".1">
<site site="s0"/><geom geom="knuckle" sidesite="over"/><site site="s1"/><geom geom="knob"/><site site="s2"/></spatial>
<spatial name="inner"><site site="s1"/><geom geom="knob" sidesite="in"/><site site="s2"/></spatial>
<spatial name="hoist"><site site="p0"/><site site="s1"/><pulley divisor="2"/><site site="p0"/><site
site="s2"/></spatial>
<fixed name="both" range="-1 1"><joint joint="j" coef="1"/><joint joint="k" coef="-.5"/></fixed></tendon><actuator>
<muscle name="m" tendon="outer" force="50" lengthrange=".4 .8"/><muscle tendon="inner" timeconst=".02 .05"/>
<position tendon="hoist" kp="20" kv="2" ctrlrange="0 2"/><general tendon="both" dyntype="filter" dynprm=".1"
gainprm="2"
biastype="affine" biasprm=".1 -2 -.3" actlimited="true" actrange="-1 1"/><muscle joint="k" gear=".03"/>
<motor site="s2" refsite="s0" gear="1 0 0 0 1 0"/></actuator><sensor><tendonpos tendon="both" nsample="4" delay=".003"
interp="linear"/><jointpos joint="j" nsample="3" interval=".006 -.002"/><actuatorfrc
actuator="m"/></sensor></mujoco>""",
}  # fmt: skip

# Documents that need the files of write_files() in their folder.
FILES: dict[str, str] = {
    "meshes": """<mujoco model="meshes"><compiler meshdir="meshes" texturedir="."/><asset>
<mesh file="cube.obj" scale="0.1 0.2 -0.3"/>
<mesh file="tetrahedron.stl" inertia="exact"/><mesh name="own" file="tetrahedron.msh" inertia="convex" refpos="1 0
0"/>
<texture name="wood" type="2d" file="wood.png"/><material name="wood" texture="wood" rgba="1 0 0 1"/>
<hfield name="hills" file="hills.png" size="1 1 0.5 0.1"/></asset><worldbody><geom type="hfield" hfield="hills"/>
<body pos="0 0 1"><joint/><geom type="mesh" mesh="cube" material="wood"/></body><body pos="1 0 1"><joint/>
<geom type="mesh" mesh="tetrahedron"/><geom type="sphere" mesh="own"/></body><body><joint/>
<geom type="mesh" mesh="own"/>
</body></worldbody></mujoco>""",
    "parent": """<mujoco model="parent"><asset><model name="kid" file="child.xml"/></asset>
<include file="included.xml"/><worldbody>
<body name="base" pos="0 0 2"><joint/><geom size=".4"/><frame euler="0 30 0"><attach model="kid" body="arm"
prefix="L-"/>
</frame><replicate count="2" offset="1 0 0"><attach model="kid" frame="fr" prefix="R-"/></replicate></body>
<attach model="kid" prefix="all-"/></worldbody><equality><joint joint1="R-j1" joint2="L-k"/></equality>
<actuator><motor name="own" joint="L-j"/></actuator><sensor><jointpos joint="all-o"/></sensor></mujoco>""",
}  # fmt: skip
_CHILD = """<mujoco model="child"><compiler angle="radian" autolimits="false"/><default><joint damping="3"/>
<default class="x"><geom size=".3"/></default></default><worldbody><site name="w"/><frame name="fr" pos="0 0 1">
<body name="arm" pos="1 0 0" euler="1 0 0" childclass="x"><joint name="j" limited="true" range="-1 1"/><geom/>
<body name="hand"><joint name="k" axis="1 0 0"/><geom size=".1"/></body></body></frame>
<body name="other"><joint name="o"/><geom size=".2"/></body></worldbody>
<actuator><motor name="m" joint="j"/><position name="p" joint="o"/></actuator>
<equality><joint joint1="j" joint2="k"/></equality><contact><exclude body1="arm" body2="hand"/></contact></mujoco>"""
_INCLUDED = """<mujocoinclude><default><geom rgba="0 1 0 1"/></default><worldbody><body name="extra" pos="9 0 0">
<joint name="e"/><geom size=".1"/></body></worldbody></mujocoinclude>"""


def write_files(folder: Path) -> None:
    """Writes what FILES refer to, and FILES themselves under their names."""
    from PIL import Image

    (folder / "meshes").mkdir()
    (folder / "meshes" / "cube.obj").write_text(CUBE_OBJ.replace("o brick\n", ""))  # MuJoCo takes one object
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], dtype="<f4")
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype="<i4")
    records = b"".join(bytes(12) + points[face].tobytes() + bytes(2) for face in faces)
    (folder / "meshes" / "tetrahedron.stl").write_bytes(bytes(80) + np.int32(4).tobytes() + records)
    numbers = np.array([4, 0, 0, 4], dtype="<i4")
    (folder / "meshes" / "tetrahedron.msh").write_bytes(numbers.tobytes() + points.tobytes() + faces.tobytes())
    heights = np.array([[0, 50, 100], [150, 200, 255]], dtype=np.uint8)
    Image.fromarray(heights).save(folder / "meshes" / "hills.png")
    Image.fromarray(heights).save(folder / "wood.png")
    (folder / "child.xml").write_text(_CHILD)
    (folder / "included.xml").write_text(_INCLUDED)
    for name, text in FILES.items():
        (folder / f"{name}.xml").write_text(text)
