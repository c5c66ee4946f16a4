"""Freezing the cache, computing without it, and cache entries seen from outside."""

import pytest
from framework_blocks import Accumulator, Scaled

from merganser.framework import DiagramBuilder, LeafSystem, ValueProducer
from merganser.framework.core.values.values import Value


def chain():
    builder = DiagramBuilder()
    state, first, second = (builder.AddSystem(s) for s in (Accumulator(), Scaled(), Scaled(factor=3.0)))
    second.set_name("second")
    builder.Cascade(state, first)
    builder.Cascade(first, second)
    builder.ExportOutput(second.get_output_port(), "y")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    context.SetContinuousState([1.0])
    return diagram, context, first, second


def test_frozen_cache_gives_what_is_current_and_computes_nothing():
    diagram, context, first, _ = chain()
    port = diagram.get_output_port()
    assert port.Eval(context) == [6.0]
    context.FreezeCache()
    assert context.is_cache_frozen() and first.GetMyContextFromRoot(context).is_cache_frozen()
    assert port.Eval(context) == [6.0]
    context.SetContinuousState([2.0])
    with pytest.raises(RuntimeError, match="is frozen, and output port 'y' of system '::Diagram::second' is out of"):
        port.Eval(context)
    context.UnfreezeCache()
    assert not context.is_cache_frozen() and port.Eval(context) == [12.0]


def test_part_of_a_diagram_can_be_frozen():
    diagram, context, first, second = chain()
    first_context = first.GetMyContextFromRoot(context)
    first_context.FreezeCache()
    assert not second.GetMyContextFromRoot(context).is_cache_frozen()
    with pytest.raises(RuntimeError, match="cache of system '::Diagram::Scaled' is frozen"):
        diagram.get_output_port().Eval(context)
    first_context.UnfreezeCache()
    assert diagram.get_output_port().Eval(context) == [6.0]


def test_everything_is_recomputed_after_being_marked_out_of_date():
    diagram, context, first, second = chain()
    port = diagram.get_output_port()
    port.Eval(context)
    port.Eval(context)
    before = first.count, second.count
    context.SetAllCacheEntriesOutOfDate()
    port.Eval(context)
    assert (first.count, second.count) == (before[0] + 1, before[1] + 1)


def test_without_caching_every_evaluation_computes():
    diagram, context, first, second = chain()
    port = diagram.get_output_port()
    port.Eval(context)
    context.DisableCaching()
    before = first.count, second.count
    assert [port.Eval(context)[0] for _ in range(3)] == [6.0] * 3
    assert (first.count, second.count) == (before[0] + 3, before[1] + 3)
    context.EnableCaching()
    before = second.count
    for _ in range(3):
        port.Eval(context)
    assert second.count == before + 1


def test_caching_can_be_disabled_for_one_port_by_default():
    system = Scaled()
    system.get_output_port().disable_caching_by_default()
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, 1.0)
    entry = system.get_output_port().cache_entry()
    assert entry.is_disabled_by_default() and entry.is_cache_entry_disabled(context)
    system.get_output_port().Eval(context)
    system.get_output_port().Eval(context)
    entry.enable_caching(context)
    system.get_output_port().Eval(context)
    system.get_output_port().Eval(context)
    assert system.count == 3 and not entry.is_cache_entry_disabled(context)


def test_cache_entry_value_is_refused_while_out_of_date():
    system = LeafSystem()
    entry = system.DeclareCacheEntry(
        "time", ValueProducer(lambda: Value(0.0), lambda context, value: value.set_value(context.get_time())),
        {system.time_ticket()},
    )  # fmt: skip
    context = system.CreateDefaultContext()
    assert entry.description() == "cache entry 'time'" and entry.prerequisites() == {system.time_ticket()}
    assert not entry.has_default_prerequisites()
    value = entry.get_cache_entry_value(context)
    with pytest.raises(RuntimeError, match="'time' of system '::LeafSystem' is out of date"):
        value.GetValueOrThrow()
    context.SetTime(3.0)
    assert entry.Eval(context) == value.GetValueOrThrow() == 3.0
    context.FreezeCache()
    with pytest.raises(RuntimeError, match="frozen"):
        entry.get_mutable_cache_entry_value(context).GetMutableValueOrThrow()


def test_contexts_know_their_numbers_of_ports():
    _, context, first, _ = chain()
    assert (context.num_input_ports(), context.num_output_ports()) == (0, 1)
    assert first.GetMyContextFromRoot(context).num_input_ports() == 1
