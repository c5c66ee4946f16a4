"""Drake's extensions of URDF and SDF: elements and attributes that start with `drake:`."""

from __future__ import annotations

__all__ = ["warn_about_unknown_tags"]

from merganser.multibody.parsing.errors import Diagnostics, SourceLocation
from merganser.multibody.parsing.xml_reader import XmlNode

_PREFIX = "drake:"
_KNOWN_ATTRIBUTES = {"acceleration"}
# Elements that are read, without prefix and without those of their children whose names start with their own.
_KNOWN_ELEMENTS = {
    # joints and actuators
    "acceleration", "controller_gains", "gear_ratio", "joint", "mimic", "rotor_inertia", "screw_thread_pitch",
    "angle", "child", "circular_arc", "curves", "damping", "initial_tangent", "is_periodic", "length", "line_segment",
    "parent", "plane_normal", "radius",
    # force elements and constraints
    "ball_constraint", "bushing_force_damping", "bushing_force_stiffness", "bushing_frameA", "bushing_frameC",
    "bushing_torque_damping", "bushing_torque_stiffness", "linear_bushing_rpy", "linear_spring_damper",
    # geometry and contact
    "capsule", "collision_filter_group", "compliant_hydroelastic", "declare_convex", "ellipsoid",
    "hunt_crossley_dissipation", "hydroelastic_margin", "hydroelastic_modulus", "ignored_collision_filter_group",
    "illustration_properties", "member", "member_group", "mesh_resolution_hint", "mu_dynamic", "mu_static",
    "point_contact_stiffness", "proximity_properties", "relaxation_time", "rigid_hydroelastic",
    # cameras
    "accepting_renderer", "diffuse_map", "perception_properties",
}  # fmt: skip
_WITH_CHILDREN_OF_THEIR_NAME = ("ball_constraint_", "linear_spring_damper_")
_MEANING = {
    "deformable_properties": "; the body is rigid",
    "soft_hydroelastic": "; its name is now <drake:compliant_hydroelastic>",
    "tendon_constraint": "; the joints move without it",
}


def warn_about_unknown_tags(root: XmlNode, diagnostics: Diagnostics) -> None:
    """Warns of each kind of element and attribute of Drake that has no effect here, at the first place of each."""
    found: dict[str, list[SourceLocation]] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for name in node.attributes:
            if name.startswith(_PREFIX) and name.removeprefix(_PREFIX) not in _KNOWN_ATTRIBUTES:
                found.setdefault(f"attribute '{name}'", []).append(node.location)
        if node.tag.startswith(_PREFIX) and not _is_known(node.tag.removeprefix(_PREFIX)):
            found.setdefault(f"<{node.tag}>", []).append(node.location)
            continue
        waiting += reversed(node.children)
    for what, places in found.items():
        others = f" (nor have {len(places) - 1} others below)" if len(places) > 1 else ""
        meaning = _MEANING.get(what.strip("<>").removeprefix(_PREFIX), "")
        diagnostics.warn(places[0], f"{what} is not supported; it has no effect{meaning}{others}.")


def _is_known(name: str) -> bool:
    return name in _KNOWN_ELEMENTS or name.startswith(_WITH_CHILDREN_OF_THEIR_NAME)
