"""Which elements and attributes of URDF and SDF files have a meaning here; warnings name the others.

What other programs put into files for themselves only, and Drake passes over in silence, is none of both: <gazebo> and
<hardwareInterface> of URDF.
"""

from __future__ import annotations

from collections.abc import Mapping

from merganser.multibody.parsing.errors import Diagnostics, SourceLocation
from merganser.multibody.parsing.xml_reader import XmlNode

_DRAKE, _ONLY_DRAKE = "drake:", "drake:visual"


def _of_drake(prefix: str, names: str) -> str:
    return " ".join(f"{_DRAKE}{prefix}{name}" for name in names.split())


_CONTACT = _of_drake(
    "",
    "rigid_hydroelastic compliant_hydroelastic mesh_resolution_hint hydroelastic_modulus hydroelastic_margin "
    "hunt_crossley_dissipation relaxation_time point_contact_stiffness mu_static mu_dynamic",
)
_SEEN = _of_drake("", "illustration_properties perception_properties accepting_renderer")
_IN_MODELS = _of_drake(
    "", "joint linear_bushing_rpy linear_spring_damper ball_constraint tendon_constraint collision_filter_group"
)
_CURVES = _of_drake("", "initial_tangent plane_normal is_periodic curves")
_ACTUATOR = _of_drake("", "rotor_inertia gear_ratio controller_gains")
_BODY_A_AND_B = "body_A p_AP body_B p_BQ"
# Children that are read, by the tag of their parent, and by `grandparent/parent` where that matters.
_SHARED: dict[str, str] = {
    "drake:proximity_properties": _CONTACT,
    "drake:linear_bushing_rpy": _of_drake(
        "bushing_", "frameA frameC torque_stiffness torque_damping force_stiffness force_damping"
    ),
    "drake:linear_spring_damper": _of_drake("linear_spring_damper_", f"{_BODY_A_AND_B} free_length stiffness damping"),
    "drake:ball_constraint": _of_drake("ball_constraint_", _BODY_A_AND_B),
    "drake:tendon_constraint": _of_drake(
        "tendon_constraint_", "joint offset lower_limit upper_limit stiffness damping"
    ),
    "drake:collision_filter_group": _of_drake("", "member member_group ignored_collision_filter_group"),
    "drake:curves": _of_drake("", "line_segment circular_arc"),
}
_URDF_CHILDREN: dict[str, str] = {
    **_SHARED,
    "robot": f"link joint transmission material frame loop_joint gazebo {_IN_MODELS}",
    "link": "inertial visual collision",
    "inertial": "origin mass inertia",
    "visual": f"origin geometry material {_SEEN}",
    "collision": "origin geometry drake_compliance drake:proximity_properties",
    "geometry": "box sphere cylinder capsule ellipsoid plane mesh drake:capsule drake:ellipsoid",
    "mesh": "drake:declare_convex merganser:declare_terrain",
    "material": "color texture",
    "drake_compliance": "static_friction dynamic_friction",
    "joint": "origin parent child axis limit dynamics mimic",
    "drake:joint": f"origin parent child axis limit dynamics mimic drake:screw_thread_pitch {_CURVES}",
    "transmission": "type joint actuator mechanicalReduction hardwareInterface",
    "transmission/joint": "hardwareInterface",
    "actuator": f"mechanicalReduction hardwareInterface {_ACTUATOR}",
    "loop_joint": "link1 link2 axis",
}
_URDF_ATTRIBUTES: dict[str, str] = {
    "robot": "name", "link": "name drake_ignore", "origin": "xyz rpy", "inertial": "", "mass": "value",
    "inertia": "ixx iyy izz ixy ixz iyz", "visual": "name", "collision": "name", "geometry": "", "box": "size",
    "sphere": "radius", "cylinder": "radius length", "capsule": "radius length", "plane": "normal",
    "mesh": "filename scale decompose", "material": "name", "color": "rgba", "texture": "filename",
    "joint": "name type drake_ignore", "drake:joint": "name type drake_ignore", "parent": "link", "child": "link",
    "axis": "xyz", "limit": "lower upper velocity effort drake:acceleration", "dynamics": "damping friction",
    "mimic": "joint multiplier offset", "transmission": "name type", "actuator": "name",
    "frame": "name link xyz rpy", "loop_joint": "name type", "link1": "link xyz rpy", "link2": "link xyz rpy",
}  # fmt: skip
_SDF_CHILDREN: dict[str, str] = {
    **_SHARED,
    "world": "model include frame joint",
    "model": f"link joint frame model include pose static {_IN_MODELS}",
    "link": "inertial collision visual pose gravity kinematic drake:visual drake:deformable_properties "
    "drake:wall_boundary_condition",
    "drake:deformable_properties": _of_drake(
        "", "youngs_modulus poissons_ratio mass_damping stiffness_damping mass_density material_model"
    ),
    "drake:wall_boundary_condition": _of_drake("", "point_on_plane outward_normal"),
    "inertial": "pose mass inertia density",
    "inertia": "ixx iyy izz ixy ixz iyz",
    "visual": f"pose geometry material {_SEEN}",
    "collision": "pose geometry surface density drake:proximity_properties",
    "geometry": "box sphere cylinder capsule ellipsoid plane mesh empty cone polyline heightmap image drake:capsule "
    "drake:ellipsoid",
    "mesh": "uri scale submesh convex_decomposition drake:declare_convex merganser:declare_terrain",
    "heightmap": "uri size pos",
    "submesh": "name center",
    "box": "size",
    "sphere": "radius",
    "cylinder": "radius length",
    "capsule": "radius length",
    "ellipsoid": "radii",
    "plane": "normal size",
    "surface": "friction",
    "friction": "ode",
    "ode": "mu mu2",
    "material": "ambient diffuse specular emissive pbr drake:diffuse_map",
    "metal": "albedo_map",
    "pbr/specular": "albedo_map",
    "joint": f"parent child pose axis axis2 screw_thread_pitch thread_pitch drake:mimic {_ACTUATOR}",
    "drake:joint": _of_drake("", "parent child damping") + f" {_CURVES}",
    "drake:circular_arc": _of_drake("", "radius angle"),
    "drake:line_segment": "drake:length",
    "axis": "xyz limit dynamics mimic use_parent_model_frame",
    "axis2": "xyz limit dynamics use_parent_model_frame",
    "limit": "lower upper velocity effort drake:acceleration",
    "dynamics": "damping friction spring_stiffness spring_reference",
    "mimic": "multiplier offset reference",
    "frame": "pose",
}
_SDF_ATTRIBUTES: dict[str, str] = {
    "world": "name", "model": "name canonical_link placement_frame", "link": "name", "visual": "name",
    "collision": "name", "joint": "name type", "drake:joint": "name type", "frame": "name attached_to",
    "pose": "relative_to rotation_format degrees", "xyz": "expressed_in", "inertial": "auto",
    "mesh": "optimization decompose", "mimic": "joint axis", "geometry": "", "material": "", "axis": "", "axis2": "",
}  # fmt: skip
_MEANING = {
    "deformable_properties": "; the body is rigid",
    "soft_hydroelastic": "; its name is now <drake:compliant_hydroelastic>",
}


def report_unused(root: XmlNode, diagnostics: Diagnostics) -> None:
    """Warns of each kind of element and attribute that has no effect here, at the first place of each.

    Args:
        root: <robot>, or <world> or <model>.
        diagnostics: receives the warnings.
    """
    _Report(root).warn(diagnostics)


class _Report:
    """The places of what has no effect."""

    def __init__(self, root: XmlNode) -> None:
        self._places: dict[str, list[SourceLocation]] = {}
        is_urdf = root.tag == "robot"
        self._children = _sets(_URDF_CHILDREN if is_urdf else _SDF_CHILDREN)
        self._attributes = _sets(_URDF_ATTRIBUTES if is_urdf else _SDF_ATTRIBUTES)
        self._look_into(root)

    def warn(self, diagnostics: Diagnostics) -> None:
        for what, places in self._places.items():
            others = f" (nor have {len(places) - 1} others below)" if len(places) > 1 else ""
            meaning = _MEANING.get(what.strip("<>").removeprefix(_DRAKE), "")
            diagnostics.warn(places[0], f"{what} is not supported; it has no effect{meaning}{others}.")

    def _look_into(self, root: XmlNode) -> None:
        waiting: list[tuple[XmlNode, str, frozenset[str] | None]] = [(root, "", None)]
        while waiting:
            node, parent, known = waiting.pop()
            robot = getattr(node, "robot", None)
            if robot is not None:  # included in an SDF file
                for what, places in _Report(robot)._places.items():
                    self._places.setdefault(what, []).extend(places)
                continue
            tag, is_drake = node.tag, node.tag.startswith(_DRAKE)
            if _ONLY_DRAKE in (tag, parent):  # where all tags have the prefix
                tag = tag if tag in _SEEN.split() else _ONLY_DRAKE
            elif is_drake if known is None and parent else known is not None and tag not in known:
                self._note(f"<{tag}>" if is_drake else f"<{tag}> in <{parent}>", node)
                continue
            self._note_attributes(node)
            children = self._children.get(f"{parent}/{tag}", self._children.get(tag))
            waiting += [(child, tag, children) for child in reversed(node.children)]

    def _note_attributes(self, node: XmlNode) -> None:
        known = self._attributes.get(node.tag)
        for name, value in node.attributes.items():
            if name.startswith(("xmlns", "xsi:", "xml:")) or not value:
                continue
            is_drake = name.startswith(_DRAKE)
            if (known is None and is_drake) or (known is not None and name not in known):
                self._note(f"attribute '{name}'" if is_drake else f"attribute '{name}' of <{node.tag}>", node)

    def _note(self, what: str, node: XmlNode) -> None:
        self._places.setdefault(what, []).append(node.location)


def _sets(words: Mapping[str, str]) -> dict[str, frozenset[str]]:
    return {tag: frozenset(names.split()) for tag, names in words.items()}
