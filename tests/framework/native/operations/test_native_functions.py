"""Functions decorated with @native: parameter names are wires, and the errors where they lead nowhere."""

from __future__ import annotations

import copy
import enum
import math
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from merganser.framework import BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.core.declarations.native_function import NativeFunction
from merganser.framework.native import device, native
from merganser.framework.native.compiler.fingerprints import fingerprint
from merganser.framework.native.operations.user_functions import CompiledFunction
from merganser.framework.primitives import FirstOrderTaylorApproximation, Gain


@device
def squared(x):
    return x * x


@native
def spring(q, v, u, stiffness, xdot):
    """Hooke's law and a bit of damping."""
    xdot[0] = v[0]
    xdot[1] = u[0] - stiffness[0] * q[0] - 0.1 * squared(v[0])


@native
def force(t, u, y):
    y[0] = np.cos(t) * u[0]


@native
def half(xd, next_xd):
    next_xd[0] = 0.5 * xd[0]


class Spring(LeafSystem):
    def __init__(self, has_samples=True):
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareNumericParameter(BasicVector([4.0]), name="stiffness")
        self.DeclareContinuousState(1, 1, 0)
        self.DeclareTimeDerivatives(spring)
        self.DeclareVectorOutputPort("force", 1, force)
        if has_samples:
            self.DeclareDiscreteState([8.0])
            self.DeclarePeriodicDiscreteUpdateEvent(0.5, 0.0, half)
            self.DeclareForcedDiscreteUpdateEvent(half)


def context_of(system, u=3.0):
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [u])
    return context


def test_parameter_names_are_wires():
    system = Spring()
    context = context_of(system)
    context.SetTimeAndContinuousState(0.25, [1.0, 2.0])
    assert system.EvalTimeDerivatives(context).CopyToVector().tolist() == [2.0, 3.0 - 4.0 - 0.1 * 4.0]
    assert system.get_output_port().Eval(context).tolist() == [math.cos(0.25) * 3.0]
    discrete = system.AllocateDiscreteVariables()
    system.CalcForcedDiscreteVariableUpdate(context, discrete)
    assert discrete.value(0).tolist() == [4.0]


def test_feedthrough_and_caching_follow_from_the_names():
    system = Spring()
    assert system.GetDirectFeedthroughs() == [(0, 0)]
    context = context_of(system)
    system.get_output_port().Eval(context)
    entry = system.get_output_port().cache_entry()
    context.SetContinuousState([1.0, 1.0])
    assert not entry.is_out_of_date(context)
    context.SetTime(1.0)
    assert entry.is_out_of_date(context)


def test_changed_parameter_is_heeded():
    system = Spring()
    context = context_of(system)
    context.SetContinuousState([1.0, 0.0])
    assert system.EvalTimeDerivatives(context).CopyToVector()[1] == 3.0 - 4.0
    context.get_mutable_numeric_parameter(0).SetFromVector([10.0])
    assert system.EvalTimeDerivatives(context).CopyToVector()[1] == 3.0 - 10.0


def test_other_scalars_run_the_function_as_it_is_written():
    system = Spring(has_samples=False)
    context = context_of(system)
    context.SetContinuousState([1.0, 2.0])
    linear = FirstOrderTaylorApproximation(system, context)
    assert np.allclose(linear.A(), [[0.0, 1.0], [-4.0, -0.4]], atol=1e-14)
    assert np.allclose(linear.B(), [[0.0], [1.0]]) and np.allclose(linear.D(), [[1.0]])
    gradient = system.ToAutoDiffXd()
    other = gradient.CreateDefaultContext()
    gradient.get_input_port().FixValue(other, [AutoDiffXd(3.0, [0.0])])
    other.SetContinuousState([AutoDiffXd(1.0, [0.0]), AutoDiffXd(2.0, [1.0])])
    derivative = gradient.EvalTimeDerivatives(other).CopyToVector()[1].derivatives()
    assert derivative == pytest.approx([-0.4], abs=1e-15)


def test_compiled_and_interpreted_function_agree():
    arguments = [np.array([0.3]), np.array([0.7]), np.array([0.1]), np.array([2.0])]
    compiled, interpreted = np.full(2, np.nan), np.full(2, np.nan)
    spring(*arguments, compiled)
    spring.interpreted(*arguments, interpreted)
    assert compiled.tolist() == interpreted.tolist()


@native
def scaled(u, t, y):
    for i in range(u.shape[0]):
        y[i] = t * u[i]


def test_arguments_that_compiled_code_cannot_take_run_as_plain_python():
    columns = np.arange(6.0).reshape(3, 2)
    result = np.zeros((3, 2))
    scaled(columns[:, 1], 2.0, result[:, 0])
    assert result.tolist() == [[2.0, 0.0], [6.0, 0.0], [10.0, 0.0]]
    scaled(np.array([1, 2, 3]), 2, result[:, 1])
    assert result[:, 1].tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(TypeError, match="missing"):
        scaled(columns[:, 0].copy(), 2.0)
    with pytest.raises(AttributeError):
        scaled(1.0, 2.0, np.zeros(1))


def test_one_of_several_discrete_groups_is_named_by_the_last_parameter():
    @native
    def shift(xd0, next_xd1):
        next_xd1[0] = xd0[0]

    class Delay(LeafSystem):
        def __init__(self, update):
            super().__init__()
            self.DeclareDiscreteState([5.0])
            self.DeclareDiscreteState([7.0])
            self.DeclareForcedDiscreteUpdateEvent(update)

    system = Delay(shift)
    discrete = system.AllocateDiscreteVariables()
    system.CalcForcedDiscreteVariableUpdate(system.CreateDefaultContext(), discrete)
    assert [discrete.value(0).tolist(), discrete.value(1).tolist()] == [[5.0], [5.0]]

    @native
    def unclear(xd0, result):
        result[0] = xd0[0]

    with pytest.raises(ValueError, match=r"(?s)unclear.*next_xd0"):
        Delay(unclear)


def test_name_that_leads_nowhere_is_refused_with_file_line_and_choices():
    @native
    def lost(state, y):
        y[0] = state[0]

    class Lost(LeafSystem):
        def __init__(self):
            super().__init__()
            self.set_name("robot")
            self.DeclareVectorInputPort("u", 1)
            self.DeclareVectorOutputPort("y", 1, lost)

    with pytest.raises(ValueError) as caught:
        Lost()
    message = str(caught.value)
    for part in ("'lost'", "test_native_functions.py:", "output port 'y'", "'::robot'", "'state'", "t, time, u"):
        assert part in message


@pytest.mark.parametrize(
    ("function", "part"),
    [(lambda: None, "no parameters"), (lambda *u: None, "'u'"), (lambda u, *, y: None, "'y'")],
)
def test_parameters_must_be_positional(function: Any, part: str):
    with pytest.raises(TypeError, match=part):
        native(function)


def test_function_that_cannot_be_compiled_says_why():
    @native
    def wrong(u, y):
        y[0] = {"a": object()}["a"]

    with pytest.raises(TypeError, match=r"(?s)'wrong'.*cannot be compiled.*without @native"):
        wrong(np.zeros(1), np.zeros(1))


def test_misplaced_declarations_are_refused():
    system = LeafSystem()
    system.set_name("block")
    with pytest.raises(RuntimeError, match=r"'::block'.*no continuous state"):
        system.DeclareTimeDerivatives(spring)
    system.DeclareContinuousState(2)
    with pytest.raises(TypeError, match=r"'::block'.*@native"):
        system.DeclareTimeDerivatives(lambda context, derivatives: None)
    with pytest.raises(TypeError, match="only be the handler of updates"):
        system.DeclarePeriodicPublishEvent(0.1, 0.0, half)
    with pytest.raises(ValueError, match="0 groups of discrete state"):
        system.DeclarePerStepDiscreteUpdateEvent(half)
    system.DeclareNumericParameter(BasicVector([1.0]), name="gain")
    with pytest.raises(ValueError, match=r"'::block'.*'gain' already"):
        system.DeclareNumericParameter(BasicVector([1.0]), name="gain")


def test_blocks_with_native_functions_can_be_copied_and_pickled():
    builder = DiagramBuilder()
    spring_block, gain = builder.AddSystem(Spring()), builder.AddSystem(Gain(k=1.0, size=1))
    builder.ExportInput(gain.get_input_port(), "u")
    builder.Connect(gain.get_output_port(), spring_block.get_input_port())
    diagram = builder.Build()
    assert pickle.loads(pickle.dumps(spring)) is spring
    for other in (copy.deepcopy(diagram), pickle.loads(pickle.dumps(diagram))):
        context = context_of(other)
        context.SetContinuousState([1.0, 2.0])
        assert other.EvalTimeDerivatives(context).CopyToVector().tolist() == [2.0, 3.0 - 4.0 - 0.1 * 4.0]


def test_fingerprint_knows_what_a_function_refers_to():
    def make(factor):
        def f(u, y):
            y[0] = factor * squared(u[0])

        return f

    assert fingerprint(make(2.0)) == fingerprint(make(2.0)) != fingerprint(make(3.0))
    assert fingerprint(make([2.0])) is None  # a list may change unnoticed
    assert fingerprint(make(np.ones(2))) != fingerprint(make(np.zeros(2)))


def test_second_process_takes_the_function_from_disk(tmp_path):
    (tmp_path / "m.py").write_text(
        "import numpy as np\nfrom merganser.framework.native import native\n\n\n"
        "@native\ndef f(u, y):\n    y[0] = 2.0 * u[0]\n\n\n"
        "y = np.zeros(1)\nf(np.ones(1), y)\nassert y[0] == 2.0 and f.operation('eww').address() != 0\n"
        "compiled = f.operation('eww').compiled()\n"
        "stats, [cfunc] = compiled._dispatcher.stats, compiled._cfuncs.values()\n"
        "print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), cfunc.cache_hits)\n"
    )
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        command = [sys.executable, str(tmp_path / "m.py")]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert run() == ["0", "1", "0"]
    assert run() == ["1", "0", "1"]


def test_decorator_keeps_name_and_documentation():
    assert isinstance(spring, NativeFunction)
    assert spring.__name__ == "spring" and "Hooke" in (spring.__doc__ or "")


def test_a_function_of_a_module_that_is_gone_is_compiled_again(tmp_path):
    source = "from merganser.framework.native import native\n\n\n@native\ndef f(u, y):\n    y[0] = 2.0 * u[0]\n"
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(tmp_path / "cache")}
    for module in ("before", "after"):
        folder = tmp_path / module
        folder.mkdir()
        (folder / f"{module}.py").write_text(source)
        code = f"import numpy as np, {module} as m\ny = np.zeros(1)\nm.f(np.ones(1), y)\n"
        code += "print(m.f.operation('eww').address() != 0)"
        command = [sys.executable, "-c", code]
        result = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
        assert result.stdout == "True\n"


def test_disabled_compiler_leaves_simulations_in_python():
    code = (
        "from merganser.analysis import Simulator\n"
        "from merganser.framework import DiagramBuilder\n"
        "from merganser.framework.primitives import Gain, Integrator\n"
        "builder = DiagramBuilder()\n"
        "integrator, gain = builder.AddSystem(Integrator([1.0])), builder.AddSystem(Gain(k=-1.0, size=1))\n"
        "builder.Connect(integrator.get_output_port(), gain.get_input_port())\n"
        "builder.Connect(gain.get_output_port(), integrator.get_input_port())\n"
        "simulator = Simulator(builder.Build())\n"
        "simulator.AdvanceTo(1.0)\n"
        "print(simulator.get_context().get_continuous_state_vector()[0])\n"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "MERGANSER_PLAN": "always"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert float(result.stdout) == pytest.approx(math.exp(-1.0), abs=1e-4)


_CONSTANTS = """
import collections, enum

class Mode(enum.IntEnum):
    SLOW = {slow}
    FAST = 2

limits = collections.namedtuple("Limits", "high")({high})
"""

_REFERRING = """
import numpy as np
import package.constants as constants
import package
from package.constants import Mode, limits
from merganser.framework.native import kernel, native

def helper(x, factor={factor}):
    return factor * x

@native
def f(u, y):
    y[0] = constants.g + {code}
    y[1] = package.constants.Mode.SLOW + Mode.SLOW.value
    y[2] = limits.high
    y[3] = helper(u[0])

@kernel
def k(x_in):
    return x_in * constants.g

helper = __import__("numba").njit(helper)
y = np.zeros(4)
f(np.ones(1), y)
print(*y, k(1.0), sum(code.is_from_disk for code in k.codes.values()))
"""


def test_edited_constants_of_modules_and_classes_are_heeded_in_the_next_process(tmp_path):
    environment = {**os.environ, "MERGANSER_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    for run, edit in enumerate([{}, {}, {"g": 9.0, "slow": 5, "high": 7.0, "factor": 4.0}]):
        values = {"g": 1.0, "slow": 1, "high": 2.0, "factor": 3.0, "code": 0.5, **edit}
        constants = f"g = {values['g']}\n" + _CONSTANTS.format(**values)
        (tmp_path / "package" / "constants.py").write_text(constants)
        (tmp_path / "program.py").write_text(_REFERRING.format(**values))
        command = [sys.executable, "program.py"]
        result = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        expected = [values["g"] + values["code"], 2.0 * values["slow"], values["high"], values["factor"], values["g"]]
        *found, from_disk = map(float, result.stdout.split())
        assert found == expected
        assert from_disk == (1.0 if run == 1 else 0.0)


@pytest.mark.parametrize("kind", ["cell", "default", "module", "class", "enumeration", "record type"])
def test_fingerprint_changes_with_what_a_function_can_see(kind: str):
    module = type(sys)("some_constants")

    def made(value: float):
        module.g = value
        members = {"G": int(value)}
        place = {
            "module": module,
            "class": type("Constants", (), {"g": value}),
            "enumeration": enum.IntEnum("Constants", {"g": int(value)}),
            "record type": np.zeros(1, [("g" if value > 1.0 else "h", float)]),
        }.get(kind, members)
        names = {"__name__": __name__, "place": place}
        exec("def f(u, y, factor=1.0):\n    y[0] = place.g * u[0]", names)
        f: Any = names["f"]
        if kind == "default":
            names["place"] = 1.0
            f.__defaults__ = (value,)
        if kind == "cell":
            f = (lambda place: lambda u, y: place)(value)
        return f

    assert fingerprint(made(2.0)) == fingerprint(made(2.0)) is not None
    assert fingerprint(made(1.0)) != fingerprint(made(2.0))


def test_a_constant_that_changes_between_two_compilations_gets_a_new_name(tmp_path, monkeypatch):
    monkeypatch.setenv("MERGANSER_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(globals(), "_factor", 2.0)
    result, changed = np.zeros(1), np.zeros(1)
    first = CompiledFunction(times_factor, "ww")
    first.call(np.ones(1), result)
    monkeypatch.setitem(globals(), "_factor", 3.0)
    assert first.address() != 0 != first.complex_address()
    CompiledFunction(times_factor, "ww").call(np.ones(1), changed)
    assert [result[0], changed[0]] == [2.0, 3.0]
    assert len([path for path in tmp_path.rglob("*.nbk") if "operation" in path.name]) == 0


_factor = 1.0


@native
def times_factor(u, y):
    y[0] = _factor * u[0]
