"""Reads an SDF document into a description.

The work is done in three steps: included files are put in place (sdf_include.py), the frames of all models
are collected (sdf_scope.py), and the elements are read with poses resolved through those frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from merganser.multibody.parsing.description import (
    BodyReference,
    CouplerDescription,
    DocumentDescription,
    FrameDescription,
    JointDescription,
    LinkDescription,
    ModelDescription,
)
from merganser.multibody.parsing.errors import Diagnostics, ParsingError
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
from merganser.multibody.parsing.urdf_and_sdf.joints import read_filter_groups
from merganser.multibody.parsing.urdf_and_sdf.sdf_geometry import SdfGeometryReader
from merganser.multibody.parsing.urdf_and_sdf.sdf_include import expand_includes, root_element
from merganser.multibody.parsing.urdf_and_sdf.sdf_inertia import read_inertial
from merganser.multibody.parsing.urdf_and_sdf.sdf_joint import frame_reference, read_actuator, read_joint
from merganser.multibody.parsing.urdf_and_sdf.sdf_merge import (
    MERGED_ROBOT,
    IncludedRobot,
    IncludedRobotPart,
    read_included_robot,
    read_merged_robot,
)
from merganser.multibody.parsing.urdf_and_sdf.sdf_scope import SdfScope, build_scope
from merganser.multibody.parsing.urdf_and_sdf.vocabulary import report_unused
from merganser.multibody.parsing.xml_reader import XmlNode


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
