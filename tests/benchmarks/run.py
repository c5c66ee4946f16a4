"""Compares the speed of this package with pydrake's in one run: see README.md."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
MODELS = Path(os.environ.get("MERGANSER_MODELS", ROOT.parent / "shared" / "models"))
IIWA = MODELS / "iiwa_description" / "urdf" / "iiwa14_no_collision.urdf"
CART_POLE = ROOT / "examples" / "models" / "cart_pole.sdf"


class Row(NamedTuple):
    """One line of the table: the same work for both packages, `calls` times a run."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any] | None
    calls: int


class Library(NamedTuple):
    """The modules of one of the two packages, under the same names."""

    plant: Any
    parsing: Any
    tree: Any
    framework: Any
    primitives: Any
    analysis: Any


def merganser_library() -> Library:
    from merganser import analysis, framework
    from merganser.framework import primitives
    from merganser.multibody import parsing, plant, tree

    return Library(plant, parsing, tree, framework, primitives, analysis)


def pydrake_library() -> Library | None:
    try:
        from pydrake.multibody import parsing, plant, tree
        from pydrake.systems import analysis, framework, primitives
    except ImportError:
        return None
    return Library(plant, parsing, tree, framework, primitives, analysis)


def load(library: Library, plant: Any, path: Path) -> None:
    """Parses a file into a plant of either package; the model files at hand are their own package."""
    parser = library.parsing.Parser(plant)
    packages = parser.package_map()
    if MODELS.exists():
        if packages.Contains("drake_models"):
            packages.Remove("drake_models")
        packages.Add("drake_models", str(MODELS))
    parser.AddModels(str(path))


# ---------------------------------------------------------------------- rows


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

    return {
        "mass matrix": mass_matrix,
        "inverse dynamics": inverse_dynamics,
        "forward dynamics": forward_dynamics,
    }


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


def hundred_loops(library: Library, is_fixed_step: bool) -> Callable[[], Any]:
    """One second of 100 integrators, each fed back through a gain, in 1000 fixed steps or to an accuracy of 1e-6."""
    builder = library.framework.DiagramBuilder()
    for i in range(100):
        integrator = builder.AddNamedSystem(f"integrator{i}", library.primitives.Integrator(1))
        gain = builder.AddNamedSystem(f"gain{i}", library.primitives.Gain(k=-1.0 - 0.01 * i, size=1))
        builder.Connect(integrator.get_output_port(), gain.get_input_port())
        builder.Connect(gain.get_output_port(), integrator.get_input_port())
    simulator = library.analysis.Simulator(builder.Build())
    integrator = simulator.get_mutable_integrator()
    if is_fixed_step:
        integrator.set_fixed_step_mode(True)
        integrator.set_maximum_step_size(1e-3)
    else:
        integrator.set_target_accuracy(1e-6)

    def second() -> Any:
        context = simulator.get_mutable_context()
        context.SetTimeAndContinuousState(0.0, np.ones(100))
        simulator.Initialize()
        simulator.AdvanceTo(1.0)
        return context.get_continuous_state_vector().CopyToVector()

    return second


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    if IIWA.exists():
        our_calls = iiwa_calls(ours)
        their_calls = iiwa_calls(theirs) if theirs else {}
        for name, call in our_calls.items():
            yield Row(f"iiwa14, set state and {name}", call, their_calls.get(name), 1000)
    else:
        print(f"no model files at {MODELS}: the iiwa14 rows are left out")
    theirs_second = cart_pole_second(theirs) if theirs else None
    for name, is_fixed_step in (("1000 fixed steps", True), ("accuracy 1e-6", False)):
        their_loops = hundred_loops(theirs, is_fixed_step) if theirs else None
        yield Row(f"100 integrators with gains, RK3, {name}", hundred_loops(ours, is_fixed_step), their_loops, 1)
    yield Row("cart-pole, 1000 steps of 1 ms, Python controller", cart_pole_second(ours), theirs_second, 1)


# ---------------------------------------------------------------------- measuring


def check_agreement(row: Row) -> None:
    """Both packages must compute the same thing before their times are compared."""
    if row.theirs is not None:
        np.testing.assert_allclose(row.ours(), row.theirs(), rtol=1e-8, atol=1e-8)


def measure(row: Row, repeats: int) -> tuple[float, float | None]:
    """Median times of one call [s], from alternating runs."""
    ours, theirs = [], []
    row.ours()
    for _ in range(repeats):
        ours.append(_time(row.ours, row.calls))
        if row.theirs is not None:
            theirs.append(_time(row.theirs, row.calls))
    return statistics.median(ours), statistics.median(theirs) if theirs else None


def _time(function: Callable[[], Any], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls


def first_run() -> tuple[float, float]:
    """Wall times [s] of example 1 with an empty and with a full kernel cache, imports included."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MERGANSER_CACHE_DIR": folder}
        command = [sys.executable, str(ROOT / "examples" / "01_cart_pole_lqr.py"), "--output", folder]

        def run() -> float:
            start = time.perf_counter()
            subprocess.run(command, env=environment, check=True, capture_output=True)
            return time.perf_counter() - start

        return run(), min(run() for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9, help="runs of each row")
    repeats = parser.parse_args().repeats
    theirs = pydrake_library()
    print(f"{'work':52s} {'merganser':>12s} {'pydrake':>12s} {'ratio':>7s}")
    table = list(rows(merganser_library(), theirs))
    for row in table:
        check_agreement(row)
    for row in table:
        our_time, their_time = measure(row, repeats)
        reference = "not installed" if their_time is None else f"{1e6 * their_time:9.2f} us"
        ratio = "" if their_time is None else f"{their_time / our_time:7.2f}"
        print(f"{row.name:52s} {1e6 * our_time:9.2f} us {reference:>12s} {ratio}", flush=True)
    cold, warm = first_run()
    print(f"example 1 from start to end: {cold:.1f} s with nothing compiled, {warm:.2f} s afterwards")


if __name__ == "__main__":
    main()
