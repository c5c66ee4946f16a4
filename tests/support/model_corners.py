"""Small URDF and SDFormat documents, one for each corner of the formats, that pydrake reads, too."""

from __future__ import annotations


def urdf(inside: str) -> str:
    return f'<robot name="r" xmlns:drake="http://drake.mit.edu">{inside}</robot>'


def sdf(inside: str, version: str = "1.9", name: str = 'name="m"') -> str:
    return f'<sdf version="{version}" xmlns:drake="http://drake.mit.edu"><model {name}>{inside}</model></sdf>'


def in_link(inside: str, version: str = "1.9") -> str:
    """An SDF link with something in it."""
    return sdf(f'<link name="a">{inside}</link>', version)


def _shape(inside: str, role: str = "collision", before: str = "", name: str = "c") -> str:
    return f'<{role} name="{name}">{before}<geometry>{inside}</geometry></{role}>'


def _box(size: str = "1 2 3") -> str:
    return f"<box><size>{size}</size></box>"


def chain(in_axis: str = "", in_joint: str = "", after: str = "") -> str:
    """An SDF model of three links, of which joint j turns the second one, and k the third one."""
    links = "".join(f'<link name="{n}"><pose>{x} 0 0 0 0 0</pose></link>' for x, n in enumerate("abc"))
    joints = [
        f'<joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child>'
        f"<axis><xyz>0 0 1</xyz>{axis}</axis>{inside}</joint>"
        for name, parent, child, axis, inside in (("j", "a", "b", "", ""), ("k", "b", "c", in_axis, in_joint))
    ]
    return sdf(f"{links}{''.join(joints)}{after}")


def _urdf_link(inside: str) -> str:
    return urdf(f'<link name="a">{inside}</link>')


def _urdf_joint(inside: str = "", kind: str = "revolute", after: str = "") -> str:
    return urdf(
        f'<link name="a"/><link name="b"/><joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{inside}'
        f"</joint>{after}"
    )


_TENDON = """<drake:tendon_constraint><drake:tendon_constraint_joint name="j" a="1.5"/>
<drake:tendon_constraint_joint name="k" a="-0.7"/><drake:tendon_constraint_offset>0.2</drake:tendon_constraint_offset>
<drake:tendon_constraint_lower_limit>-0.1</drake:tendon_constraint_lower_limit>
<drake:tendon_constraint_upper_limit>0.1</drake:tendon_constraint_upper_limit>
<drake:tendon_constraint_stiffness>100</drake:tendon_constraint_stiffness>
<drake:tendon_constraint_damping>0.5</drake:tendon_constraint_damping></drake:tendon_constraint>"""
_URDF_TENDON = """<drake:tendon_constraint><drake:tendon_constraint_joint name="j" a="2"/>
<drake:tendon_constraint_offset value="0"/><drake:tendon_constraint_lower_limit value="-1"/>
<drake:tendon_constraint_upper_limit value="1"/><drake:tendon_constraint_stiffness value="3"/>
<drake:tendon_constraint_damping value="0"/></drake:tendon_constraint>"""
_DRAKE_VISUAL = """<visual name="v"><drake:illustration_properties enabled="false"/>
<geometry><sphere><radius>1</radius></sphere></geometry></visual>
<drake:visual name="w"><drake:perception_properties enabled="false"/><drake:pose>1 0 0 0 0 0</drake:pose>
<drake:geometry><drake:box><drake:size>1 2 3</drake:size></drake:box></drake:geometry>
<drake:material><drake:diffuse>1 0 0 1</drake:diffuse></drake:material></drake:visual>"""
_COLORS = """<material><ambient>0.1 0.2 0.3 1</ambient><diffuse>1 0 0 1</diffuse><specular>0.5 0.5 0.5 0.5</specular>
<emissive>0 0 1 1</emissive><shininess>3</shininess></material>"""
_URDF_ROLES = "".join(
    f'<visual><geometry><box size="1 1 1"/></geometry>{tags}</visual>'
    for tags in (
        '<drake:perception_properties enabled="false"/>',
        '<drake:illustration_properties enabled="false"/><drake:accepting_renderer name="q"/>',
        '<drake:illustration_properties enabled="false"/><drake:perception_properties enabled="false"/>',
    )
)
_CONTACT = "".join(
    f"<drake:{name}>{value}</drake:{name}>"
    for name, value in (
        ("mesh_resolution_hint", "0.1"), ("hydroelastic_modulus", "1e6"), ("hydroelastic_margin", "1e-4"),
        ("hunt_crossley_dissipation", "2"), ("relaxation_time", "0.1"), ("point_contact_stiffness", "1e5"),
        ("mu_static", "0.7"), ("mu_dynamic", "0.6"),
    )
)  # fmt: skip
_PLANES = "".join(
    _shape(f"<plane>{normal}</plane>", name=f"c{i}")
    for i, normal in enumerate(
        ("", *(f"<normal>{n}</normal>" for n in ("0 0 1", "0 1 0", "1 1 1", "0 0 -1", "-3 0.2 0", "0.3 -0.5 -0.1")))
    )
)

CORNERS: dict[str, tuple[str, str]] = {
    # shapes
    "sizes by default": (
        in_link("".join(_shape(f"<{s}/>", name=s) for s in ("box", "sphere", "cylinder", "capsule", "ellipsoid"))),
        "sdf",
    ),
    "planes": (in_link(_PLANES), "sdf"),
    "shapes without counterpart": (
        in_link(_shape("<cone><radius>1</radius><length>2</length></cone>"), "1.12"), "sdf"
    ),
    # mass
    "inertia of a box": (in_link(f'<inertial auto="true"/>{_shape(_box())}'), "sdf"),
    "inertia of several densities": (
        in_link(
            '<inertial auto="true"><density>300</density></inertial>'
            + _shape(_box(), before="<density>500</density><pose>0.1 0.2 0.3 0.4 0 0</pose>")
            + _shape("<cylinder><radius>0.5</radius><length>2</length></cylinder>", name="d"),
            "1.11",
        ),
        "sdf",
    ),
    "inertia of a mass": (
        in_link(
            '<inertial auto="true"><mass>3</mass></inertial>'
            + _shape("<capsule><radius>0.5</radius><length>2</length></capsule>")
            + _shape("<sphere><radius>0.5</radius></sphere>", before="<pose>1 0 0 0 0 0</pose>", name="d"),
            "1.11",
        ),
        "sdf",
    ),
    "inertia of a cone": (
        in_link(f'<inertial auto="true"/>{_shape("<cone><radius>1</radius><length>2</length></cone>")}', "1.12"), "sdf"
    ),
    "inertia from poses in other frames": (
        in_link(
            '<pose>1 2 3 0 0 1</pose><inertial auto="true"/>'
            + _shape(
                "<ellipsoid><radii>1 2 3</radii></ellipsoid>",
                before='<pose relative_to="__model__">0.3 0 0 0.2 0 0</pose>',
            ),
            "1.11",
        ),
        "sdf",
    ),
    # looks
    "visual for Drake only": (in_link(_DRAKE_VISUAL), "sdf"),
    "all colours": (in_link(_shape(_box(), "visual").replace("</visual>", f"{_COLORS}</visual>")), "sdf"),
    "accepting renderers": (
        in_link(
            _shape(
                _box(), "visual", "".join(f"<drake:accepting_renderer>{n}</drake:accepting_renderer>" for n in "xy")
            )
        ),
        "sdf",
    ),
    "roles of urdf": (_urdf_link(_URDF_ROLES), "urdf"),
    # contact
    "all contact properties": (
        in_link(
            _shape(
                _box(),
                before=f"<drake:proximity_properties><drake:compliant_hydroelastic/>{_CONTACT}"
                "</drake:proximity_properties>",
            )
        ),
        "sdf",
    ),
    "modulus of a rigid geometry": (
        _urdf_link(
            '<collision><geometry><box size="1 1 1"/></geometry><drake:proximity_properties><drake:rigid_hydroelastic/>'
            '<drake:hydroelastic_modulus value="1e5"/></drake:proximity_properties></collision>'
        ),
        "urdf",
    ),
    "old friction": (
        _urdf_link(
            '<collision><geometry><box size="1 1 1"/></geometry><drake_compliance><static_friction>0.7'
            "</static_friction><dynamic_friction>0.5</dynamic_friction></drake_compliance></collision>"
        ),
        "urdf",
    ),
    # joints and constraints
    "mimic of Drake": (chain(in_joint='<drake:mimic joint="j" multiplier="2" offset="1"/>'), "sdf"),
    "tendon": (chain(after=_TENDON), "sdf"),
    "tendon of urdf": (_urdf_joint(after=_URDF_TENDON), "urdf"),
    "limits and springs": (
        chain(
            "<limit><lower>-1</lower><upper>1</upper><effort>-1</effort><velocity>-1</velocity></limit><dynamics>"
            "<damping>0.1</damping><spring_stiffness>3</spring_stiffness><spring_reference>0.2</spring_reference>"
            "</dynamics>"
        ),
        "sdf",
    ),
    "elements that Drake ignores": (
        urdf(
            '<link name="a"/><link name="b" drake_ignore="true"/><joint name="j" type="fixed" drake_ignore="true">'
            '<parent link="a"/><child link="b"/></joint>'
        ),
        "urdf",
    ),
    "coulomb window, safety and calibration": (
        _urdf_joint(
            '<safety_controller k_velocity="1"/><calibration rising="0"/><dynamics damping="0.1" coulomb_window="3"/>'
        ),
        "urdf",
    ),
    # frames and versions
    "axes in the frame of the model": (
        sdf(
            '<pose>0 0 1 0 0 0.5</pose><link name="a"/><link name="b"><pose>1 0 0 0 0.5 0</pose></link><joint name="j" '
            'type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>',
            "1.4",
        ),
        "sdf",
    ),
    "poses in a frame": (
        sdf(
            '<link name="a"><pose frame="">0 0 0 0.3 0 0</pose></link><link name="b"><pose frame="a">1 0 0 0 0.5 0'
            "</pose></link>",
            "1.5",
        ),
        "sdf",
    ),
    "degrees and quaternions": (
        sdf(
            '<link name="a"><pose degrees="true">0 0 0 90 0 30</pose></link><link name="b">'
            '<pose rotation_format="quat_xyzw">1 2 3 0 0 0.61 0.8</pose></link><link name="c">'
            '<pose rotation_format="euler_rpy" degrees="true">1 2 3 10 20 30</pose></link>'
        ),
        "sdf",
    ),
    "placement frame": (
        sdf(
            '<link name="a"/><model name="n" placement_frame="f"><pose>1 2 3 0 0 1</pose><link name="b"/>'
            '<frame name="f"><pose>0 0.5 0 0.2 0 0</pose></frame></model>'
        ),
        "sdf",
    ),
    "canonical link of a nested model": (
        sdf(
            '<link name="a"/><model name="n" canonical_link="b"><pose relative_to="a">1 2 3 0 0 1</pose>'
            '<link name="c"/>'
            '<link name="b"><pose>1 0 0 0 0 0</pose></link></model>',
            name='name="m" canonical_link="n::b"',
        ),
        "sdf",
    ),
    "world with all that is not for models": (
        '<sdf version="1.9"><world name="w"><gravity>0 0 -5</gravity><physics name="p" type="ode"/>'
        '<model name="m"><link name="a"/></model><frame name="f"><pose>1 0 0 0 0 0</pose></frame></world></sdf>',
        "sdf",
    ),
}
