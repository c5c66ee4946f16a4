"""Rows about many evaluations and many simulations of one system."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from libraries import ROOT, Library, Row, load

_CART_POLE = ROOT / "examples" / "models" / "cart_pole.sdf"
_PERIOD = 0.01
_NUM_RUNS, _NUM_WORKERS = 48, 2


def cart_pole(library: Library, period: float = 0.0) -> Any:
    plant = library.plant.MultibodyPlant(period)
    if period:
        plant.SetUseSampledOutputPorts(False)  # else its state is more than one discrete group
    load(library, plant, _CART_POLE)
    plant.Finalize()
    return plant


def batch(library: Library, period: float, num: int) -> Callable[[], Any]:
    """Derivatives or next states of a cart-pole at random states and forces, in one thread."""
    _compile_plant(library)
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


def _compile_plant(library: Library) -> None:
    """Compiles what a plant is compiled to only after many calls."""
    if library.analysis.__name__.startswith("merganser"):
        from merganser.multibody.kernels import operations

        operations.DERIVATIVES.address()
        operations.STEP.address()


def simulations(library: Library, num: int, workers: int) -> Callable[[], Any]:
    """A second of many cart-poles; the other package has one simulator for each, one after the other."""
    _compile_plant(library)
    plant = cart_pole(library, _PERIOD)
    starts = np.random.default_rng(1).normal(size=(num, 4))
    port = plant.get_actuation_input_port()

    def contexts() -> list[Any]:
        made = []
        for x in starts:
            context = plant.CreateDefaultContext()
            context.SetDiscreteState(x)
            port.FixValue(context, [0.0])
            made.append(context)
        return made

    def run() -> Any:
        mine = contexts()
        if library.analysis.__name__.startswith("merganser"):
            library.analysis.batch_simulate(plant, mine, 1.0, parallelize=workers)
        else:
            for context in mine:
                library.analysis.Simulator(plant, context).AdvanceTo(1.0)
        return np.array([context.get_discrete_state_vector().CopyToVector() for context in mine])

    return run


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
    """A study by an engine, whose processes are started anew each time; or in this process."""
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

    for num in (1000, 20000):
        yield row(f"cart-pole: BatchEvalTimeDerivatives of {num}", functools.partial(batch, period=0.0, num=num))
        yield row(
            f"cart-pole: BatchEvalUniquePeriodicDiscreteUpdate of {num}",
            functools.partial(batch, period=_PERIOD, num=num),
        )
    yield row("1 s of 100 cart-poles at 100 Hz, one thread", functools.partial(simulations, num=100, workers=1))
    yield row("1 s of 100 cart-poles at 100 Hz, two threads", functools.partial(simulations, num=100, workers=2))
    for engine, module in (("processes", None), ("dask", "distributed"), ("ray", "ray")):
        if module is None or importlib.util.find_spec(module) is not None:
            yield Row(
                f"study of {_NUM_RUNS} runs, {engine}; reference: one at a time",
                functools.partial(study, ours, engine),
                functools.partial(study, ours, None),
                1,
            )
