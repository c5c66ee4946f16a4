"""Rows about many evaluations and many simulations of one system."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from libraries import ROOT, Library, Row, load

_CART_POLE = ROOT / "examples" / "models" / "cart_pole.sdf"
_PERIOD = 0.01
_NUM_RUNS, _NUM_WORKERS = 48, 2
_NUM_SIMULATIONS = 200  # the other package takes 3 s for them
_GAINS = [[3.0, -20.0, 2.0, -5.0]]
_ERROR_CONTROL = {"accuracy": 1e-4}
_FIXED_STEPS = {"max_step_size": 1e-3, "use_error_control": False}


def cart_pole(library: Library, period: float = 0.0, angle: float = 0.0) -> Any:
    """A cart-pole whose pole starts at an angle [rad]."""
    plant = library.plant.MultibodyPlant(period)
    if period:
        plant.SetUseSampledOutputPorts(False)  # else its state is more than one discrete group
    load(library, plant, _CART_POLE)
    plant.GetJointByName("PolePin").set_default_angle(angle)
    plant.Finalize()
    return plant


def batch(library: Library, period: float, num: int) -> Callable[[], Any]:
    """Derivatives or next states of a cart-pole at random states and forces, in one thread."""
    plant = cart_pole(library, period)
    context, rng = plant.CreateDefaultContext(), np.random.default_rng(1)
    port = plant.get_actuation_input_port().get_index()
    arguments = plant, context, np.zeros(num), rng.normal(size=(4, num)), rng.normal(size=(1, num))
    if period:
        evaluate = library.analysis.BatchEvalUniquePeriodicDiscreteUpdate
    else:
        evaluate = library.analysis.BatchEvalTimeDerivatives
    more = {"input_port_index": port, "parallelize": _one_thread(library)}
    return lambda: evaluate(*arguments, **more)


def _one_thread(library: Library) -> Any:
    if library.analysis.__name__.startswith("merganser"):
        return False
    from pydrake.common import Parallelism

    return Parallelism(False)


def _generator(library: Library) -> Any:
    if library.analysis.__name__.startswith("merganser"):
        return library.framework.RandomGenerator(1)
    from pydrake.common import RandomGenerator

    return RandomGenerator(1)


def balanced_cart_pole(library: Library, period: float, angle: float = 0.0) -> Any:
    """A cart-pole under linear feedback of its state, as a diagram."""
    builder = library.framework.DiagramBuilder()
    plant = builder.AddSystem(cart_pole(library, period, angle))
    control = builder.AddSystem(library.primitives.MatrixGain(D=_GAINS))
    builder.Connect(plant.get_state_output_port(), control.get_input_port())
    builder.Connect(control.get_output_port(), plant.get_actuation_input_port())
    return builder.Build()


def oscillators(library: Library, period: float) -> Any:
    """Ten integrators in a ring, each with a gain; one of them through a hold."""
    framework, primitives = library.framework, library.primitives
    builder = framework.DiagramBuilder()
    integrators = [builder.AddSystem(primitives.Integrator(1)) for _ in range(10)]
    gains = [builder.AddSystem(primitives.Gain(k=-1.0 - 0.1 * i, size=1)) for i in range(10)]
    hold = builder.AddSystem(primitives.ZeroOrderHold(0.01, 1))
    for integrator, gain in zip(integrators, gains):
        builder.Connect(integrator.get_output_port(), gain.get_input_port())
    for gain, integrator in zip(gains, integrators[1:]):
        builder.Connect(gain.get_output_port(), integrator.get_input_port())
    builder.Connect(gains[-1].get_output_port(), hold.get_input_port())
    builder.Connect(hold.get_output_port(), integrators[0].get_input_port())
    return builder.Build()


def simulations(
    library: Library,
    make: Callable[[Library, float], Any],
    period: float,
    settings: dict[str, Any],
    workers: int,
    takes_contexts: bool,
) -> Callable[[], Any]:
    """A second from each of many states; the other package has one simulator for each, one after the other.

    Contexts are not made inside: runs from arrays need none, and others are only reset.
    """
    analysis, system = library.analysis, make(library, period)
    config = analysis.SimulatorConfig(**settings)
    first = system.CreateDefaultContext()
    size = first.num_total_states()
    num_xc = first.num_continuous_states()
    is_ours = analysis.__name__.startswith("merganser")
    starts = 0.3 * np.random.default_rng(1).normal(size=(size, _NUM_SIMULATIONS))
    batch = analysis.BatchSimulator(system, config=config, parallelize=workers) if is_ours else None

    def from_arrays() -> Any:
        return batch.simulate(starts, 1.0).states

    contexts = [system.CreateDefaultContext() for _ in range(_NUM_SIMULATIONS if takes_contexts or not is_ours else 0)]

    def from_contexts() -> Any:
        for context, x in zip(contexts, starts.T):
            context.SetTime(0.0)
            if num_xc:
                context.SetContinuousState(x[:num_xc])
            if size > num_xc:
                context.SetDiscreteState(0, x[num_xc:])
        if is_ours:
            batch.advance(contexts, 1.0)
        else:
            for context in contexts:
                simulator = analysis.Simulator(system, context)
                analysis.ApplySimulatorConfig(config, simulator)
                simulator.AdvanceTo(1.0)
        return np.array([_state_of(context) for context in contexts]).T

    return from_contexts if contexts else from_arrays


def _state_of(context: Any) -> Any:
    groups = [context.get_discrete_state(n).value() for n in range(context.num_discrete_state_groups())]
    return np.concatenate([context.get_continuous_state_vector().CopyToVector(), *groups])


def study_of_cart_poles(library: Library) -> Callable[[], Any]:
    """Runs of one diagram, one after the other; nothing is random in it, so that both packages agree."""
    analysis, system = library.analysis, balanced_cart_pole(library, 0.0, angle=0.3)

    def position(system: Any, context: Any) -> float:
        return float(context.get_continuous_state_vector()[0])

    def make(generator: Any) -> Any:
        return analysis.Simulator(system)

    def outputs() -> Any:
        runs = analysis.MonteCarloSimulation(make, position, 1.0, _NUM_RUNS, _generator(library))
        return np.array([run.output for run in runs])

    return outputs


class Run:
    """A random simulation that takes some 0.1 s of Python."""

    def __init__(self, library: Library) -> None:
        self._framework = library.framework.__name__

    def make(self, generator: Any) -> Any:
        from merganser.analysis import Simulator
        from merganser.framework import LeafSystem

        class Oscillator(LeafSystem):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.DeclareContinuousState(2)

            def SetRandomState(self, context: Any, state: Any, generator: Any) -> None:
                state.get_mutable_continuous_state().SetFromVector([generator.uniform(), 0.0])

            def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
                x = context.get_continuous_state_vector().CopyToVector()
                derivatives.SetFromVector([x[1], (1.0 - x[0] * x[0]) * x[1] - x[0]])

        simulator = Simulator(Oscillator())
        simulator.get_mutable_integrator().set_maximum_step_size(0.01)
        return simulator

    def output(self, system: Any, context: Any) -> float:
        return float(context.get_continuous_state_vector().GetAtIndex(0))


def study(library: Library, executor: str | None) -> Callable[[], Any]:
    """A study by an engine, whose processes are restarted each time; or in this process."""
    run = Run(library)
    options: dict[str, Any] = {} if executor is None else {"executor": executor, "parallelism": _NUM_WORKERS}

    def outputs() -> Any:
        results = library.analysis.MonteCarloSimulation(run.make, run.output, 10.0, _NUM_RUNS, **options)
        return np.array([result.output for result in results])

    return outputs


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    def row(name: str, make: Callable[[Library], Callable[[], Any]], tolerance: float = 1e-8) -> Row:
        reference = None if theirs is None else functools.partial(make, theirs)
        return Row(name, functools.partial(make, ours), reference, 1, tolerance)

    for num in (10, 100, 1000, 20000):
        yield row(f"cart-pole: BatchEvalTimeDerivatives of {num}", functools.partial(batch, period=0.0, num=num))
        yield row(
            f"cart-pole: BatchEvalUniquePeriodicDiscreteUpdate of {num}",
            functools.partial(batch, period=_PERIOD, num=num),
        )
    for name, make, period, settings in (
        ("cart-poles in steps of 1 ms", balanced_cart_pole, 1e-3, {}),
        ("continuous cart-poles, fixed steps of 1 ms", balanced_cart_pole, 0.0, _FIXED_STEPS),
        ("continuous cart-poles, accuracy 1e-4", balanced_cart_pole, 0.0, _ERROR_CONTROL),
        ("rings of 10 integrators, accuracy 1e-4", oscillators, 0.0, _ERROR_CONTROL),
    ):
        for way, workers, takes_contexts in (
            ("1 thread", 1, False), ("2 threads", 2, False), ("Contexts, 2 threads", 2, True),
        ):  # fmt: skip
            work = functools.partial(
                simulations, make=make, period=period, settings=settings, workers=workers, takes_contexts=takes_contexts
            )
            yield row(f"1 s of {_NUM_SIMULATIONS} {name}; {way}", work, 1e-6)
    yield row(f"study of {_NUM_RUNS} cart-poles for 1 s, one diagram", study_of_cart_poles, 1e-6)
    for engine, module in (("processes", None), ("dask", "distributed"), ("ray", "ray")):
        if module is None or importlib.util.find_spec(module) is not None:
            yield Row(
                f"study of {_NUM_RUNS} runs, {engine}; reference: one at a time",
                functools.partial(study, ours, engine),
                functools.partial(study, ours, None),
                1,
            )
