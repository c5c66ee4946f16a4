"""Copied and pickled systems behave as the originals and share nothing with them."""

import copy
import gc
import io
import pickle
import weakref

import numpy as np
import pytest
from call_counts import num_calls
from framework_blocks import Accumulator, EachSource, Scaled

from merganser.framework import (
    BasicVector,
    DiagramBuilder,
    LeafSystem,
    PickleSystem,
    PublishEvent,
    UnrestrictedUpdateEvent,
    Value,
    ValueProducer,
)


class Everything(LeafSystem):
    """Ports, state, a cache entry and events, all with methods as callbacks; notes its publishes."""

    def __init__(self):
        super().__init__()
        self.published = []
        self.u = self.DeclareVectorInputPort("u", 1)
        self.DeclareContinuousState(BasicVector([1.0]))
        self.xd = self.DeclareDiscreteState([2.0])
        self.xa = self.DeclareAbstractState(Value({"n": 0}))
        self.squared = self.DeclareCacheEntry("squared", ValueProducer(self._allocate, self._square))
        self.DeclareVectorOutputPort("y", 1, self._calc)
        self.DeclareStateOutputPort("xd", self.xd)
        self.DeclareStateOutputPort("xa", self.xa)
        self.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.0, self._update)
        self.DeclarePerStepEvent(UnrestrictedUpdateEvent(system_callback=Everything._count))
        self.DeclareForcedPublishEvent(self._publish)
        self.DeclarePerStepEvent(PublishEvent(callback=self._publish))

    def _allocate(self):
        return Value(0.0)

    def _square(self, context, value):
        value.set_value(self.u.Eval(context)[0] ** 2)

    def _calc(self, context, output):
        output[0] = self.squared.Eval(context) + context.get_continuous_state_vector()[0]

    def DoCalcTimeDerivatives(self, context, derivatives):
        derivatives.SetFromVector(self.u.Eval(context))

    def DoCalcKineticEnergy(self, context):
        return context.get_continuous_state_vector()[0]

    def _update(self, context, xd):
        xd.set_value(self.xd, context.get_discrete_state(self.xd).value() + 1.0)

    def _count(self, context, event, state):
        state.get_mutable_abstract_state(self.xa).get_mutable_value()["n"] += 1

    def _publish(self, context, event=None):
        self.published.append(context.get_time())


class WithClosures(LeafSystem):
    """Its callbacks are closures over itself, one of which calls itself."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        u = self.DeclareVectorInputPort("u", 1)

        def factorial(n):
            return 1 if n == 0 else n * factorial(n - 1)

        self.DeclareVectorOutputPort("y", 1, lambda context, y: y.SetFromVector(self.factor * u.Eval(context)))
        self.DeclareVectorOutputPort("z", 1, lambda context, y: y.SetFromVector([factorial(3) * self.factor]))


def wired(leaf=Everything):
    """A loop through a nested diagram, with an exported input."""
    inner = DiagramBuilder()
    system = inner.AddNamedSystem("system", leaf())
    inner.ExportInput(system.get_input_port(), "u")
    inner.ExportOutput(system.get_output_port(0), "y")
    builder = DiagramBuilder()
    nested, gain = builder.AddNamedSystem("nested", inner.Build()), builder.AddNamedSystem("gain", Scaled())
    builder.Connect(gain.get_output_port(), nested.get_input_port())
    builder.ExportInput(gain.get_input_port(), "u")
    builder.ExportOutput(nested.get_output_port(), "y")
    return builder.Build()


def behaviour(diagram, context=None):
    context = diagram.CreateDefaultContext() if context is None else context
    diagram.get_input_port().FixValue(context, 3.0)
    diagram.ExecuteForcedEvents(context)
    leaf = diagram.GetSubsystemByName("nested").GetSubsystemByName("system")
    inner = leaf.GetMyContextFromRoot(context)
    outputs = [leaf.get_output_port(i).Eval(inner) for i in range(leaf.num_output_ports())]
    updated = diagram.EvalUniquePeriodicDiscreteUpdate(context).value().tolist()
    return [
        diagram.get_output_port().Eval(context).tolist(), outputs, updated, diagram.EvalKineticEnergy(context),
        diagram.EvalTimeDerivatives(context).CopyToVector().tolist(), diagram.GetDirectFeedthroughs(),
    ]  # fmt: skip


WAYS = {"deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x)), "Clone": lambda x: x.Clone()}


@pytest.mark.parametrize("way", WAYS)
def test_copied_diagram_behaves_the_same_and_shares_no_system(way):
    original = wired()
    before = behaviour(original)  # after something was learnt, and a layout made
    copied = WAYS[way](original)
    assert repr(behaviour(copied)) == repr(before) == repr(behaviour(original))
    mine, theirs = (d.GetSubsystemByName("nested").GetSubsystemByName("system") for d in (original, copied))
    assert theirs is not mine and theirs.GetSystemPathname() == "::Diagram::nested::system"
    assert (len(mine.published), len(theirs.published)) == (2, 2), "one before and one after the copy was made"
    theirs.GetMyContextFromRoot(copied.CreateDefaultContext())
    with pytest.raises(ValueError, match="given the context of system"):
        copied.get_output_port().Eval(original.CreateDefaultContext())


@pytest.mark.parametrize("way", WAYS)
def test_copy_outlives_its_original(way):
    original = wired()
    copied = WAYS[way](original)
    reference = weakref.ref(original)
    del original
    gc.collect()
    assert reference() is None and behaviour(copied)[0] == [37.0]


@pytest.mark.parametrize("way", ["deepcopy", "Clone"])
def test_closures_of_a_copy_are_about_the_copy(way):
    original = WithClosures(2.0)
    copied = WAYS[way](original)
    copied.factor = 10.0
    results = []
    for system in (original, copied):
        context = system.CreateDefaultContext()
        system.get_input_port().FixValue(context, 1.0)
        results.append([system.get_output_port(i).Eval(context)[0] for i in range(2)])
    assert results == [[2.0, 12.0], [10.0, 60.0]]


def test_subsystem_is_copied_without_the_diagram_around_it():
    gain = wired().GetSubsystemByName("gain")
    assert gain.Clone().GetSystemPathname() == copy.deepcopy(gain).GetSystemPathname() == "::gain"


def test_systems_ports_and_context_copied_together_belong_together():
    diagram = wired()
    context = diagram.CreateDefaultContext()
    context.SetContinuousState([5.0])
    gain = diagram.GetSubsystemByName("gain")
    copied = copy.deepcopy({"diagram": diagram, "gain": gain, "port": gain.get_input_port(), "context": context})
    assert copied["gain"] is copied["diagram"].GetSubsystemByName("gain")
    assert copied["port"] is copied["gain"].get_input_port()
    copied["diagram"].ValidateContext(copied["context"])
    assert copied["context"].get_continuous_state_vector()[0] == 5.0


def test_context_pickled_with_its_diagram_continues_there():
    diagram = wired()
    context = diagram.CreateDefaultContext()
    context.SetTime(2.0)
    context.SetContinuousState([5.0])
    context.SetAccuracy(1e-3)
    leaf = diagram.GetSubsystemByName("nested").GetSubsystemByName("system")
    leaf.GetMyContextFromRoot(context).get_mutable_abstract_state(0).get_mutable_value()["n"] = 7
    diagram.get_input_port().FixValue(context, 3.0)
    part = leaf.GetMyContextFromRoot(context)
    new_diagram, new_context, new_part = pickle.loads(PickleSystem(diagram, context, part))
    assert new_context.system is new_diagram and new_part in new_context.parts()
    assert (new_context.get_time(), new_context.get_accuracy()) == (2.0, 1e-3)
    assert new_part.get_abstract_state(0).get_value() == {"n": 7}
    assert new_diagram.get_output_port().Eval(new_context) == diagram.get_output_port().Eval(context) == [41.0]
    new_part.get_abstract_state(0).get_value()["n"] = 8
    assert part.get_abstract_state(0).get_value() == {"n": 7}


@pytest.mark.parametrize("block", [Accumulator, Scaled])
def test_leaf_systems_survive_pickling(block):
    system = pickle.loads(pickle.dumps(block()))
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, 2.0)
    assert system.get_output_port().Eval(context) == [4.0 if block is Scaled else 0.0]


def test_closures_without_cloudpickle_are_refused_with_the_remedy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cloudpickle", None)
    with pytest.raises(TypeError, match=r"WithClosures.__init__.<locals>.<lambda>.*merganser\[pickle\]"):
        PickleSystem(WithClosures(2.0))


def test_closures_are_pickled_by_cloudpickle():
    pytest.importorskip("cloudpickle", reason="the extra `pickle` is not installed")
    original = EachSource(declared=False)
    system, context = pickle.loads(PickleSystem(original, original.default_context()))
    original.counts.clear()
    assert len(system.recomputed(context)) == system.num_output_ports()
    context.SetTime(1.0)
    assert system.recomputed(context) == {"time", "nothing"}
    assert not original.counts, "the closures are about the new system"


def test_what_cannot_be_copied_is_named():
    system = Scaled()
    system.file = io.TextIOWrapper(io.BytesIO())
    with pytest.raises(TypeError, match="TextIOWrapper"):
        copy.deepcopy(system)


def test_copies_of_arrays_are_independent():
    system = Scaled()
    system.table = np.zeros(3)
    copied = copy.copy(system)
    copied.table[0] = 1.0
    assert system.table[0] == 0.0


def test_plain_objects_are_copied_without_a_call_of_python_for_each():
    system = Accumulator()
    counts = []
    for size in (1, 1000):
        system.notes = {f"note {i}": [i, float(i), (str(i), None)] for i in range(size)}
        assert system.Clone().notes == system.notes
        counts.append(num_calls(system.Clone, of_python_only=True))
    assert counts[1] - counts[0] < 100


def test_arrays_that_two_attributes_hold_stay_one_and_are_not_those_of_the_original():
    class Holder(LeafSystem):
        def __init__(self):
            super().__init__()
            self.table = np.arange(6.0).reshape(2, 3)
            self.same = {"table": self.table}
            self.columns = np.asfortranarray(self.table)
            self.records = np.zeros(2, [("a", np.int64), ("b", np.float64, 3)])
            self.objects = np.array([[], None], dtype=object)

    holder = Holder()
    for made in (copy.deepcopy(holder), holder.ToAutoDiffXd()):
        assert made.same["table"] is made.table
        assert made.columns.flags.f_contiguous
        for name in ("table", "columns", "records"):
            mine, theirs = getattr(made, name), getattr(holder, name)
            assert not np.shares_memory(mine, theirs) and mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
        assert made.objects[0] == [] and made.objects[0] is not holder.objects[0]
