"""Rows about the plant."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from libraries import MODELS, ROOT, Library, Row, load

IIWA = MODELS / "iiwa_description" / "urdf" / "iiwa14_no_collision.urdf"
CART_POLE = ROOT / "examples" / "models" / "cart_pole.sdf"


def iiwa_calls(library: Library) -> dict[str, Callable[[], Any]]:
    """Set a new state and compute, through the public functions; the states alternate so that nothing is cached."""
    plant = library.plant.MultibodyPlant(0.0)
    load(library, plant, IIWA)
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, np.zeros(7))
    forces = library.tree.MultibodyForces(plant)
    generator = np.random.default_rng(1)
    states = list(generator.uniform(-1.0, 1.0, (64, 14)))
    positions = [state[:7].copy() for state in states]
    vdot = generator.uniform(-1.0, 1.0, 7)
    count = 0

    def next_index() -> int:
        nonlocal count
        count = (count + 1) % 64
        return count

    def mass_matrix() -> Any:
        plant.SetPositions(context, positions[next_index()])
        return plant.CalcMassMatrix(context)

    def inverse_dynamics() -> Any:
        plant.SetPositionsAndVelocities(context, states[next_index()])
        return plant.CalcInverseDynamics(context, vdot, forces)

    def forward_dynamics() -> Any:
        plant.SetPositionsAndVelocities(context, states[next_index()])
        return plant.EvalTimeDerivatives(context).CopyToVector()

    world, link_7 = plant.world_frame(), plant.GetFrameByName("iiwa_link_7")
    wrt_v = library.tree.JacobianWrtVariable.kV
    p_BoBp_B = np.array([0.1, 0.2, 0.3])

    def pose_of_last_link() -> Any:
        plant.SetPositions(context, positions[next_index()])
        return plant.EvalBodyPoseInWorld(context, link_7.body()).translation()

    def jacobian() -> Any:
        plant.SetPositions(context, positions[next_index()])
        return plant.CalcJacobianSpatialVelocity(context, wrt_v, link_7, p_BoBp_B, world, world)

    def center_of_mass_jacobian() -> Any:
        plant.SetPositions(context, positions[next_index()])
        return plant.CalcJacobianCenterOfMassTranslationalVelocity(context, wrt_v, world, world)

    def bias_acceleration() -> Any:
        plant.SetPositionsAndVelocities(context, states[next_index()])
        return plant.CalcBiasTranslationalAcceleration(context, wrt_v, link_7, p_BoBp_B, world, world)

    return {
        "pose of the last link": pose_of_last_link,
        "spatial Jacobian of the last link": jacobian,
        "Jacobian of the centre of mass": center_of_mass_jacobian,
        "bias acceleration of the last link": bias_acceleration,
        "mass matrix": mass_matrix,
        "inverse dynamics": inverse_dynamics,
        "forward dynamics": forward_dynamics,
    }


def iiwa_gradients(library: Library, scalar: Any, initialize: Callable[..., Any]) -> dict[str, Callable[[], Any]]:
    """Dynamics with derivatives by the whole state, of a plant of AutoDiffXd."""
    plant = library.plant.MultibodyPlant(0.0)
    load(library, plant, IIWA)
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    plant = plant.ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [scalar(0.0)] * 7)
    forces = library.tree.MultibodyForces_[scalar](plant)
    generator = np.random.default_rng(1)
    states = [initialize(state).ravel() for state in generator.uniform(-1.0, 1.0, (64, 14))]
    vdot = np.array([scalar(a) for a in generator.uniform(-1.0, 1.0, 7)])
    first, second = itertools.cycle(states), itertools.cycle(states)

    def inverse_dynamics() -> Any:
        plant.SetPositionsAndVelocities(context, next(first))
        return _gradient(plant.CalcInverseDynamics(context, vdot, forces))

    def forward_dynamics() -> Any:
        plant.SetPositionsAndVelocities(context, next(second))
        return _gradient(plant.EvalTimeDerivatives(context).CopyToVector()[7:])

    return {"inverse dynamics": inverse_dynamics, "forward dynamics": forward_dynamics}


def _gradient(quantity: Any) -> Any:
    return np.array([element.derivatives() for element in quantity])


def iiwa_closed_forms(library: Library) -> dict[str, Callable[[], Any]]:
    """The same derivatives in closed form, of a plant of floats."""
    from merganser.multibody.algorithms import forward_dynamics_derivatives, inverse_dynamics_derivatives

    plant = library.plant.MultibodyPlant(0.0)
    load(library, plant, IIWA)
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, 0.0])  # for inverse dynamics, which leaves it out
    plant.Finalize()
    context = plant.CreateDefaultContext()
    generator = np.random.default_rng(1)
    states = list(generator.uniform(-1.0, 1.0, (64, 14)))
    vdot = generator.uniform(-1.0, 1.0, 7)
    plant_damping = np.diag(np.concatenate([joint.default_damping_vector() for joint in plant._tree.joints]))
    heavy = plant.CreateDefaultContext()
    plant.gravity_field().SetGravityVector(heavy, [0.0, 0.0, -9.81])
    first, second = itertools.cycle(states), itertools.cycle(states)

    def inverse_dynamics() -> Any:
        plant.SetPositionsAndVelocities(context, next(first))
        dq, dv, _ = inverse_dynamics_derivatives(plant, context, vdot)
        return np.hstack([dq, dv - plant_damping])

    def forward_dynamics() -> Any:
        plant.SetPositionsAndVelocities(heavy, next(second))
        _, dq, dv, _ = forward_dynamics_derivatives(plant, heavy)
        return np.hstack([dq, dv])

    return {"inverse dynamics": inverse_dynamics, "forward dynamics": forward_dynamics}


def gradient_rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Gradients by the whole state: AutoDiffXd against AutoDiffXd, closed form against pydrake's AutoDiffXd."""
    from merganser.framework.autodiff import AutoDiffXd, InitializeAutoDiff

    their_calls: dict[str, Callable[[], Any]] = {}
    if theirs:
        import pydrake.autodiffutils as autodiff

        their_calls = iiwa_gradients(theirs, autodiff.AutoDiffXd, autodiff.InitializeAutoDiff)
    for name, call in iiwa_gradients(ours, AutoDiffXd, InitializeAutoDiff).items():
        yield Row(f"iiwa14, AutoDiffXd, set state and {name}", call, their_calls.get(name), 200)
    if theirs:
        their_calls = iiwa_gradients(theirs, autodiff.AutoDiffXd, autodiff.InitializeAutoDiff)
    for name, call in iiwa_closed_forms(ours).items():
        yield Row(f"iiwa14, closed form, set state and gradient of {name}", call, their_calls.get(name), 200)


def cart_pole_second(library: Library) -> Callable[[], Any]:
    """One second of the cart-pole at 1 ms under a controller written as a plain Python block."""

    class Regulator(library.framework.LeafSystem):  # type: ignore[name-defined, misc]
        K = np.array([-10.0, 70.05, -11.08, 15.96])
        x0 = np.array([0.0, np.pi, 0.0, 0.0])

        def __init__(self) -> None:
            super().__init__()
            self.DeclareVectorInputPort("state", 4)
            self.DeclareVectorOutputPort("force", 1, self.calc_force)

        def calc_force(self, context: Any, output: Any) -> None:
            x = self.get_input_port(0).Eval(context)
            output.SetFromVector([-self.K @ (x - self.x0)])

    builder = library.framework.DiagramBuilder()
    plant, _ = library.plant.AddMultibodyPlantSceneGraph(builder, 0.001)
    load(library, plant, CART_POLE)
    plant.Finalize()
    regulator = builder.AddSystem(Regulator())
    builder.Connect(plant.get_state_output_port(), regulator.get_input_port(0))
    builder.Connect(regulator.get_output_port(0), plant.get_actuation_input_port())
    simulator = library.analysis.Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositionsAndVelocities(context, [0.0, np.pi + 0.4, 0.0, 0.0])
    simulator.Initialize()

    def second() -> Any:
        simulator.AdvanceTo(simulator.get_context().get_time() + 1.0)
        return plant.GetPositionsAndVelocities(context)

    return second


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    if IIWA.exists():
        our_calls = iiwa_calls(ours)
        their_calls = iiwa_calls(theirs) if theirs else {}
        for name, call in our_calls.items():
            yield Row(f"iiwa14, set state and {name}", call, their_calls.get(name), 1000)
        yield from gradient_rows(ours, theirs)
    else:
        print(f"no model files at {MODELS}: the iiwa14 rows are left out")
    theirs_second = cart_pole_second(theirs) if theirs else None
    yield Row("cart-pole, 1000 steps of 1 ms, Python controller", cart_pole_second(ours), theirs_second, 1)
