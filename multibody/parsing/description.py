"""The content of a model file, in one form for every file format.

The readers (urdf.py, sdf.py, mjcf/reader.py) produce these records, validate.py checks them as a whole, and build.py
adds them to a plant. Poses are monogram: X_BG is the pose of G in B. Names of models are those of the document,
scoped with `::`; the world is the model with the empty name and holds the one body `world`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.framework.trajectories import PiecewiseConstantCurvatureTrajectory
from merganser.geometry import HeightField, InMemoryMesh, TerrainMesh
from merganser.multibody.parsing.errors import SourceLocation, located
from merganser.multibody.tree import ActuatorLaw, SpatialInertia

if TYPE_CHECKING:
    from merganser.multibody.fem.config import DeformableBodyConfig
    from merganser.multibody.parsing.instrument_description import (
        CameraDescription,
        KeyframeDescription,
        LightDescription,
        SensorDescription,
    )


@dataclass(frozen=True)
class BodyReference:
    """A body by the document's scoped name of its model and its own name."""

    model: str
    body: str

    @classmethod
    def world(cls) -> BodyReference:
        """The world body."""
        return cls("", "world")

    def __str__(self) -> str:
        return f"{self.model}::{self.body}" if self.model else self.body


@dataclass(frozen=True)
class FrameReference:
    """A frame by the document's scoped name of its model and its own name."""

    model: str
    frame: str


@dataclass(frozen=True)
class ShapeDescription:
    """A shape: `kind` is the name of a class of merganser.geometry.

    Attributes:
        kind: Box, Sphere, Cylinder, Capsule, Ellipsoid, HalfSpace, HeightField, Mesh, Convex or TerrainMesh.
        dimensions: the arguments of that class [m]; scale factors for Mesh and Convex.
        file: absolute path of the mesh; empty for the other kinds.
        mesh: in place of a file, if the mesh is in memory.
        terrain: the shape itself, if it is a height field or a terrain mesh.
    """

    kind: str
    dimensions: tuple[float, ...] = ()
    file: str = ""
    mesh: InMemoryMesh | None = None
    terrain: HeightField | TerrainMesh | None = None


def terrain_of(mesh: ShapeDescription, location: SourceLocation) -> ShapeDescription:
    """The terrain of the triangles of a Mesh.

    Raises:
        ParsingError: its file cannot be read.
    """
    with located(location):
        terrain = TerrainMesh.FromFile(mesh.mesh or mesh.file, mesh.dimensions)
    return ShapeDescription("TerrainMesh", terrain=terrain)


@dataclass(frozen=True)
class FrictionDescription:
    """Coulomb coefficients, dimensionless, static not below dynamic; by default those of files that give none."""

    static: float = 1.0
    dynamic: float = 1.0


@dataclass(frozen=True)
class GeometryDescription:
    """A visual or collision geometry G on a body B.

    Attributes:
        name: unique among the geometries of one role on one body.
        X_BG: pose of the geometry in its body.
        shape: what it is.
        rgba: diffuse colour, shape [4]; None leaves the colour to the viewer or the mesh.
        other_colors: colours of the properties ambient, specular and emissive, as far as they are given, shape [4].
        diffuse_map: absolute path of a picture that covers it; empty for none.
        is_illustrated: whether a visual geometry is drawn for people.
        is_perceived: whether cameras see a visual geometry.
        renderers: names of the renderers that may show it; empty for all of them.
        friction: None for that of the scene graph's settings.
        contact: numbers and vectors by (group, name) of the proximity properties, SI.
        compliance: "rigid" or "compliant" for hydroelastic contact, else None.
    """

    name: str
    X_BG: RigidTransform
    shape: ShapeDescription
    location: SourceLocation
    rgba: np.ndarray | None = None
    is_illustrated: bool = True
    is_perceived: bool = True
    renderers: frozenset[str] = frozenset()
    diffuse_map: str = ""
    other_colors: dict[str, np.ndarray] = field(default_factory=dict)
    friction: FrictionDescription | None = None
    contact: dict[tuple[str, str], float | np.ndarray] = field(default_factory=dict)
    compliance: str | None = None


@dataclass
class LinkDescription:
    """A body with its geometries.

    Attributes:
        M_BBo_B: spatial inertia about Bo, expressed in B.
        X_WB: where the file puts the body if nothing joins it to another; None if the file does not say.
        floating_damping: of each of its velocities, if it floats [N m s and N s/m].
        floating_armature: on the diagonal of the mass matrix, if it floats [kg m^2 and kg].
        floating_joint: another name by which the joint is found, if the body floats; empty for none.
        gravity_compensation: the share of its weight that a force takes from it.
    """

    name: str
    M_BBo_B: SpatialInertia
    location: SourceLocation
    visuals: list[GeometryDescription] = field(default_factory=list)
    collisions: list[GeometryDescription] = field(default_factory=list)
    X_WB: RigidTransform | None = None
    floating_damping: float = 0.0
    floating_armature: float = 0.0
    floating_joint: str = ""
    gravity_compensation: float = 0.0


@dataclass
class DeformableDescription:
    """A deformable body.

    Attributes:
        link: the same as a rigid body, whose only collision geometry is the body at rest.
        config: its material.
        walls: a point of each wall and its normal, in W [m], shape [3] each; see
            `DeformableModel.SetWallBoundaryCondition`.
    """

    name: str
    link: LinkDescription
    config: DeformableBodyConfig
    walls: list[tuple[np.ndarray, np.ndarray]]
    location: SourceLocation


@dataclass(frozen=True)
class FrameDescription:
    """A frame F fixed on a body B; it belongs to the model of B, if no other is named."""

    name: str
    body: BodyReference
    X_BF: RigidTransform
    location: SourceLocation
    own_model: str = ""

    @property
    def model(self) -> str:
        """The model that it belongs to."""
        return self.own_model or self.body.model


@dataclass(frozen=True)
class JointDescription:
    """A joint J between a parent body P and a child body C; it belongs to the child's model.

    Attributes:
        type: revolute, prismatic, fixed, ball (a quaternion), ball_rpy, universal, planar, screw or curvilinear.
        X_PJ: joint frame in the parent at zero configuration; None: the parent's body frame itself.
        X_CJ: joint frame in the child; None: the child's body frame itself.
        X_FM: for a fixed joint, the child's joint frame in the parent's, if they do not coincide.
        axis_J: unit vector, shape [3]; of revolute, prismatic and screw joints.
        position_limits: lower and upper [rad or m]; of a ball, the upper one bounds the angle of its rotation. These
            and the next two are one number for all coordinates, or one for each.
        velocity_limit: symmetric [rad/s or m/s].
        acceleration_limit: symmetric [rad/s^2 or m/s^2].
        damping: viscous [N m s or N s/m]; of a planar joint of x, y and angle, shape [3].
        friction: dry, of each velocity [N m or N].
        spring_stiffness: of a spring on a revolute, prismatic or ball joint [N m/rad or N/m]; 0 for none.
        higher_stiffness, higher_damping: coefficients of the second and third power, see `PolynomialSpring`.
        spring_reference: position without spring force [rad or m].
        screw_pitch: of a screw [m for each turn].
        path: of a curvilinear joint, in the parent's joint frame.
        frames: F and M, if the file names frames of its own; such a joint is added after all frames.
        armature: inertia that moves with a revolute, prismatic or ball joint [kg m^2 or kg].
        default_positions: those that new Contexts start with; None for zero.
    """

    name: str
    type: str
    parent: BodyReference
    child: BodyReference
    location: SourceLocation
    X_PJ: RigidTransform | None = None
    X_CJ: RigidTransform | None = None
    X_FM: RigidTransform | None = None
    axis_J: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    position_limits: tuple[float | np.ndarray, float | np.ndarray] = (-inf, inf)
    velocity_limit: float | np.ndarray = inf
    acceleration_limit: float | np.ndarray = inf
    damping: float | np.ndarray = 0.0
    friction: float | np.ndarray = 0.0
    spring_stiffness: float = 0.0
    higher_stiffness: tuple[float, float] = (0.0, 0.0)
    higher_damping: tuple[float, float] = (0.0, 0.0)
    spring_reference: float = 0.0
    screw_pitch: float = 0.0
    path: PiecewiseConstantCurvatureTrajectory | None = None
    frames: tuple[FrameReference, FrameReference] | None = None
    armature: float = 0.0
    default_positions: tuple[float, ...] | None = None

    @property
    def has_one_degree_of_freedom(self) -> bool:
        """Whether one number is its position."""
        return self.type in ("revolute", "prismatic", "screw", "curvilinear")


@dataclass(frozen=True)
class ActuatorDescription:
    """An actuator of a joint, or along a transmission.

    Attributes:
        joint_model: scoped name of the model the joint or transmission belongs to.
        joint: its name, or that of the transmission.
        is_along_transmission: which of both it is.
        law: how its force follows a control, if it is more than a force or a PD controller.
        effort_limit: [N m or N].
        effort_range: the lowest and the highest effort, if they differ in size; the limit is the larger one then.
        desired_position: lower and upper limit, scale and constant effort, see JointActuator.
        rotor_inertia: of the rotor about its own axis [kg m^2], or its mass [kg] for a prismatic joint.
        gear_ratio: rotor speed over joint speed.
        controller_gains: p [N m/rad or N/m] and d [N m s/rad or N s/m] of its PD controller, if it has one.
    """

    name: str
    joint_model: str
    joint: str
    location: SourceLocation
    effort_limit: float = inf
    effort_range: tuple[float, float] | None = None
    desired_position: tuple[float, float, float, float] | None = None
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    controller_gains: tuple[float, float] | None = None
    is_along_transmission: bool = False
    law: ActuatorLaw | None = None


@dataclass(frozen=True)
class BushingDescription:
    """A bushing between two frames; each of the constants has the shape [3], see LinearBushingRollPitchYaw."""

    frameA: FrameReference
    frameC: FrameReference
    location: SourceLocation
    torque_stiffness: np.ndarray
    torque_damping: np.ndarray
    force_stiffness: np.ndarray
    force_damping: np.ndarray


@dataclass(frozen=True)
class SpringDamperDescription:
    """A spring and damper between a point P of body A and a point Q of body B; positions have the shape [3] [m].

    Attributes:
        free_length: without force of the spring [m].
        stiffness: [N/m].
        damping: [N s/m].
    """

    body_A: BodyReference
    p_AP: np.ndarray
    body_B: BodyReference
    p_BQ: np.ndarray
    location: SourceLocation
    free_length: float
    stiffness: float
    damping: float


@dataclass(frozen=True)
class FluidDescription:
    """The force of a fluid around a body of one model on a shape of it.

    Attributes:
        body: name of the body.
        X_BG: pose of the shape in it.
        size: lengths of a box, or semi-axes of an ellipsoid [m], shape [3].
        density, viscosity, wind: of the fluid [kg/m^3, Pa s, m/s in the world].
        coefficients: of an ellipsoid, see FluidForceOnEllipsoid; None for a box.
    """

    body: str
    X_BG: RigidTransform
    location: SourceLocation
    size: np.ndarray
    density: float
    viscosity: float
    wind: np.ndarray
    coefficients: np.ndarray | None = None


@dataclass(frozen=True)
class CouplerDescription:
    """A joint that mimics another one of the same model: q0 = gear_ratio q1 + offset.

    Attributes:
        joint0: name of the joint that mimics.
        joint1: name of the other.
    """

    model: str
    joint0: str
    joint1: str
    gear_ratio: float
    offset: float
    location: SourceLocation


@dataclass(frozen=True)
class EqualityDescription:
    """An equation between positions of joints of one model.

    Attributes:
        kind: "polynomial" or "linear", see kernels/constraints.
        joints: names of joints with one degree of freedom each.
        constants: of the kind.
    """

    kind: str
    joints: tuple[str, ...]
    constants: tuple[float, ...]
    location: SourceLocation


@dataclass(frozen=True)
class BallConstraintDescription:
    """A point P of body A that stays at a point Q of body B; positions have the shape [3] [m]."""

    body_A: BodyReference
    p_AP: np.ndarray
    body_B: BodyReference
    p_BQ: np.ndarray
    location: SourceLocation


@dataclass(frozen=True)
class WeldConstraintDescription:
    """A frame P on body A that stays at a frame Q on body B, by poses X_AP and X_BQ."""

    body_A: BodyReference
    X_AP: RigidTransform
    body_B: BodyReference
    X_BQ: RigidTransform
    location: SourceLocation


@dataclass(frozen=True)
class TendonDescription:
    """A tendon along joints of one model: the length a . q + offset has limits.

    Attributes:
        joints: names of one or two of them.
        coefficients: a, one for each joint [m/rad or 1, or as the length is measured].
        offset: [m or rad].
        lower, upper: limits, may be infinite [m or rad].
        stiffness: of the limits, may be infinite [N/m or N m/rad].
        damping: [N s/m or N m s/rad].
    """

    joints: tuple[str, ...]
    coefficients: tuple[float, ...]
    location: SourceLocation
    offset: float
    lower: float
    upper: float
    stiffness: float
    damping: float


@dataclass(frozen=True)
class JointTermDescription:
    """A joint of a transmission, by name, and its coefficient."""

    joint: str
    coefficient: float


@dataclass(frozen=True)
class SiteDescription:
    """A site S on a body B."""

    body: BodyReference
    X_BS: RigidTransform


@dataclass(frozen=True)
class PulleyDescription:
    """A pulley by which lengths behind it are divided."""

    divisor: float


@dataclass(frozen=True)
class SurfaceDescription:
    """A sphere or cylinder on a body B, around which a tendon wraps on the side of a site."""

    body: BodyReference
    X_BG: RigidTransform
    radius: float
    is_cylinder: bool
    side: SiteDescription | None


PathElementDescription = JointTermDescription | SiteDescription | PulleyDescription | SurfaceDescription | BodyReference


@dataclass(frozen=True)
class TransmissionDescription:
    """A tendon, or what else actuators act along.

    Attributes:
        model: scoped name of the model of its joints, in which its name is unique.
        kind: "fixed", "spatial", "ball", "site", "slider-crank" or "adhesion", whose path is a body.
        path: what it goes through.
        constants: of a ball whether its axis is on the parent, and the axis; of a site a moment and a force; of a
            slider-crank the length of the rod [m] and a scale.
        springs: "stiffness", "damping", "rest_lower", "rest_upper", "friction", "armature" and "limits" as Transmission
            has them, and "rest_positions": names of joints with positions in which the spring is at rest.
    """

    name: str
    model: str
    kind: str
    path: tuple[PathElementDescription, ...]
    location: SourceLocation
    constants: tuple[float, ...] = ()
    springs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GeometryReference:
    """A collision geometry by its body and its name on it."""

    body: BodyReference
    name: str


@dataclass(frozen=True)
class CollisionExclusionDescription:
    """Two groups of geometries that ignore each other; the same group twice ignores itself."""

    first: tuple[GeometryReference, ...]
    second: tuple[GeometryReference, ...]
    location: SourceLocation


@dataclass(frozen=True)
class CollisionFilterGroupDescription:
    """Bodies whose geometries ignore those of other groups (or of their own group).

    Attributes:
        members: bodies of the model, or of models nested in it, as in `nested::body`.
        member_groups: groups of which all bodies belong to this group, too.
        ignored_groups: groups with which this group does not collide.
    """

    name: str
    members: tuple[str, ...]
    member_groups: tuple[str, ...]
    ignored_groups: tuple[str, ...]
    location: SourceLocation


@dataclass
class ModelDescription:
    """A model: one model instance of a plant.

    Attributes:
        loop_joints: those that close loops of the others, without coordinates of their own.
        is_added_first: it comes before the models of its document that are not.
        gravity: that the file asks for, in the world [m/s^2], shape [3]; None if it does not.
        lights: that its cameras see it by; without any the renderer has its own.
        sky: colours of the sky above, and its mean, each from 0 to 1, shape [2, 3]; None if the file has none.
    """

    name: str
    location: SourceLocation
    links: list[LinkDescription] = field(default_factory=list)
    deformables: list[DeformableDescription] = field(default_factory=list)
    joints: list[JointDescription] = field(default_factory=list)
    transmissions: list[TransmissionDescription] = field(default_factory=list)
    actuators: list[ActuatorDescription] = field(default_factory=list)
    frames: list[FrameDescription] = field(default_factory=list)
    bushings: list[BushingDescription] = field(default_factory=list)
    spring_dampers: list[SpringDamperDescription] = field(default_factory=list)
    fluids: list[FluidDescription] = field(default_factory=list)
    couplers: list[CouplerDescription] = field(default_factory=list)
    equalities: list[EqualityDescription] = field(default_factory=list)
    ball_constraints: list[BallConstraintDescription] = field(default_factory=list)
    weld_constraints: list[WeldConstraintDescription] = field(default_factory=list)
    tendons: list[TendonDescription] = field(default_factory=list)
    loop_joints: list[JointDescription] = field(default_factory=list)
    filter_groups: list[CollisionFilterGroupDescription] = field(default_factory=list)
    exclusions: list[CollisionExclusionDescription] = field(default_factory=list)
    nested: list[ModelDescription] = field(default_factory=list)
    world_visuals: list[GeometryDescription] = field(default_factory=list)
    world_collisions: list[GeometryDescription] = field(default_factory=list)
    cameras: list[CameraDescription] = field(default_factory=list)
    lights: list[LightDescription] = field(default_factory=list)
    sensors: list[SensorDescription] = field(default_factory=list)
    keyframes: list[KeyframeDescription] = field(default_factory=list)
    is_added_first: bool = False
    gravity: np.ndarray | None = None
    sky: np.ndarray | None = None

    def with_nested(self) -> list[ModelDescription]:
        """This model and all models nested in it, outer ones first."""
        return [self] + [model for child in self.nested for model in child.with_nested()]


@dataclass
class DocumentDescription:
    """All that one file describes; joints, loop joints, actuators and frames here are those outside any model.

    Attributes:
        depends_on_files: whether it follows from what is in other files, and not only from where they are.
    """

    location: SourceLocation
    models: list[ModelDescription] = field(default_factory=list)
    joints: list[JointDescription] = field(default_factory=list)
    actuators: list[ActuatorDescription] = field(default_factory=list)
    frames: list[FrameDescription] = field(default_factory=list)
    loop_joints: list[JointDescription] = field(default_factory=list)
    depends_on_files: bool = False

    def all_models(self) -> list[ModelDescription]:
        """Every model of the document, outer ones before the ones nested in them."""
        return [model for root in self.models for model in root.with_nested()]
