"""Values print as in pydrake, where that is informative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser import all as ours
from merganser.framework.core.scalars.scalars import scalar_named

theirs = pytest.importorskip("pydrake.all")

ROTATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "RigidTransform": lambda lib, T: lib.RigidTransform_[T]([T(1), T(2.5), T(3)]),
    "RotationMatrix": lambda lib, T: lib.RotationMatrix_[T](),
    "RollPitchYaw": lambda lib, T: lib.RollPitchYaw_[T](0.5, 0.25, 0.125),
    "Quaternion": lambda lib, T: lib.Quaternion_[T](T(1.0), T(0.0), T(0.0), T(0.0)),
    "AngleAxis": lambda lib, T: lib.AngleAxis_[T](T(0.5), [T(1.0), T(0.0), T(0.0)]),
    "Isometry3": lambda lib, T: lib.Isometry3_[T](),
    "SpatialVelocity": lambda lib, T: lib.SpatialVelocity_[T]([1.0, 2.0, 3.0], [4.0, 5.0, 6.5]),
    "SpatialAcceleration": lambda lib, T: lib.SpatialAcceleration_[T]([1.0, 2.0, 3.0], [4.0, 5.0, 6.5]),
    "SpatialForce": lambda lib, T: lib.SpatialForce_[T]([1.0, 2.0, 3.0], [4.0, 5.0, 6.5]),
    "SpatialMomentum": lambda lib, T: lib.SpatialMomentum_[T]([1.0, 2.0, 3.0], [4.0, 5.0, 6.5]),
    "BasicVector": lambda lib, T: lib.BasicVector_[T]([1.0, 2.5]),
    "state": lambda lib, T: lib.Integrator_[T](2).CreateDefaultContext().get_continuous_state_vector(),
}
SAYS_NOTHING_BY_REPR = ("Quaternion", "AngleAxis", "Isometry3")  # <... object at 0x...>

OTHERS: dict[str, Callable[[Any], Any]] = {
    "Sphere": lambda lib: lib.Sphere(0.5),
    "Box": lambda lib: lib.Box(1, 2, 3.5),
    "Cylinder": lambda lib: lib.Cylinder(0.5, 2),
    "Capsule": lambda lib: lib.Capsule(0.5, 2),
    "Ellipsoid": lambda lib: lib.Ellipsoid(1, 2, 3),
    "HalfSpace": lambda lib: lib.HalfSpace(),
    "Mesh": lambda lib: lib.Mesh("/a/b.obj", 2.0),
    "Convex": lambda lib: lib.Convex("/a/b.obj"),
    "MeshcatCone": lambda lib: lib.MeshcatCone(1, 2, 3),
    "Rgba": lambda lib: lib.Rgba(1, 0.5, 0),
    "MemoryFile": lambda lib: lib.MemoryFile("text", ".txt", "hint"),
    "BodyIndex": lambda lib: lib.BodyIndex(3),
    "AutoDiffXd": lambda lib: lib.AutoDiffXd(1.5, [1.0, 0.0]),
    "Variable": lambda lib: lib.Variable("x"),
    "Variables": lambda lib: lib.Variables([lib.Variable("x"), lib.Variable("y")]),
    "Parallelism": lambda lib: lib.Parallelism(2),
    "MultibodyPlantConfig": lambda lib: lib.MultibodyPlantConfig(),
    "SceneGraphConfig": lambda lib: lib.SceneGraphConfig(),
    "DoorHingeConfig": lambda lib: lib.DoorHingeConfig(),
    "SimulatorConfig": lambda lib: lib.SimulatorConfig(max_step_size=0.25),
}


@pytest.mark.parametrize("scalar", ["float", "AutoDiffXd", "Expression"])
@pytest.mark.parametrize("name", ROTATIONS)
def test_values_of_scalars_print_the_same(name: str, scalar: str) -> None:
    def made(lib: Any, T: type[Any]) -> Any:
        return ROTATIONS[name](lib, T)

    our_scalar = float if scalar == "float" else scalar_named(scalar)
    ours_made = made(ours, our_scalar)
    theirs_made = made(theirs, float if scalar == "float" else getattr(theirs, scalar))
    assert str(ours_made) == str(theirs_made)
    if name not in SAYS_NOTHING_BY_REPR:
        assert repr(ours_made) == repr(theirs_made)


@pytest.mark.parametrize("name", OTHERS)
def test_other_values_print_the_same(name: str) -> None:
    a, b = OTHERS[name](ours), OTHERS[name](theirs)
    assert (str(a), repr(a)) == (str(b), repr(b))


def test_contexts_of_diagrams_print_the_same() -> None:
    def text(lib: Any) -> str:
        builder = lib.DiagramBuilder()
        integrator = builder.AddNamedSystem("integrator", lib.Integrator(2))
        hold = builder.AddNamedSystem("hold", lib.ZeroOrderHold(0.5, 2))
        gain = builder.AddNamedSystem("gain", lib.Gain(2.0, 2))
        builder.AddNamedSystem("constant", lib.ConstantVectorSource([0.125, -3.0]))
        builder.Connect(integrator.get_output_port(), hold.get_input_port())
        builder.Connect(hold.get_output_port(), gain.get_input_port())
        builder.Connect(gain.get_output_port(), integrator.get_input_port())
        diagram = builder.Build()
        diagram.set_name("loop")
        context = diagram.CreateDefaultContext()
        context.SetTime(0.25)
        context.SetContinuousState(np.array([1.0, 12.5]))
        return str(context)

    assert text(ours) == text(theirs)


ARM = """<robot name="arm">
  <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="revolute"><origin xyz="0 0 0.25"/><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit effort="1000" velocity="10" lower="-1" upper="1"/><dynamics damping="0.125"/></joint>
  <transmission type="SimpleTransmission"><joint name="j"/><actuator name="motor"/></transmission>
</robot>"""


def arm(lib: Any, time_step: float) -> Any:
    plant = lib.MultibodyPlant(time_step)
    lib.Parser(plant).AddModelsFromString(ARM, "urdf")
    return plant


def with_every_kind_of_parameter(lib: Any, time_step: float) -> Any:
    plant = lib.MultibodyPlant(time_step)
    M_BBo_B = lib.SpatialInertia.SolidBoxWithMass(2, 1, 1, 1)
    a, b, c, d = (plant.AddRigidBody(name, M_BBo_B) for name in "abcd")
    X_WF = lib.RigidTransform([1, 2, 3])
    F = plant.AddFrame(lib.FixedOffsetFrame("F", plant.world_frame(), X_WF))
    hinge = plant.AddJoint(lib.RevoluteJoint("hinge", F, a.body_frame(), [0, 0, 1], 0.5))
    slider = plant.AddJoint(lib.PrismaticJoint("slider", a.body_frame(), b.body_frame(), [1, 0, 0], damping=0.25))
    plant.AddJoint(lib.WeldJoint("weld", c.body_frame(), plant.world_frame(), X_WF))
    plant.AddForceElement(lib.RevoluteSpring(hinge, 0.125, 8.0))
    plant.AddForceElement(lib.LinearSpringDamper(a, [1, 0, 0], b, [0, 1, 0], 1, 2, 3))
    bushing = lib.LinearBushingRollPitchYaw(
        b.body_frame(), d.body_frame(), [1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]
    )
    plant.AddForceElement(bushing)
    motor = plant.AddJointActuator("motor", slider)
    motor.set_default_rotor_inertia(0.0625)
    motor.set_default_gear_ratio(100.0)
    return plant


def alone(lib: Any, make: Callable[[Any, float], Any], time_step: float) -> str:
    plant = make(lib, time_step)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    context.SetTime(1 / 3)
    return str(context)


def controlled(lib: Any) -> str:
    builder = lib.DiagramBuilder()
    plant, _ = lib.AddMultibodyPlantSceneGraph(builder, 0.01)
    lib.Parser(plant).AddModelsFromString(ARM, "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("a"))
    plant.Finalize()
    pid = builder.AddNamedSystem("pid", lib.PidController([1.0], [2.0], [3.0]))
    builder.Connect(plant.get_state_output_port(), pid.get_input_port_estimated_state())
    builder.Connect(pid.get_output_port_control(), plant.get_actuation_input_port())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    pid.get_input_port_desired_state().FixValue(pid.GetMyContextFromRoot(context), [0.5, 0.0])
    context.SetAccuracy(1e-3)
    return str(context)


@pytest.mark.parametrize("time_step", [0.0, 0.01])
@pytest.mark.parametrize(
    "make",
    [arm, with_every_kind_of_parameter, lambda lib, h: lib.MultibodyPlant(h)],
    ids=["arm", "every kind", "empty"],
)
def test_contexts_of_plants_print_the_same_groups(make: Callable[[Any, float], Any], time_step: float) -> None:
    assert alone(ours, make, time_step) == alone(theirs, make, time_step)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, -1), (0, 0.6, 0.8)])
@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("kind", ["RevoluteJoint", "PrismaticJoint"])
def test_contexts_show_the_frames_that_an_axis_asks_for(
    axis: tuple[float, float, float], is_reversed: bool, kind: str
) -> None:
    def numbers(lib: Any) -> list[str]:
        plant = lib.MultibodyPlant(0.0)
        body = plant.AddRigidBody("body", lib.SpatialInertia.SolidBoxWithMass(2, 1, 1, 1))
        frames = [plant.world_frame(), body.body_frame()]
        parent, child = reversed(frames) if is_reversed else frames
        plant.AddJoint(getattr(lib, kind)("joint", parent, child, axis))
        plant.Finalize()
        # Which zeros of a rotation are negative says nothing.
        return [{"-0": "0"}.get(word, word) for word in str(plant.CreateDefaultContext()).split()]

    assert numbers(ours) == numbers(theirs)


def test_contexts_of_plants_and_their_controllers_print_the_same() -> None:
    assert controlled(ours) == controlled(theirs)


NUMBERS = [0.010833333333333334, 100 / 3, 123456789012345680.0, 1e-05, 1e16, 1e15, -0.0, 0.1 + 0.2, np.inf, np.nan]


@pytest.mark.parametrize("scalar", ["float", "AutoDiffXd"])
def test_contexts_print_numbers_to_the_same_digits(scalar: str) -> None:
    def text(lib: Any) -> str:
        system = lib.Integrator(len(NUMBERS))
        context = system.CreateDefaultContext()
        context.SetContinuousState(NUMBERS)
        context.SetTime(NUMBERS[0])
        if scalar == "float":
            return str(context)
        converted = system.ToAutoDiffXd()
        other = converted.CreateDefaultContext()
        other.SetTimeStateAndParametersFrom(context)
        return str(other)

    assert text(ours) == text(theirs)


def test_contexts_with_parameters_and_abstract_state_print_the_same() -> None:
    def text(lib: Any) -> str:
        class Everything(lib.LeafSystem):  # type: ignore[misc,name-defined]
            def __init__(self) -> None:
                lib.LeafSystem.__init__(self)
                self.DeclareNumericParameter(lib.BasicVector([1.0, 2.5]))
                self.DeclareNumericParameter(lib.BasicVector(0))
                self.DeclareAbstractParameter(lib.Value("x"))
                self.DeclareAbstractState(lib.Value(3.0))
                self.DeclareAbstractState(lib.Value([1]))
                self.DeclareDiscreteState([1.0, 2.0, 3.0])
                self.DeclareDiscreteState([1e-9])
                self.DeclareContinuousState(1, 1, 1)
                self.DeclareVectorInputPort("u", 2)

        system = Everything()
        context = system.CreateDefaultContext()
        system.get_input_port().FixValue(context, [1.0, 2.0])
        context.SetAccuracy(1e-3)
        context.SetTime(0.1)
        return str(context)

    assert text(ours) == text(theirs)
