"""Contexts saved to files and loaded again."""

import errno
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from framework_blocks import Accumulator, EachSource, Scaled

from merganser.analysis import Simulator
from merganser.framework import (
    BasicVector,
    DiagramBuilder,
    LeafSystem,
    LoadContext,
    RandomGenerator,
    Value,
)
from merganser.framework.primitives import LogVectorOutput


class Pendulum(LeafSystem):
    """A damped pendulum with torque input."""

    def __init__(self):
        super().__init__()
        self.DeclareVectorInputPort("torque", 1)
        self.DeclareNumericParameter(BasicVector([9.81, 0.1]))
        self.DeclareStateOutputPort("state", self.DeclareContinuousState(BasicVector([1.0, 0.0]), 1, 1, 0))

    def DoCalcTimeDerivatives(self, context, derivatives):
        q, v = context.get_continuous_state_vector()
        gravity, damping = context.get_numeric_parameter(0)
        torque = self.get_input_port().Eval(context)[0]
        derivatives.SetFromVector([v, torque - gravity * np.sin(q) - damping * v])


class NoisyController(LeafSystem):
    """Samples the pendulum's state and adds noise; its random generator is abstract state."""

    def __init__(self, period=0.01):
        super().__init__()
        self.DeclareVectorInputPort("state", 2)
        self.DeclareDiscreteState([0.0])
        self.DeclareAbstractState(Value(RandomGenerator(3)))
        self.DeclareStateOutputPort("torque", self.DeclareDiscreteState([0.0]))
        self.DeclarePeriodicUnrestrictedUpdateEvent(period, 0.0, self._update)

    def _update(self, context, state):
        noise = state.get_mutable_abstract_state(0).get_mutable_value().uniform()
        state.get_mutable_discrete_state(1)[0] = noise - self.get_input_port().Eval(context)[1]


def noisy_pendulum():
    builder = DiagramBuilder()
    pendulum, controller = builder.AddSystem(Pendulum()), builder.AddSystem(NoisyController())
    builder.Cascade(pendulum, controller)
    builder.Cascade(controller, pendulum)
    log = LogVectorOutput(pendulum.get_output_port(), builder)
    return builder.Build(), log


def test_simulation_goes_on_bit_for_bit_from_a_loaded_file(tmp_path):
    diagram, log = noisy_pendulum()
    first = Simulator(diagram)
    first.AdvanceTo(0.5)
    context = first.get_context()
    context.Save(tmp_path / "half.npz")

    same_diagram, same_log = noisy_pendulum()
    resumed = Simulator(same_diagram, LoadContext(same_diagram, tmp_path / "half.npz"))
    straight = Simulator(diagram, context.Clone())
    for simulator in (straight, resumed):
        simulator.AdvanceTo(1.0)
    mine, theirs = straight.get_context(), resumed.get_context()
    assert mine.get_continuous_state_vector().CopyToVector().tobytes() == (
        theirs.get_continuous_state_vector().CopyToVector().tobytes()
    )
    assert mine.get_discrete_state(1)[0] == theirs.get_discrete_state(1)[0] != 0.0
    samples, same_samples = log.FindLog(mine), same_log.FindLog(theirs)
    assert samples.num_samples() > log.FindLog(context).num_samples() > 10
    np.testing.assert_array_equal(samples.sample_times(), same_samples.sample_times())
    np.testing.assert_array_equal(samples.data(), same_samples.data())


def test_everything_in_a_context_comes_back(tmp_path):
    system = EachSource(declared=True)
    context = system.default_context()
    context.SetTime(-0.1)
    context.SetAccuracy(1e-4)
    context.SetContinuousState([np.nan, np.inf, -0.0, 1e-310])
    context.SetDiscreteState(1, [0.1, 0.2])
    context.get_mutable_numeric_parameter(1)[0] = 1 / 3
    values = ["text", 1.5, None, True, (1, [2.0]), {"k": np.arange(3), 2: b"".decode()}, 1 + 2j, np.float32(0.1)]
    context.SetAbstractState(0, values)
    context.get_mutable_abstract_parameter(1).set_value(np.eye(2, dtype=np.float32))
    system.GetInputPort("w").FixValue(context, 7.0)
    context.Save(tmp_path / "all")
    loaded = LoadContext(system, tmp_path / "all")
    assert [path.name for path in tmp_path.iterdir()] == ["all"]
    assert (loaded.get_time(), loaded.get_accuracy()) == (-0.1, 1e-4)
    for mine, theirs in zip(context._numbers(), loaded._numbers()):
        assert mine.tobytes() == theirs.tobytes()
    assert repr(loaded.get_abstract_state(0).get_value()) == repr(values)
    assert loaded.get_abstract_state(1).get_value() == "a1"
    matrix = loaded.get_abstract_parameter(1).get_value()
    assert matrix.dtype == np.float32 and matrix.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert system.GetOutputPort("w").Eval(loaded) == [7.0]


def test_inputs_fixed_at_any_level_come_back(tmp_path):
    builder = DiagramBuilder()
    exported, inner = builder.AddNamedSystem("exported", Scaled()), builder.AddNamedSystem("inner", Scaled())
    builder.ExportInput(exported.get_input_port(), "u")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, 1.0)
    inner.get_input_port().FixValue(inner.GetMyContextFromRoot(context), 2.0)
    context.Save(tmp_path / "c.npz")
    loaded = LoadContext(diagram, tmp_path / "c.npz")
    assert exported.get_output_port().Eval(exported.GetMyContextFromRoot(loaded)) == [2.0]
    assert inner.get_output_port().Eval(inner.GetMyContextFromRoot(loaded)) == [4.0]


class Opaque:
    """A type without a plain form."""

    value = 1


def opaque_system():
    system = LeafSystem()
    system.set_name("odd")
    system.DeclareAbstractState(Value(Opaque()))
    return system


def test_objects_without_plain_form_need_pickle_on_both_sides(tmp_path):
    system = opaque_system()
    context = system.CreateDefaultContext()
    context.get_mutable_abstract_state(0).get_mutable_value().value = 2
    with pytest.raises(TypeError, match="abstract state 0 of system '::odd' holds an object of type Opaque"):
        context.Save(tmp_path / "c.npz")
    assert list(tmp_path.iterdir()) == []
    context.Save(tmp_path / "c.npz", allow_pickle=True)
    with pytest.raises(ValueError, match="contains pickled values"):
        LoadContext(system, tmp_path / "c.npz")
    assert LoadContext(system, tmp_path / "c.npz", allow_pickle=True).get_abstract_state(0).get_value().value == 2


def test_system_of_another_structure_is_refused_with_the_difference(tmp_path):
    def diagram_of(*systems):
        builder = DiagramBuilder()
        for system in systems:
            builder.AddSystem(system)
        return builder.Build()

    diagram_of(Accumulator(size=2), Scaled()).CreateDefaultContext().Save(tmp_path / "c.npz")
    for other, message in [
        (diagram_of(Accumulator(size=3), Scaled()), "the input ports of '::Accumulator' are .*3.*in the file .*2"),
        (diagram_of(Accumulator(size=2)), "consists of 2 systems, the one in the file of 3"),
        (diagram_of(Scaled(), Accumulator(size=2)), "where it has subsystem '::Scaled', the file has '::Accumulator'"),
        (Accumulator(size=2), "the input ports of 'the system itself' are"),
    ]:
        with pytest.raises(ValueError, match=message):
            LoadContext(other, tmp_path / "c.npz")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "c.npz"
    with pytest.raises(FileNotFoundError):
        LoadContext(Scaled(), path)
    path.write_text("no archive")
    with pytest.raises(ValueError, match=r"c\.npz' is not a saved context"):
        LoadContext(Scaled(), path)
    np.savez(path, numbers=np.zeros(3))
    with pytest.raises(ValueError, match="is not a saved context"):
        LoadContext(Scaled(), path)


def test_later_versions_are_refused(tmp_path):
    path = tmp_path / "c.npz"
    Scaled().CreateDefaultContext().Save(path)
    arrays = dict(np.load(path))
    arrays["header"] = np.array(str(arrays["header"]).replace('"version": 1', '"version": 2'))
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="has version 2 of the format; this program reads version 1"):
        LoadContext(Scaled(), path)


def test_context_of_a_subsystem_is_not_saved_by_itself(tmp_path):
    diagram, _ = noisy_pendulum()
    context = diagram.GetSystems()[0].GetMyContextFromRoot(diagram.CreateDefaultContext())
    with pytest.raises(RuntimeError, match="call it on the context of the whole diagram"):
        context.Save(tmp_path / "c.npz")


def test_many_may_save_to_one_path_while_others_load_from_it(tmp_path):
    diagram, _ = noisy_pendulum()
    path = tmp_path / "c.npz"
    diagram.CreateDefaultContext().Save(path)

    def save_and_load(number):
        context = diagram.CreateDefaultContext()
        context.SetTime(float(number))
        for _ in range(10):
            context.Save(path)
            assert LoadContext(diagram, path).get_time() in range(8)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(save_and_load, range(8)))
    assert [file.name for file in tmp_path.iterdir()] == ["c.npz"]


def test_file_is_as_it_was_when_saving_fails(tmp_path, monkeypatch):
    context = Scaled().CreateDefaultContext()
    path = tmp_path / "c.npz"
    context.Save(path)
    before = path.read_bytes()

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="No space left"):
        context.Save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
