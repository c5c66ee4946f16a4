"""Reads an SDF document into a description.

The work is done in three steps: included files are put in place (sdf_include.py), the frames of all models
are collected (sdf_scope.py), and the elements are read with poses resolved through those frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import pi
from pathlib import Path

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import Convex, Mesh
from merganser.multibody.parsing.build_geometry import make_shape
from merganser.multibody.parsing.description import (
    BodyReference,
    CouplerDescription,
    DocumentDescription,
    FrameDescription,
    JointDescription,
    LinkDescription,
    ModelDescription,
)
from merganser.multibody.parsing.errors import Diagnostics, ParsingError, located
from merganser.multibody.parsing.inertia import make_inertia
from merganser.multibody.parsing.package_map import PackageMap
from merganser.multibody.parsing.urdf_and_sdf.extensions import (
    is_deformable,
    read_ball_constraint,
    read_bushing,
    read_deformable,
    read_mimic,
    read_sdf_mimic,
    read_spring_damper,
    read_tendons,
    usable_couplers,
)
from merganser.multibody.parsing.urdf_and_sdf.geometry import MeshReader
from merganser.multibody.parsing.urdf_and_sdf.geometry_readers import SdfGeometryReader, link_pose
from merganser.multibody.parsing.urdf_and_sdf.joints import read_filter_groups
from merganser.multibody.parsing.urdf_and_sdf.sdf_include import (
    MERGED_ROBOT,
    IncludedRobot,
    IncludedRobotPart,
    expand_includes,
    read_included_robot,
    read_merged_robot,
    root_element,
)
from merganser.multibody.parsing.urdf_and_sdf.sdf_joint import frame_reference, read_actuator, read_joint
from merganser.multibody.parsing.urdf_and_sdf.sdf_scope import SdfScope, build_scope
from merganser.multibody.parsing.urdf_and_sdf.vocabulary import report_unused
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import CalcSpatialInertia, RotationalInertia, SpatialInertia

# SDF gives a link without numbers the mass of 1 kg and unit moments of inertia.
_DEFAULT_MASS = 1.0
_DEFAULT_MOMENTS = {"ixx": 1.0, "iyy": 1.0, "izz": 1.0, "ixy": 0.0, "ixz": 0.0, "iyz": 0.0}
_DENSITY = 1000.0  # of water [kg/m^3], the default of SDF


def read_inertial(
    link: XmlNode, name: str, scope: SdfScope, geometries: SdfGeometryReader, diagnostics: Diagnostics
) -> SpatialInertia:
    """Spatial inertia M_BBo_B of a link.

    Args:
        link: the element, with an <inertial> or none.
        name: of the link.
        scope: of its model.
        geometries: reads the <collision> elements, if the file wants the inertia computed.
        diagnostics: receives warnings.

    Raises:
        ParsingError: a number is wrong, or there is nothing to compute from.
    """
    node = link.find_or_empty("inertial")
    if node.parse_bool(node.attributes.get("auto") or "false"):
        with located(node.location), np.errstate(all="ignore"):  # what is too large is found below
            return _computed(node, link, name, scope, geometries, diagnostics)
    inertia = node.find_or_empty("inertia")
    mass = node.float_child("mass", _DEFAULT_MASS)
    moments = {key: inertia.float_child(key, default) for key, default in _DEFAULT_MOMENTS.items()}
    return make_inertia(node, name, mass, link_pose(node, link, scope), moments, diagnostics)


def _computed(
    node: XmlNode, link: XmlNode, name: str, scope: SdfScope, geometries: SdfGeometryReader, diagnostics: Diagnostics
) -> SpatialInertia:
    """The sum over all collisions, filled with what has a density; a <mass> scales the whole."""
    if any(node.find(tag) is not None for tag in ("pose", "inertia")):
        diagnostics.warn(node.location, f"link '{name}' has inertia=auto: <pose> and <inertia> have no effect.")
    geometries.meshes.has_read_files = True
    density = _density(node, _DENSITY)
    M_BBo_B = SpatialInertia.Zero()
    collisions = list(link.find_all("collision"))
    for collision in collisions:
        M_GGo_G, X_SG = _solid(collision.require("geometry"), _density(collision, density), geometries, diagnostics)
        X_BG = link_pose(collision, link, scope) @ X_SG
        M_BBo_B += M_GGo_G.ReExpress(X_BG.rotation()).Shift(-X_BG.translation())
    if not M_BBo_B.get_mass() > 0.0:
        found = "their volume is zero" if collisions else "it has none"
        raise node.error(f"the inertia of link '{name}' is to be computed from its <collision> elements, but {found}.")
    mass = node.float_child("mass", M_BBo_B.get_mass())
    if not mass > 0.0:
        raise node.error(f"link '{name}' has mass {mass:g}; it has to be positive.")
    M_BBo_B = SpatialInertia(mass, M_BBo_B.get_com(), M_BBo_B.get_unit_inertia())
    if not np.isfinite(M_BBo_B.CopyToFullMatrix6()).all():
        raise node.error(f"link '{name}' has mass properties too large to compute with.")
    return M_BBo_B


def _density(node: XmlNode, default: float) -> float:
    """The number in <density> [kg/m^3]."""
    density = node.float_child("density", default)
    if not density > 0.0:
        raise node.require("density").error(f"<density> is {density:g}; it has to be positive.")
    return density


def _solid(
    geometry: XmlNode, density: float, geometries: SdfGeometryReader, diagnostics: Diagnostics
) -> tuple[SpatialInertia, RigidTransform]:
    """M_GGo_G of a shape of one density, and the pose X_SG of its frame in the element's frame."""
    cone = geometry.find("cone")
    if cone is not None:
        return _cone(cone.float_child("radius", 0.5), cone.float_child("length", 1.0), density), RigidTransform()
    description, X_SG = geometries.read_shape(geometry)
    if description is None or description.kind == "HalfSpace":
        found = ", ".join(f"<{child.tag}>" for child in geometry.children)
        raise geometry.error(f"an inertia can only be computed from shapes with a volume, but not from {found}.")
    shape = make_shape(description)
    try:
        return CalcSpatialInertia(shape, density), X_SG
    except (RuntimeError, ValueError) as cause:
        if not isinstance(shape, Mesh):
            raise
        diagnostics.warn(geometry.location, f"the mass is that of the convex hull of a mesh: {cause}")
        return CalcSpatialInertia(Convex(shape.source(), scale3=shape.scale3()), density), X_SG


def _cone(radius: float, length: float, density: float) -> SpatialInertia:
    """A cone with its tip upwards, and with the middle of its axis at the origin."""
    mass = density * pi * radius**2 * length / 3.0
    across, along = mass * (0.15 * radius**2 + 0.0375 * length**2), 0.3 * mass * radius**2
    return SpatialInertia.MakeFromCentralInertia(
        mass, np.array([0.0, 0.0, -length / 4.0]), RotationalInertia(across, across, along)
    )


def read_sdf(
    root: XmlNode, package_map: PackageMap, diagnostics: Diagnostics, with_geometry: bool = True
) -> DocumentDescription:
    """Describes the <model> or <world> of an SDF document.

    Args:
        root: the document's root element.
        package_map: resolves addresses of meshes and included models.
        diagnostics: receives what is read but not honoured.
        with_geometry: whether visuals and collisions are read; a plant without SceneGraph has no use for them.

    Raises:
        ParsingError: the document is not a valid SDF model or world.
    """
    element = root_element(root)
    file = Path(root.location.file).resolve()
    element = expand_includes(element, package_map, (file,))
    if element.tag == "model":
        # A lone model is put into an otherwise empty world.
        element = XmlNode("world", element.location, children=[element])
    reader = _DocumentReader(MeshReader(package_map, with_geometry), diagnostics)
    return reader.read(build_scope(element, "", None))


class _DocumentReader:
    """Reads the elements of all models of a document."""

    def __init__(self, meshes: MeshReader, diagnostics: Diagnostics):
        self._meshes = meshes
        self._geometry = SdfGeometryReader(self._meshes, diagnostics)
        self._diagnostics = diagnostics

    def read(self, world: SdfScope) -> DocumentDescription:
        document = DocumentDescription(world.node.location)
        for scope in world.nested.values():
            document.models.append(self._read_model(scope))
        for link in world.node.find_all("link"):
            raise link.error(f"{link.describe()} is outside any <model>; put it into one.")
        for node in world.node.find_all("joint"):
            joint = read_joint(node, world, self._diagnostics)
            actuator = read_actuator(node, joint, self._diagnostics)
            document.joints.append(joint)
            document.actuators += [] if actuator is None else [actuator]
        document.frames = [_read_frame(node, world) for node in world.node.find_all("frame")]
        document.depends_on_files = self._meshes.has_read_files
        report_unused(world.node, self._diagnostics)
        return document

    def _read_model(self, scope: SdfScope) -> ModelDescription:
        node = scope.node
        if isinstance(node, IncludedRobot):
            return read_included_robot(scope, self._meshes, self._diagnostics)
        model = ModelDescription(scope.name, node.location)
        model.nested = [self._read_model(nested) for nested in scope.nested.values()]
        robots = [child for child in node.find_all(MERGED_ROBOT) if isinstance(child, IncludedRobot)]
        node = replace(node, children=[child for child in node.children if not isinstance(child, IncludedRobotPart)])
        canonical = scope.body_of(scope.root_frame, node)
        model.links = [self._read_link(link, scope) for link in node.find_all("link") if not is_deformable(link)]
        model.deformables = [
            read_deformable(link, self._read_link(link, scope), self._diagnostics)
            for link in node.find_all("link")
            if is_deformable(link)
        ]
        X_BM = scope.X_MB(canonical, node).inverse()
        if canonical.body in {body.name for body in model.deformables}:  # no frames move with it
            canonical, X_BM = BodyReference.world(), scope.X_WM()
        model.frames.append(FrameDescription(scope.root_frame, canonical, X_BM, node.location, scope.name))
        for joint_node in node.find_all("joint", "drake:joint"):
            joint = read_joint(joint_node, scope, self._diagnostics)
            actuator = read_actuator(joint_node, joint, self._diagnostics)
            model.joints.append(joint)
            model.actuators += [] if actuator is None else [actuator]
        model.frames += [_read_frame(frame, scope) for frame in node.find_all("frame")]
        model.bushings = [
            read_bushing(bushing, lambda child: frame_reference(child.text, scope), lambda child: child.vector_text(3))
            for bushing in node.find_all("drake:linear_bushing_rpy")
        ]
        model.spring_dampers = [
            read_spring_damper(
                spring, lambda child: scope.body_of(child.text, child), lambda child: child.vector_text(3)
            )
            for spring in node.find_all("drake:linear_spring_damper")
        ]
        couplers = (
            coupler
            for joint_node in node.find_all("joint", "drake:joint")
            for coupler in _read_mimics(joint_node, scope.name)
        )
        model.couplers = usable_couplers(couplers, model.joints, self._diagnostics)
        model.ball_constraints = [
            read_ball_constraint(
                constraint, lambda child: scope.body_of(child.text, child), lambda child: child.vector_text(3)
            )
            for constraint in node.find_all("drake:ball_constraint")
        ]
        model.tendons = read_tendons(node, model.joints, self._diagnostics)
        model.filter_groups = read_filter_groups(node)
        for robot in robots:
            read_merged_robot(robot, scope, model, self._meshes, self._diagnostics)
        _refuse_parts_of_deformables(model)
        if scope.is_static:
            _weld_to_world(model)
        return model

    def _read_link(self, node: XmlNode, scope: SdfScope) -> LinkDescription:
        name = node.require_attribute("name")
        for tag, harmless in (("gravity", True), ("kinematic", False)):
            if node.bool_child(tag, harmless) != harmless:
                self._diagnostics.warn(node.location, f"<{tag}> of link '{name}' has no effect.")
        return LinkDescription(
            name,
            read_inertial(node, name, scope, self._geometry, self._diagnostics),
            node.location,
            self._geometry.read_visuals(node, scope),
            self._geometry.read_collisions(node, scope),
            scope.X_WM() @ scope.X_MF(name, node),
        )


def _refuse_parts_of_deformables(model: ModelDescription) -> None:
    """Raises ParsingError if a joint or a frame is fixed to a deformable link."""
    names = {BodyReference(model.name, body.name) for body in model.deformables}
    fixed = [(joint.name, joint.location, body) for joint in model.joints for body in (joint.parent, joint.child)]
    fixed += [(frame.name, frame.location, frame.body) for frame in model.frames]
    for name, location, body in fixed:
        if body in names:
            raise ParsingError(
                location,
                f"'{name}' is fixed to the deformable link '{body.body}', but only rigid links carry joints and "
                "frames. Fix vertices of it to a rigid link instead (DeformableModel.AddFixedConstraint()).",
            )


def _read_mimics(joint: XmlNode, model: str) -> Iterator[CouplerDescription]:
    """The <drake:mimic> of a joint, or the <mimic> of SDFormat in its axis."""
    name = joint.attributes["name"]
    own = list(joint.find_all("drake:mimic"))
    for node in own:
        yield read_mimic(node, model, name)
    for axis in joint.find_all("axis"):
        for node in axis.find_all("mimic"):
            if not own:  # by which models say the same for Drake
                yield read_sdf_mimic(node, model, name)


def _read_frame(node: XmlNode, scope: SdfScope) -> FrameDescription:
    name = node.require_attribute("name")
    body = scope.body_of(name, node)
    X_BF = scope.X_MB(body, node).inverse() @ scope.X_MF(name, node)
    return FrameDescription(name, body, X_BF, node.location)


def _weld_to_world(root: ModelDescription) -> None:
    """Welds a static model, nested ones included, to the world at its pose.

    Links that fixed joints already hold are left alone, so that no loop of welds arises.
    """
    import networkx as nx  # it takes 0.1 s

    models = root.with_nested()
    moving = next((joint for model in models for joint in model.joints if joint.type != "fixed"), None)
    if moving is not None:
        raise ParsingError(
            moving.location,
            f"joint '{moving.name}' of the static model '{root.name}' is {moving.type}; expected fixed.",
        )
    welds = nx.Graph()
    welds.add_node(BodyReference.world())
    welds.add_edges_from((j.parent, j.child) for m in models for j in m.joints if j.type == "fixed")
    for model in models:
        for link in model.links:
            body = BodyReference(model.name, link.name)
            if body in welds and nx.has_path(welds, body, BodyReference.world()):
                continue
            welds.add_edge(BodyReference.world(), body)
            name = f"sdformat_model_static_world_welds_to_{link.name}"
            model.joints.append(
                JointDescription(name, "fixed", BodyReference.world(), body, link.location, X_FM=link.X_WB)
            )
