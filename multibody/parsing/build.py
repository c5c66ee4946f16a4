"""Adds a checked description to a plant, through nothing but the plant's public functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from merganser import geometry
from merganser.framework.math import RigidTransform
from merganser.multibody.kernels.constraints.linear import LINEAR
from merganser.multibody.kernels.constraints.polynomial import POLYNOMIAL
from merganser.multibody.parsing.build_geometry import make_proximity_properties, make_shape, make_visual
from merganser.multibody.parsing.description import (
    ActuatorDescription,
    BodyReference,
    CollisionExclusionDescription,
    DocumentDescription,
    FluidDescription,
    FrameDescription,
    FrameReference,
    GeometryDescription,
    GeometryReference,
    JointDescription,
    JointTermDescription,
    LinkDescription,
    ModelDescription,
    PathElementDescription,
    PulleyDescription,
    SiteDescription,
    SurfaceDescription,
    TendonDescription,
    TransmissionDescription,
)
from merganser.multibody.parsing.errors import Diagnostics, ParsingError, located
from merganser.multibody.parsing.urdf_and_sdf.extensions import add_deformable
from merganser.multibody.plant import DiscreteContactSolver
from merganser.multibody.tree import (
    AdhesionTransmission,
    BallQuaternionJoint,
    BallRpyJoint,
    BallSpring,
    BallTransmission,
    CurvilinearJoint,
    FixedOffsetFrame,
    FixedTendon,
    FluidForceOnBox,
    FluidForceOnEllipsoid,
    ForceElement,
    GravityCompensation,
    JointTerm,
    LinearBushingRollPitchYaw,
    LinearSpringDamper,
    PdControllerGains,
    PlanarJoint,
    PolynomialSpring,
    PrismaticJoint,
    PrismaticSpring,
    RevoluteJoint,
    RevoluteSpring,
    ScrewJoint,
    SiteTransmission,
    SliderCrankTransmission,
    SpatialTendon,
    TendonPulley,
    TendonSite,
    TendonWrap,
    UniversalJoint,
    WeldJoint,
)

_EQUALITIES = {kind.name: kind for kind in (POLYNOMIAL, LINEAR)}
_NUM_OWN_INSTANCES = 2  # of every plant: the world, and that of elements without a model


def add_document(
    plant: Any, document: DocumentDescription, instance_names: dict[str, str], diagnostics: Diagnostics
) -> list[Any]:
    """Adds all models of a document.

    Nested models are added before the links of the model around them; joints, actuators and frames of a
    model come after its links, those outside any model last.

    Args:
        plant: a MultibodyPlant before Finalize().
        document: a document that check_document() accepts.
        instance_names: name that each model of the document gets in the plant, by its name in the document.
        diagnostics: receives what the plant cannot honour.

    Returns:
        The indices of the new model instances, outer models before the models nested in them.
    """
    return _DocumentBuilder(plant, instance_names, diagnostics).build(document)


class _DocumentBuilder:
    """Keeps the objects that the plant returned, to resolve references to them."""

    def __init__(self, plant: Any, instance_names: dict[str, str], diagnostics: Diagnostics):
        self._plant, self._diagnostics = plant, diagnostics
        self._instance_names = instance_names
        self._instances: dict[str, Any] = {}
        self._bodies: dict[BodyReference, Any] = {BodyReference.world(): plant.world_body()}
        self._joints: dict[tuple[str, str], Any] = {}
        self._transmissions: dict[tuple[str, str], Any] = {}
        self._collisions: dict[GeometryReference, Any] = {}
        self._registers_geometry = plant.geometry_source_is_registered()

    def build(self, document: DocumentDescription) -> list[Any]:
        models = document.all_models()
        loops = document.loop_joints + [joint for model in models for joint in model.loop_joints]
        if loops and self._uses_tamsi():
            raise ParsingError(
                loops[0].location,
                f"joint '{loops[0].name}' closes a loop, which the TAMSI solver of the plant does not support. Call "
                "plant.set_discrete_contact_approximation() with kSap, kSimilar or kLagged first.",
            )
        first, others = ([m for m in models if m.is_added_first is kind] for kind in (True, False))
        for model in first:
            self._add_instance(model)
            self._add_model(model)
        for model in others:
            self._add_instance(model)
        for model in document.models:
            self._add_models(model)
        self._add_joints_and_frames(document)
        return [self._instances[model.name] for model in others + first]

    def _add_instance(self, model: ModelDescription) -> None:
        self._instances[model.name] = self._plant.AddModelInstance(self._instance_names[model.name])

    def _add_models(self, model: ModelDescription) -> None:
        for nested in model.nested:
            self._add_models(nested)
        if not model.is_added_first:
            self._add_model(model)

    def _add_model(self, model: ModelDescription) -> None:
        for link in model.links:
            with located(link.location):
                self._add_link(model.name, link)
        for body in model.deformables if self._registers_geometry else ():
            with located(body.location):
                add_deformable(self._plant, self._instances[model.name], body)
        self._add_world_geometries(model)
        self._add_joints_and_frames(model)
        for bushing in model.bushings:
            A, C = self._named_frames((bushing.frameA, bushing.frameC))
            given = bushing.torque_stiffness, bushing.torque_damping, bushing.force_stiffness, bushing.force_damping
            self._plant.AddForceElement(LinearBushingRollPitchYaw(A, C, *given))
        for spring in model.spring_dampers:
            ends = self._bodies[spring.body_A], spring.p_AP, self._bodies[spring.body_B], spring.p_BQ
            constants = spring.free_length, spring.stiffness, spring.damping
            self._plant.AddForceElement(LinearSpringDamper(*ends, *constants))
        for fluid in model.fluids:
            with located(fluid.location):
                self._add_fluid(model, fluid)
        self._add_constraints(model)
        for exclusion in model.exclusions:
            self._add_exclusion(exclusion)
        self._set_gravity(model)

    def _add_joints_and_frames(self, owner: ModelDescription | DocumentDescription) -> None:
        for joint in owner.joints:
            if joint.frames is None:
                with located(joint.location):
                    self._add_joint(joint)
        for transmission in owner.transmissions if isinstance(owner, ModelDescription) else ():
            with located(transmission.location):
                self._add_transmission(transmission)
        for actuator in owner.actuators:
            with located(actuator.location):
                self._add_actuator(actuator)
        for frame in owner.frames:
            with located(frame.location):
                self._add_frame(frame)
        for joint in owner.joints:
            if joint.frames is not None:
                with located(joint.location):
                    added = self._plant.AddJoint(_make_joint(joint, *self._named_frames(joint.frames)))
                    self._joints[joint.child.model, joint.name] = added
        for joint in owner.loop_joints:
            with located(joint.location):
                self._add_loop_joint(joint)

    def _named_frames(self, frames: tuple[FrameReference, FrameReference]) -> list[Any]:
        return [self._plant.GetFrameByName(f.frame, self._instances[f.model]) for f in frames]

    def _add_fluid(self, model: ModelDescription, fluid: FluidDescription) -> None:
        body = self._bodies[BodyReference(model.name, fluid.body)]
        given = body, fluid.X_BG, fluid.size, fluid.density, fluid.viscosity, fluid.wind
        if fluid.coefficients is None:
            self._plant.AddForceElement(FluidForceOnBox(*given))
        else:
            self._plant.AddForceElement(FluidForceOnEllipsoid(*given, fluid.coefficients))

    def _uses_tamsi(self) -> bool:
        return self._plant.get_discrete_contact_solver() is DiscreteContactSolver.kTamsi

    def _add_constraints(self, model: ModelDescription) -> None:
        constraints: list[Any] = [
            *model.couplers, *model.equalities, *model.ball_constraints, *model.weld_constraints, *model.tendons
        ]  # fmt: skip
        if constraints and self._uses_tamsi():
            self._diagnostics.warn(
                constraints[0].location,
                f"{len(constraints)} constraints of model '{model.name}' have no effect: the plant uses the TAMSI "
                "solver, which does not support them.",
            )
            return
        for coupler in model.couplers:
            joints = (self._joints[coupler.model, name] for name in (coupler.joint0, coupler.joint1))
            self._plant.AddCouplerConstraint(*joints, coupler.gear_ratio, coupler.offset)
        for equality in model.equalities:
            with located(equality.location):
                of_equality = [self._joints[model.name, name] for name in equality.joints]
                self._plant.AddConstraint(_EQUALITIES[equality.kind], *of_equality, constants=equality.constants)
        for ball in model.ball_constraints:
            body_A, body_B = self._bodies[ball.body_A], self._bodies[ball.body_B]
            self._plant.AddBallConstraint(body_A, ball.p_AP, body_B, ball.p_BQ)
        for weld in model.weld_constraints:
            body_A, body_B = self._bodies[weld.body_A], self._bodies[weld.body_B]
            self._plant.AddWeldConstraint(body_A, weld.X_AP, body_B, weld.X_BQ)
        for tendon in model.tendons:
            with located(tendon.location):
                self._add_tendon(model, tendon)

    def _add_tendon(self, model: ModelDescription, tendon: TendonDescription) -> None:
        """Adds a constraint, which only discrete plants keep, if a limit is finite."""
        if not self._plant.is_discrete():
            self._diagnostics.warn(tendon.location, "the tendon has no effect: only discrete plants keep its limits.")
        elif np.isfinite([tendon.lower, tendon.upper]).any():
            joints, limits = [self._joints[model.name, name] for name in tendon.joints], (tendon.lower, tendon.upper)
            given = tendon.coefficients, tendon.offset, *limits, tendon.stiffness, tendon.damping
            self._plant.AddTendonConstraint(joints, *given)

    def _add_exclusion(self, exclusion: CollisionExclusionDescription) -> None:
        """Excludes collisions between geometries that are in the SceneGraph."""
        if not self._registers_geometry:
            return
        declaration = geometry.CollisionFilterDeclaration(geometry.CollisionFilterScope.kOmitDeformable)
        first, second = self._geometry_set(exclusion.first), self._geometry_set(exclusion.second)
        if exclusion.first == exclusion.second:
            declaration.ExcludeWithin(first)
        else:
            declaration.ExcludeBetween(first, second)
        self._plant._geometry.scene_graph.collision_filter_manager().Apply(declaration)

    def _geometry_set(self, references: Iterable[GeometryReference]) -> geometry.GeometrySet:
        geometries = geometry.GeometrySet()
        geometries.Add([self._collisions[reference] for reference in references])
        return geometries

    def _set_gravity(self, model: ModelDescription) -> None:
        """Sets the plant's gravity from a model that is alone in it."""
        if model.gravity is None or np.array_equal(self._plant.gravity_field().gravity_vector(), model.gravity):
            return
        if len(self._instances) == 1 and self._plant.num_model_instances() == _NUM_OWN_INSTANCES + 1:
            self._plant.mutable_gravity_field().set_gravity_vector(model.gravity)
            return
        self._diagnostics.warn(
            model.location,
            f"gravity {model.gravity.tolist()} of model '{model.name}' is not used: the plant has other models. "
            "Call plant.mutable_gravity_field().set_gravity_vector() to change it.",
        )

    def _add_link(self, model_name: str, link: LinkDescription) -> None:
        body = self._plant.AddRigidBody(link.name, self._instances[model_name], link.M_BBo_B)
        self._bodies[BodyReference(model_name, link.name)] = body
        if link.X_WB is not None:
            self._plant.SetDefaultFloatingBaseBodyPose(body, link.X_WB)
        if link.floating_damping:
            self._plant.SetDefaultFloatingBaseBodyDamping(body, link.floating_damping)
        if link.floating_armature:
            self._plant.SetDefaultFloatingBaseBodyArmature(body, link.floating_armature)
        if link.floating_joint:
            self._plant._tree._floating_joint_names[body] = link.floating_joint
        if link.gravity_compensation:
            self._plant.AddForceElement(GravityCompensation(body, link.gravity_compensation))
        self._add_geometries(body, BodyReference(model_name, link.name), link.visuals, link.collisions)

    def _add_world_geometries(self, model: ModelDescription) -> None:
        """Adds geometries of the world; those already added keep their names."""
        if not (self._registers_geometry and (model.world_visuals or model.world_collisions)):
            return
        world, inspector = self._plant.world_body(), self._plant._geometry.scene_graph.model_inspector()
        visual_ids, collision_ids = (
            self._plant.GetVisualGeometriesForBody(world), self._plant.GetCollisionGeometriesForBody(world)
        )  # fmt: skip
        renamed: list[list[GeometryDescription]] = []
        for new, ids in ((model.world_visuals, visual_ids), (model.world_collisions, collision_ids)):
            taken = {inspector.GetName(geometry_id).rpartition("::")[2] for geometry_id in ids}
            renamed.append([self._with_free_name(geometry, taken) for geometry in new])
        self._add_geometries(world, BodyReference.world(), *renamed)
        for old, new_one in zip(model.world_collisions, renamed[1]):
            self._collisions[GeometryReference(BodyReference.world(), old.name)] = self._collisions[
                GeometryReference(BodyReference.world(), new_one.name)
            ]

    def _with_free_name(self, geometry: GeometryDescription, taken: set[str]) -> GeometryDescription:
        """A geometry under a free name, which is then taken."""
        name, count = geometry.name, 0
        while name in taken:
            count += 1
            name = f"{geometry.name}_{count}"
        taken.add(name)
        if count:
            self._diagnostics.warn(
                geometry.location, f"the world already has a geometry named '{geometry.name}'; using '{name}'."
            )
        return replace(geometry, name=name)

    def _add_geometries(
        self,
        body: Any,
        reference: BodyReference,
        visuals: list[GeometryDescription],
        collisions: list[GeometryDescription],
    ) -> None:
        if not self._registers_geometry:
            return
        for visual in visuals:
            self._plant.RegisterVisualGeometry(body, make_visual(visual))
        for collision in collisions:
            self._collisions[GeometryReference(reference, collision.name)] = self._plant.RegisterCollisionGeometry(
                body,
                collision.X_BG,
                make_shape(collision.shape),
                collision.name,
                properties=make_proximity_properties(collision),
            )

    def _add_frame(self, frame: FrameDescription) -> None:
        body_frame = self._bodies[frame.body].body_frame()
        instance = self._instances.get(frame.model, body_frame.model_instance())
        self._plant.AddFrame(FixedOffsetFrame(frame.name, body_frame, frame.X_BF, instance))

    def _add_joint(self, joint: JointDescription) -> None:
        frame_on_parent = self._joint_frame(joint, "parent", joint.parent, joint.X_PJ)
        frame_on_child = self._joint_frame(joint, "child", joint.child, joint.X_CJ)
        added = self._plant.AddJoint(_make_joint(joint, frame_on_parent, frame_on_child))
        if joint.type not in ("fixed", "ball"):
            _set_limits(joint, added)
        self._joints[joint.child.model, joint.name] = added
        if joint.armature:
            added.set_default_armature(joint.armature)
        if np.any(joint.friction):
            added.set_default_friction_vector(np.broadcast_to(joint.friction, added.num_velocities()))
        if joint.default_positions is not None:
            added.set_default_positions(joint.default_positions)
        if joint.type == "ball" and np.isfinite(joint.position_limits[1]):
            added.set_rotation_limit(joint.position_limits[1])
        if joint.spring_stiffness > 0.0 or any((*joint.higher_stiffness, *joint.higher_damping)):
            self._plant.AddForceElement(_make_spring(joint, added))

    def _add_loop_joint(self, joint: JointDescription) -> None:
        if joint.frames is not None:
            ends = self._named_frames(joint.frames)
        else:
            sides = ("parent", joint.parent, joint.X_PJ), ("child", joint.child, joint.X_CJ)
            ends = [self._joint_frame(joint, *side) for side in sides]
        self._plant.AddLoopJoint(_make_joint(joint, *ends))

    def _joint_frame(self, joint: JointDescription, side: str, body: BodyReference, X_BJ: RigidTransform | None) -> Any:
        """The joint's frame on a body: `<joint>_parent` or `<joint>_child`, or the body frame itself."""
        body_frame = self._bodies[body].body_frame()
        if X_BJ is None:
            return body_frame
        frame = FixedOffsetFrame(
            name=f"{joint.name}_{side}",
            P=body_frame,
            X_PF=X_BJ,
            model_instance=self._instances[joint.child.model],
        )
        return self._plant.AddFrame(frame)

    def _add_transmission(self, description: TransmissionDescription) -> None:
        name, kind, c = description.name, description.kind, description.constants
        path: list[Any] = [self._path_element(description, element) for element in description.path]
        if kind in ("fixed", "ball"):
            joints = [term.joint for term in path]
        if kind == "fixed":
            made: Any = FixedTendon(name, joints, [term.coefficient for term in path])
        elif kind == "spatial":
            made = SpatialTendon(name, path, self._instances[description.model])
        elif kind == "ball":
            made = BallTransmission(name, joints[0], c[1:], bool(c[0]))
        elif kind == "site":
            made = SiteTransmission(name, path[0], c[:6], path[1] if len(path) > 1 else None, bool(sum(c[6:])))
        elif kind == "adhesion":
            made = AdhesionTransmission(name, path[0])
        else:
            made = SliderCrankTransmission(name, *path, *c)
        springs = dict(description.springs)
        made.set_limits(*springs.pop("limits", ()))
        made.set_friction(springs.pop("friction", 0.0))
        made.set_armature(springs.pop("armature", 0.0))
        rest = springs.pop("rest_positions", None)
        if rest is not None:
            springs["rest_positions"] = {self._joints[description.model, name]: q for name, q in rest}
        made.set_spring(**springs)
        self._transmissions[description.model, description.name] = self._plant.AddTransmission(made)

    def _path_element(self, owner: TransmissionDescription, element: PathElementDescription) -> Any:
        match element:
            case JointTermDescription(joint, coefficient):
                return JointTerm(self._joints[owner.model, joint], coefficient)
            case SiteDescription(body, X_BS):
                return TendonSite(self._bodies[body], X_BS)
            case PulleyDescription(divisor):
                return TendonPulley(divisor)
            case BodyReference():
                return self._bodies[element]
            case SurfaceDescription(body, X_BG, radius, is_cylinder, side):
                on_side = None if side is None else TendonSite(self._bodies[side.body], side.X_BS)
                return TendonWrap(self._bodies[body], X_BG, radius, is_cylinder, on_side)

    def _add_actuator(self, actuator: ActuatorDescription) -> None:
        place = actuator.joint_model, actuator.joint
        if actuator.is_along_transmission:
            added = self._plant.AddActuator(actuator.name, self._transmissions[place], actuator.effort_limit)
        else:
            added = self._plant.AddJointActuator(actuator.name, self._joints[place], actuator.effort_limit)
        added.set_default_rotor_inertia(actuator.rotor_inertia)
        added.set_default_gear_ratio(actuator.gear_ratio)
        if actuator.controller_gains is not None:
            p, d = actuator.controller_gains
            added.set_controller_gains(PdControllerGains(p=p, d=d))
        law = actuator.law
        if law is not None and law.delay is not None and not self._plant.is_discrete():
            what = "the delay of an actuator has no effect: it needs a discrete plant."
            self._diagnostics.warn(actuator.location, what)
            law = replace(law, delay=None)
        added.set_law(law)
        if actuator.effort_range is not None:
            added.set_effort_range(*actuator.effort_range)
        if actuator.desired_position is not None:
            added.set_desired_position_map(*actuator.desired_position)


_JOINTS_ALONG_AN_AXIS: dict[str, Any] = {"revolute": RevoluteJoint, "prismatic": PrismaticJoint}
_JOINTS_WITH_DAMPING: dict[str, Any] = {
    "ball": BallQuaternionJoint,
    "ball_rpy": BallRpyJoint,
    "universal": UniversalJoint,
    "planar": PlanarJoint,
}


def _make_joint(joint: JointDescription, frame_on_parent: Any, frame_on_child: Any) -> Any:
    if joint.type == "fixed":
        return WeldJoint(
            name=joint.name,
            frame_on_parent_F=frame_on_parent,
            frame_on_child_M=frame_on_child,
            X_FM=RigidTransform() if joint.X_FM is None else joint.X_FM,
        )
    damping: Any = joint.damping
    if joint.type in _JOINTS_WITH_DAMPING:
        return _JOINTS_WITH_DAMPING[joint.type](joint.name, frame_on_parent, frame_on_child, damping)
    if joint.type == "screw":
        return ScrewJoint(joint.name, frame_on_parent, frame_on_child, joint.axis_J, joint.screw_pitch, damping)
    if joint.type == "curvilinear":
        assert joint.path is not None
        return CurvilinearJoint(joint.name, frame_on_parent, frame_on_child, joint.path, damping)
    joint_class = _JOINTS_ALONG_AN_AXIS[joint.type]
    return joint_class(joint.name, frame_on_parent, frame_on_child, axis=joint.axis_J, damping=damping)


def _set_limits(joint: JointDescription, added: Any) -> None:
    """Sets the limits of a joint that has perhaps some of its own, such as those of a path."""
    lower, upper = joint.position_limits
    lower, upper = np.maximum(lower, added.position_lower_limits()), np.minimum(upper, added.position_upper_limits())
    added.set_position_limits(lower, upper)
    num_v = added.num_velocities()
    velocity, acceleration = (np.broadcast_to(x, num_v) for x in (joint.velocity_limit, joint.acceleration_limit))
    added.set_velocity_limits(-velocity, velocity)
    added.set_acceleration_limits(-acceleration, acceleration)


def _make_spring(joint: JointDescription, added: Any) -> ForceElement:
    if joint.type == "ball":
        return BallSpring(added, joint.spring_stiffness)
    if any((*joint.higher_stiffness, *joint.higher_damping)):
        stiffness = (joint.spring_stiffness, *joint.higher_stiffness)
        return PolynomialSpring(added, joint.spring_reference, stiffness, (0.0, *joint.higher_damping))
    kind = RevoluteSpring if joint.type == "revolute" else PrismaticSpring
    return kind(added, joint.spring_reference, joint.spring_stiffness)
