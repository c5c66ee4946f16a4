"""A new method, written as analysis/integrators/README.md says: nothing else knows of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from differential_equations import PROBLEMS, observed_order

import merganser.analysis.integrators as integrators
from merganser.analysis import Simulator, Simulator_
from merganser.analysis.integrators.problem import (
    add,
    arrays_of_method,
    compute,
    go_to,
    multiply,
    state_of,
    step_of,
    take_derivatives,
)
from merganser.framework import BasicVector, ContinuousStateIndex, DiagramBuilder, LeafSystem
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.core.inside import declare_operation, operation_slot
from merganser.framework.native import kernel
from merganser.framework.native.memory.hinted_types import Floats
from merganser.framework.primitives import Integrator, LinearSystem, LogVectorOutput, Sine

README = (Path(integrators.__file__).parent / "README.md").read_text()
exec(re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0])
Midpoint: Any = globals()["MidpointIntegrator"]
Arrays: Any = globals()["MidpointArrays"]


class Cubic(LeafSystem):
    """x' = u - x^3, in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareVectorOutputPort("y", 1, self._calc)
        self.DeclareContinuousState(1)

    def _calc(self, context: Any, output: Any) -> None:
        output.SetFromVector(context.get_continuous_state_vector().CopyToVector())

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        x = context.get_continuous_state_vector().CopyToVector()
        derivatives.get_mutable_vector().SetFromVector(self.get_input_port().Eval(context) - x**3)


def simulate(use_plan: bool, has_python: bool) -> tuple[Simulator, list[Any]]:
    builder = DiagramBuilder()
    source = builder.AddSystem(Sine(1.0, 3.0, 0.0, 1))
    system = builder.AddSystem(Cubic() if has_python else Integrator(1))
    builder.Connect(source.get_output_port(0), system.get_input_port())
    sink = LogVectorOutput(system.get_output_port(), builder, 0.1)
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(use_plan, at_once=True)
    method = simulator.reset_integrator(Midpoint(simulator.get_system(), simulator.get_context()))
    method.set_maximum_step_size(0.1)
    method.set_target_accuracy(1e-4)
    simulator.AdvanceTo(2.0)
    log = sink.FindLog(simulator.get_context())
    return simulator, [log.sample_times().tolist(), log.data().tolist(), method.GetStatisticsSummary()]


@pytest.mark.parametrize("has_python", [False, True])
def test_it_runs_in_the_compiled_loop_as_in_python(has_python: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected = simulate(False, has_python)
    with monkeypatch.context() as patch:
        patch.setattr(Midpoint, "_take_step", None)  # no step is left to Python
        simulator, found = simulate(True, has_python)
    assert simulator._plan is not None
    assert found == expected


def test_it_differentiates() -> None:
    """x' = -2 x, so that dx(1)/dx(0) is x(1)/x(0)."""
    system = LinearSystem([[-2.0]], np.zeros((1, 0)), np.eye(1), np.zeros((1, 0))).ToAutoDiffXd()
    context = system.CreateDefaultContext()
    context.SetContinuousState(InitializeAutoDiff([3.0]).ravel())
    simulator = Simulator_[AutoDiffXd](system, context)
    simulator.reset_integrator(Midpoint(system, context)).set_target_accuracy(1e-5)
    simulator.AdvanceTo(1.0)
    x = context.get_continuous_state_vector().CopyToVector()
    assert ExtractValue(x)[0] == pytest.approx(3.0 * np.exp(-2.0), abs=1e-3)
    assert ExtractGradient(x)[0] == pytest.approx(ExtractValue(x)[0] / 3.0, abs=1e-12)


class Columns(Midpoint):  # type: ignore[misc]
    def _make_arrays(self, n: int, dtype: Any) -> Any:
        return Arrays(self._xdot_start, *np.zeros((n, 2), dtype).T)


class Short(Midpoint):  # type: ignore[misc]
    def _make_arrays(self, n: int, dtype: Any) -> Any:
        return Arrays(self._xdot_start, *np.zeros((2, n - 1), dtype))


class Listed(Midpoint):  # type: ignore[misc]
    def _make_arrays(self, n: int, dtype: Any) -> Any:
        return [self._xdot_start, *np.zeros((2, n), dtype)]


class OtherArrays(NamedTuple):
    k_1: Floats


class Other(Midpoint):  # type: ignore[misc]
    def _make_arrays(self, n: int, dtype: Any) -> Any:
        return OtherArrays(self._xdot_start)


class Frozen(Midpoint):  # type: ignore[misc]
    def _make_arrays(self, n: int, dtype: Any) -> Any:
        arrays = Arrays(self._xdot_start, *np.zeros((2, n), dtype))
        arrays.change.setflags(write=False)
        return arrays


@pytest.mark.parametrize("method", [Columns, Short, Listed, Other, Frozen])
def test_arrays_that_compiled_code_would_misread_are_refused(method: Any) -> None:
    system = LinearSystem([[0.0, 1.0], [-1.0, 0.0]], np.zeros((2, 0)), np.eye(2), np.zeros((2, 0)))
    simulator = Simulator(system)
    simulator.set_use_native_plan(True, at_once=True)
    simulator.reset_integrator(method(system, simulator.get_context())).set_maximum_step_size(0.1)
    simulator.get_mutable_context().SetContinuousState([1.0, 0.0])
    refusals = {
        Columns: (TypeError, r"Columns\._make_arrays: MidpointArrays\.k_2 must be a contiguous array of float64"),
        Short: (ValueError, "another size than the state, 2"),
        Listed: (TypeError, "must return a record of MidpointArrays, got list"),
        Other: (TypeError, "must return a record of MidpointArrays, got OtherArrays"),
        Frozen: (TypeError, r"Frozen\._make_arrays: MidpointArrays\.change may not be written to"),
    }
    with pytest.raises(refusals[method][0], match=refusals[method][1]):
        simulator.AdvanceTo(1.0)
    assert simulator.get_context().get_continuous_state_vector().CopyToVector().tolist() == [1.0, 0.0]


def test_it_has_its_order() -> None:
    assert observed_order(Midpoint, PROBLEMS["pendulum"], [0.05, 0.025, 0.0125]) == pytest.approx(2.0, abs=0.1)


class Decay(LeafSystem):
    """x' = -k x, which can say where it is after a step of any length."""

    def __init__(self, k: float) -> None:
        super().__init__()
        self.k, self.num_calls = k, 0
        self.DeclareContinuousState(1)
        self.DeclareStateOutputPort("x", ContinuousStateIndex(0))
        given = BasicVector(1), BasicVector(1), self._calc_step, None
        declare_operation(self, "exact step", *given, {self.xc_ticket()})

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        x = context.get_continuous_state_vector().CopyToVector()
        derivatives.get_mutable_vector().SetFromVector(-self.k * x)

    def _calc_step(self, context: Any, output: Any) -> None:
        self.num_calls += 1
        x = context.get_continuous_state_vector().CopyToVector()
        output.SetFromVector(x * np.exp(-self.k * arguments_of(context)[0]))


def arguments_of(context: Any) -> Any:
    slot = operation_slot(context, "exact step")
    return context.slots[slot.entry.arguments.cache_index()].value.value()


class ExactArrays(NamedTuple):
    first: int
    h: Floats
    x_next: Floats
    end: Floats


exact_arrays_of = arrays_of_method(ExactArrays)


@kernel
def try_exact_step(p: Any) -> int:
    """Euler for all but one system, which is asked where it is after the step."""
    s, a = step_of(p), exact_arrays_of(p)
    a.h[0] = s.h
    status = compute(p, 1)
    take_derivatives(p, a.end)
    multiply(a.end, s.h, a.end)
    add(a.end, a.end, state_of(p))
    a.end[a.first] = a.x_next[0]
    s.error = 0.0
    go_to(p, s.start + s.h, a.end)
    return status


class Exact(integrators.IntegratorBase):
    attempt = try_exact_step
    operations = {"exact step": True}

    def supports_error_estimation(self) -> bool:
        return False

    def get_error_estimate_order(self) -> int:
        return 0

    def _make_arrays(self, n: int, dtype: Any) -> Any:
        asked = [operation_slot(slot.context, "exact step") for slot in self._derivatives.slots]
        first, slot = next((k, slot) for k, slot in enumerate(asked) if slot is not None)
        return ExactArrays(first, arguments_of(slot.context), slot.value.value(), np.zeros(n, dtype))


@pytest.mark.parametrize("use_plan", [False, True])
def test_a_method_asks_systems_by_name_for_what_they_compute_beside_derivatives(use_plan: bool) -> None:
    builder = DiagramBuilder()
    integral, decay = builder.AddSystem(Integrator(1)), builder.AddSystem(Decay(3.0))
    builder.Connect(decay.get_output_port(), integral.get_input_port())
    simulator = Simulator(builder.Build())
    context = simulator.get_mutable_context()
    simulator.set_use_native_plan(use_plan, at_once=True)
    method = simulator.reset_integrator(Exact(simulator.get_system(), context))
    method.set_fixed_step_mode(True)
    method.set_maximum_step_size(0.25)
    context.SetContinuousState([0.0, 1.0])
    simulator.AdvanceTo(1.0)
    z, x = context.get_continuous_state_vector().CopyToVector()
    assert x == pytest.approx(np.exp(-3.0), rel=1e-14)
    assert z == pytest.approx(0.25 * sum(np.exp(-0.75 * np.arange(4))), rel=1e-14)  # by Euler steps
    assert decay.num_calls == 4
    own = decay.GetMyContextFromRoot(context)
    assert decay.EvalTimeDerivatives(own).CopyToVector() == [-3.0 * x]
    slot = operation_slot(own, "exact step")
    assert slot.entry.EvalAbstract(own).get_value().value() == [pytest.approx(x * np.exp(-0.75))]
    assert slot.entry.EvalAbstract(own).get_value().value() == [pytest.approx(x * np.exp(-0.75))]
    assert decay.num_calls == 5  # it is kept while state and arguments are the same
    assert operation_slot(integral.GetMyContextFromRoot(context), "exact step") is None


WRONG = """
from typing import NamedTuple
import numpy as np
from merganser.analysis.integrators import IntegratorBase
from merganser.analysis.integrators.problem import arrays_of_method, evaluate_start
from merganser.framework.native import kernel
from merganser.framework.native.memory.hinted_types import Floats
from merganser.framework.primitives import LinearSystem

class Arrays(NamedTuple):
    k: Floats

arrays_of = arrays_of_method(Arrays)

@kernel
def try_wrong_step(p):
    k = arrays_of(p).k
    status = evaluate_start(p, k)
    k[len(k)] = 1.0
    return status

class Wrong(IntegratorBase):
    attempt, is_compiled_at_once = try_wrong_step, True
    supports_error_estimation = lambda self: False
    get_error_estimate_order = lambda self: 0

    def _make_arrays(self, n, dtype):
        return Arrays(self._xdot_start)

system = LinearSystem([[-1.0]], np.zeros((1, 0)), np.zeros((0, 1)), np.zeros((0, 0)))
integrator = Wrong(system, system.CreateDefaultContext())
integrator.set_maximum_step_size(0.1)
try:
    integrator.IntegrateWithMultipleStepsToTime(1.0)
except IndexError as error:
    print(error)
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_an_index_that_is_out_of_bounds_in_a_step_is_an_error_where_numba_looks() -> None:
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    command = [sys.executable, "-c", WRONG]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert output == "take_step() was ended by an exception, such as an index that is out of bounds.\n"
