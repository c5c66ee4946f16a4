"""Every public function that reaches compiled code, called by its name and the names of its arguments.

A new `Scene` is made for each call, so that a call can be the first thing that happens in a process. What to pass for
an argument follows from its name, so a function that is added later is called without another line here, as long as its
arguments have the names that pydrake gives them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from plants import box_inertia, off_centre_inertia

from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import AutoDiffXd, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.framework.symbolic import Expression
from merganser.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, QueryObject, Sphere
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import JacobianWrtVariable, MultibodyForces_, PrismaticJoint, RevoluteJoint, RigidBody

Array = np.ndarray[Any, Any]
SCALARS: dict[str, type] = {"float": float, "AutoDiffXd": AutoDiffXd, "Expression": Expression}
SHAPES: dict[str, Callable[[], Any]] = {
    "sphere": lambda: Sphere(0.2),
    "box": lambda: Box(0.3, 0.4, 0.5),
    "capsule": lambda: Capsule(0.1, 0.4),
    "cylinder": lambda: Cylinder(0.15, 0.4),
    "ellipsoid": lambda: Ellipsoid(0.1, 0.2, 0.3),
    "hull": lambda: Convex(np.array([[0, 0, 0], [0.4, 0, 0], [0, 0.4, 0], [0, 0, 0.4]]).T, "hull"),
}
_NOT_CALLED = {  # of every system, with no kernel behind them, or of loops of joints, which the scene has none of
    "EvalAbstractInput", "EvalVectorInput", "MakeWitnessFunction", "CalcOutput", "CalcForcedUnrestrictedUpdate",
    "EvalUniquePeriodicDiscreteUpdate", "CalcLoopJointSpatialForce", "MakeStateSelectorMatrix",
}  # fmt: skip
_KINDS_OF_CALLS = ("Calc", "Eval", "Make", "Map", "Get", "Set")


class Scene:
    """An arm and a free box that touches the ground and the arm, beside a scene graph, in a Context of its own.

    Args:
        scalar: one of SCALARS. Of symbolic expressions the plant stands alone, as there is no scene graph of these.
        time_step: of the plant [s].
        shapes: names of SHAPES, of the geometries of the box and the tool.
    """

    def __init__(self, scalar: str = "float", time_step: float = 0.0, shapes: tuple[str, ...] = ()) -> None:
        self.scalar, self.time_step, self.shapes = scalar, time_step, shapes
        is_symbolic = scalar == "Expression"
        builder = DiagramBuilder()
        plant = MultibodyPlant(time_step)
        if not is_symbolic:
            AddMultibodyPlantSceneGraph(builder, plant)
        self._fill(plant, () if is_symbolic else shapes)
        system: Any = plant if is_symbolic else builder.Build()
        if scalar == "AutoDiffXd":
            system = system.ToAutoDiffXd()
        if is_symbolic:
            system = system.ToSymbolic()
        self.system, self.context = system, system.CreateDefaultContext()
        self.plant = system if is_symbolic else system.GetSubsystemByName(plant.get_name())
        self.plant_context = self.plant.GetMyMutableContextFromRoot(self.context)
        self.plant.get_actuation_input_port().FixValue(self.plant_context, np.array([0.3, -0.2]))
        self.move(0)

    def _fill(self, plant: Any, shapes: tuple[str, ...]) -> None:
        world = plant.world_frame()
        upper = plant.AddRigidBody("upper", off_centre_inertia())
        tool = plant.AddRigidBody("tool", box_inertia(0.7))
        box = plant.AddRigidBody("box", off_centre_inertia())
        shoulder = RevoluteJoint("shoulder", world, upper.body_frame(), [0, 1, 0], -1.0, 1.0, damping=0.3)
        slide = PrismaticJoint("slide", upper.body_frame(), tool.body_frame(), [1, 0, 1])
        plant.AddJointActuator("motor", plant.AddJoint(shoulder))
        plant.AddJointActuator("piston", plant.AddJoint(slide))
        if shapes:
            friction = CoulombFriction(0.9, 0.8)
            ground = RigidTransform([0.0, 0.0, -0.5])
            plant.RegisterCollisionGeometry(plant.world_body(), ground, HalfSpace(), "ground", friction)
            for body, shape in zip((box, tool), shapes):
                plant.RegisterCollisionGeometry(body, RigidTransform(), SHAPES[shape](), shape, friction)
        plant.Finalize()

    def move(self, seed: int) -> None:
        """Sets a state in which the box and the tool overlap and reach the ground, another one for each seed."""
        plant, rng = self.plant, np.random.default_rng(seed)
        q, v = 0.1 * rng.normal(size=plant.num_positions()), 0.1 * rng.normal(size=plant.num_velocities())
        start = plant.GetBodyByName("box").floating_positions_start()
        q[start] += 1.0
        q[start + 4 : start + 7] = 0.1, -0.1, -0.4
        state: Any = np.concatenate([q, v])
        if self.scalar == "AutoDiffXd":
            state = InitializeAutoDiff(state).ravel()
        if self.scalar == "Expression":
            state = np.array([Expression(number) for number in state])  # of variables, texts would be endless
        plant.SetPositionsAndVelocities(self.plant_context, state)

    @property
    def query_object(self) -> QueryObject:
        """The scene graph's query object."""
        query_object: QueryObject = self.plant.get_geometry_query_input_port().Eval(self.plant_context)
        return query_object

    def argument(self, name: str) -> Any:
        """The value for an argument of this name; KeyError if unknown."""
        return _ARGUMENTS[name](self)


_ARGUMENTS: dict[str, Callable[[Scene], Any]] = {
    "context": lambda s: s.plant_context,
    "with_respect_to": lambda s: JacobianWrtVariable.kV,
    "frame_A": lambda s: s.plant.GetFrameByName("upper"),
    "frame_B": lambda s: s.plant.GetFrameByName("tool"),
    "frame_E": lambda s: s.plant.world_frame(),
    "frame_F": lambda s: s.plant.GetFrameByName("upper"),
    "world_frame": lambda s: s.plant.world_frame(),
    "X_JpJc": lambda s: RigidTransform([0.1, 0.2, 0.3]),
    "X_WB": lambda s: RigidTransform([0.1, 0.2, 0.3]),
    "body": lambda s: s.plant.GetBodyByName("box"),
    "body_indexes": lambda s: [s.plant.GetBodyByName("box").index()],
    "p_BoBp_B": lambda s: np.array([0.1, 0.2, 0.3]),
    "p_BoBi_B": lambda s: np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]),
    "p_BQi": lambda s: np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]),
    "p_WQ": lambda s: np.array([0.1, 0.2, 0.3]),
    "p_WoP_W": lambda s: np.array([0.1, 0.2, 0.3]),
    "known_vdot": lambda s: np.linspace(-1.0, 1.0, s.plant.num_velocities()),
    "qdot": lambda s: np.linspace(-1.0, 1.0, s.plant.num_positions()),
    "v": lambda s: np.linspace(-1.0, 1.0, s.plant.num_velocities()),
    "q": lambda s: np.linspace(0.2, 1.0, s.plant.num_positions()),
    "q_v": lambda s: np.linspace(0.2, 1.0, s.plant.num_multibody_states()),
    "forces": lambda s: MultibodyForces_[SCALARS[s.scalar]](s.plant),
    "external_forces": lambda s: MultibodyForces_[SCALARS[s.scalar]](s.plant),
    "derivatives": lambda s: s.plant.AllocateTimeDerivatives(),
    "proposed_derivatives": lambda s: s.plant.AllocateTimeDerivatives(),
    "discrete_state": lambda s: s.plant.AllocateDiscreteVariables(),
    "geometry_id": lambda s: _geometry_ids(s)[0],
    "geometry_id_A": lambda s: _geometry_ids(s)[0],
    "geometry_id_B": lambda s: _geometry_ids(s)[1],
}
_FREE_FORMS = {  # the arguments after the Context of functions that are declared with *args or with alternatives
    "CalcBiasCenterOfMassTranslationalAcceleration": ("with_respect_to", "world_frame", "frame_E"),
    "CalcJacobianCenterOfMassTranslationalVelocity": ("with_respect_to", "world_frame", "frame_E"),
    "CalcSpatialMomentumInWorldAboutPoint": ("p_WoP_W",),
    "SetFreeBodyPose": ("body", "X_JpJc"),
    "SetPositions": ("q",),
    "SetPositionsAndVelocities": ("q_v",),
    "SetVelocities": ("v",),
}


def _geometry_ids(scene: Scene) -> list[Any]:
    model = scene.query_object.inspector()
    return [scene_id for scene_id in model.GetAllGeometryIds() if model.GetProximityProperties(scene_id) is not None]


@dataclass(frozen=True)
class Call:
    """A public function, and how a scene for it is made.

    Attributes:
        of: "plant", "query" or "port": whose function it is.
        name: of the function, or of the output port.
        arguments: the names of its arguments.
        scalar, time_step, shapes: see `Scene`.
    """

    of: str
    name: str
    arguments: tuple[str, ...]
    scalar: str
    time_step: float
    shapes: tuple[str, ...] = ("sphere", "box")

    def __str__(self) -> str:
        when = "discrete" if self.time_step else "continuous"
        return f"{self.of} {self.name}, {self.scalar}, {when}, {'-'.join(self.shapes)}"

    def scene(self) -> Scene:
        """A scene for this call."""
        return Scene(self.scalar, self.time_step, self.shapes)

    def run(self, scene: Scene, **replaced: Any) -> Any:
        """Calls the function, with other values for some of its arguments if wanted."""
        if self.of == "port":
            return scene.plant.GetOutputPort(self.name).Eval(scene.plant_context)
        given = {name: replaced.get(name) if name in replaced else scene.argument(name) for name in self.arguments}
        function = getattr(scene.query_object if self.of == "query" else scene.plant, self.name)
        if self.name in _FREE_FORMS:
            return function(*given.values())
        result = function(**given)
        return [result, *(given[name] for name in _OUTPUTS if name in given)]


_OUTPUTS = ("derivatives", "discrete_state", "forces")


def plant_calls(scalar: str, time_step: float) -> Iterator[Call]:
    """The functions of a plant that take a Context."""
    for name in sorted(dir(MultibodyPlant)):
        if name.startswith(_KINDS_OF_CALLS) and name not in _NOT_CALLED:
            arguments = _FREE_FORMS.get(name)
            names = ("context", *arguments) if arguments else _required(getattr(MultibodyPlant, name))
            is_of_other_time = name == ("CalcForcedDiscreteVariableUpdate" if not time_step else "CalcTimeDerivatives")
            if "context" in names and set(names) <= set(_ARGUMENTS) and not is_of_other_time:
                yield Call("plant", name, names, scalar, time_step)


def port_calls(scalar: str, time_step: float) -> Iterator[Call]:
    """The output ports of a plant."""
    plant = Scene(scalar, time_step).plant
    for index in range(plant.num_output_ports()):
        yield Call("port", plant.get_output_port(index).get_name(), (), scalar, time_step)


def query_calls(scalar: str, shapes: tuple[str, ...]) -> Iterator[Call]:
    """The functions of a QueryObject."""
    for name in sorted(dir(QueryObject)):
        if name.startswith("Compute"):
            names = _required(getattr(QueryObject, name))
            if set(names) <= set(_ARGUMENTS):
                yield Call("query", name, names, scalar, 0.0, shapes)


def _required(function: Any) -> tuple[str, ...]:
    """The names of the arguments that a method needs."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return tuple(p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD)


def flattened(value: Any) -> list[Any]:
    """All numbers in a result, in order, derivatives too; and what else there is, by its type."""
    if isinstance(value, (bool, int, float, str, type(None))):
        return [value]
    if isinstance(value, AutoDiffXd):
        return [value.value(), *value.derivatives()]
    if isinstance(value, (Expression, RigidBody)):
        return [str(value)]
    if isinstance(value, (np.ndarray, np.void)):
        return [part for item in value.tolist() for part in flattened(item)] if value.ndim or value.dtype.names else []
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flattened(item)]
    for names in _CONTENTS:
        if all(hasattr(value, name) for name in names):
            return [part for name in names for part in flattened(getattr(value, name)())]
    fields = getattr(value, "__dict__", {})
    public = [field for name, field in fields.items() if not name.startswith("_") and not callable(field)]
    return flattened(public) if public else [type(value).__name__]


_CONTENTS = (  # methods that give all that an object holds
    ("toarray",), ("get_coeffs",), ("GetAsMatrix34",), ("matrix",), ("CopyToFullMatrix6",), ("CopyToVector",),
    ("generalized_forces",), ("ids",), ("value",),
)  # fmt: skip
