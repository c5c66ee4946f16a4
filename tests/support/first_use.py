"""Every public function, port, block and integrator as the first thing that a process does, for each scalar.

    python tests/support/first_use.py [--some N] ["WORD ..." ...]

runs the cases whose names contain all words of one of the texts; with --some, so many of them, others each time. A case
fails if it crashes, if it raises another thing the first time than the second, if what it raises comes from inside, or
if the first result differs from the second.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from block_cases import numbers, split
from fresh_processes import chosen, get_ready, run_each
from public_calls import SCALARS, SHAPES, Call, flattened, plant_calls, port_calls, query_calls
from system_cases import BLOCKS, CASES

from merganser.analysis import GetIntegrationSchemes, ResetIntegratorFromFlags, Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import InitializeAutoDiff, InitializeAutoDiffTuple

Case = tuple[str, Callable[[], None]]
_FROM_INSIDE = (AttributeError, AssertionError, LookupError, ArithmeticError, NameError, numba.core.errors.NumbaError)


def all_cases() -> Iterator[Case]:
    """Names and cases."""
    for scalar, time_step in itertools.product(SCALARS, (0.0, 0.01)):
        for call in (*plant_calls(scalar, time_step), *port_calls(scalar, time_step)):
            yield str(call), _twice(call)
    pairs = itertools.combinations_with_replacement(SHAPES, 2)
    for pair, scalar in itertools.product(pairs, ("float", "AutoDiffXd")):
        for call in query_calls(scalar, pair):
            yield str(call), _twice(call)
    for name, scalar in itertools.product(CASES, SCALARS):
        if scalar not in CASES[name].without:
            yield f"block {name}, {scalar}", _block(name, scalar)
    for scheme, scalar in itertools.product(GetIntegrationSchemes(), ("float", "AutoDiffXd")):
        yield f"integrator {scheme}, {scalar}", _integrator(scheme, scalar)
    for time_step in (0.0, 0.001):
        yield f"simulation of a plant, {time_step}", _simulation(time_step)


def _twice(call: Call) -> Callable[[], None]:
    """Calls a function in a scene, then again after the scene has been somewhere else."""

    def run() -> None:
        scene = call.scene()
        first = _outcome(lambda: call.run(scene))
        scene.move(1)
        _outcome(lambda: call.run(scene))
        scene.move(0)
        _compare(first, _outcome(lambda: call.run(scene)))

    return run


def _outcome(run: Callable[[], Any]) -> list[Any]:
    """All numbers in what a function returns, or what it raises with good reason."""
    try:
        return flattened(run())
    except Exception as error:
        if isinstance(error, _FROM_INSIDE):
            raise
        return [type(error).__name__, str(error)]


def _compare(first: list[Any], second: list[Any]) -> None:
    assert [type(part) for part in first] == [type(part) for part in second]
    for a, b in zip(first, second):
        assert a == b or (isinstance(a, float) and np.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)), (a, b)


def _block(name: str, scalar: str) -> Callable[[], None]:
    """Evaluates the outputs and the derivatives of a block twice."""
    case = CASES[name]

    def run() -> None:
        system = case.make(BLOCKS)
        rng = np.random.default_rng(3)
        sizes = (*case.inputs.values(), case.num_continuous + case.num_discrete)
        *u, x = (numbers(rng, size, np.float64) for size in sizes)
        values: Any = (*(case.admissible(u, x)[0]), case.admissible(u, x)[1])
        if scalar == "AutoDiffXd":
            system, values = system.ToAutoDiffXd(), [v.ravel() for v in InitializeAutoDiffTuple(*values)]
        elif scalar == "Expression":
            system = system.ToSymbolic()
        context = system.CreateDefaultContext()

        def evaluate() -> list[Any]:
            *u, x = values
            context.SetTime(case.time)
            for index, value in enumerate(u):
                system.get_input_port(index).FixValue(context, value)
            if case.num_continuous:
                context.SetContinuousState(x)
            for index, part in enumerate(split(context, x) if case.num_discrete else ()):
                context.SetDiscreteState(index, part)
            ports = [system.get_output_port(index) for index in range(system.num_output_ports())]
            derivatives = [system.EvalTimeDerivatives(context)] if case.num_continuous else []
            return [*(port.Eval(context) for port in ports), *derivatives]

        first = _outcome(evaluate)
        _compare(first, _outcome(evaluate))

    return run


def _integrator(scheme: str, scalar: str) -> Callable[[], None]:
    """Integrates a linear system twice, from the same start."""

    def integrate() -> Any:
        builder = DiagramBuilder()
        builder.AddSystem(BLOCKS.LinearSystem(A=[[0.0, 1.0], [-1.0, 0.0]], C=np.eye(2)))
        diagram: Any = builder.Build()
        start = np.array([1.0, 0.5])
        if scalar == "AutoDiffXd":
            diagram, start = diagram.ToAutoDiffXd(), InitializeAutoDiff(start).ravel()
        simulator = Simulator(diagram)
        ResetIntegratorFromFlags(simulator, scheme, 0.01)
        simulator.get_mutable_context().SetContinuousState(start)
        simulator.AdvanceTo(0.1)
        return simulator.get_context().get_continuous_state_vector()

    def run() -> None:
        first = _outcome(integrate)
        _compare(first, _outcome(integrate))

    return run


def _simulation(time_step: float) -> Callable[[], None]:
    """Simulates a plant twice."""

    def simulate() -> Any:
        scene = Call("plant", "", (), "float", time_step).scene()
        Simulator(scene.system, scene.context).AdvanceTo(0.05)
        return scene.plant.GetPositionsAndVelocities(scene.plant_context)

    return lambda: _compare(_outcome(simulate), _outcome(simulate))


def main(arguments: list[str]) -> int:
    """Runs the cases that were chosen; prints those that fail, and returns how many."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--some", type=int, default=sys.maxsize)
    parser.add_argument("texts", nargs="*")
    options = parser.parse_args(arguments)
    get_ready()
    cases = list(chosen(all_cases(), options.texts))
    outcomes = run_each(random.SystemRandom().sample(cases, min(options.some, len(cases))))
    failures = [outcome for outcome in outcomes if not outcome.passed]
    for outcome in failures:
        print(f"{outcome.name}: {outcome.status}\n{outcome.output}")
    slowest = ", ".join(f"{o.name} {o.seconds:.1f} s" for o in sorted(outcomes, key=lambda o: -o.seconds)[:3])
    print(f"first use: {len(outcomes) - len(failures)} passed, {len(failures)} failed (slowest: {slowest})")
    return len(failures)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
