"""What values print is what they print in pydrake, where that says something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser import all as ours
from merganser.framework.core.scalars import scalar_named

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


def test_contexts_print_the_same_but_for_the_parameters_of_plants() -> None:
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
