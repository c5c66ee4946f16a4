"""Building diagrams: wires, exported ports, names, and what a builder refuses."""

import gc
import itertools
import re
import time
from xml.etree import ElementTree

import pytest
from framework_blocks import Accumulator, Scaled, Sum

from merganser.framework import Diagram, DiagramBuilder, LeafSystem, Value


def builder_with(**systems):
    builder = DiagramBuilder()
    for name, system in systems.items():
        builder.AddNamedSystem(name, system)
    return builder


def evaluated(diagram, *inputs):
    context = diagram.CreateDefaultContext()
    for port, value in zip((diagram.get_input_port(i) for i in range(diagram.num_input_ports())), inputs):
        port.FixValue(context, value)
    return diagram.get_output_port(0).Eval(context).tolist()


def test_three_levels_deep():
    system, leaf = None, Scaled(factor=3.0)
    system = leaf
    for level in range(3):
        builder = DiagramBuilder()
        builder.AddSystem(system)
        after = builder.AddNamedSystem("after", Scaled(factor=2.0))
        builder.Connect(system.get_output_port(), after.get_input_port())
        builder.ExportInput(system.get_input_port())
        builder.ExportOutput(after.get_output_port())
        system = builder.Build()
        system.set_name(f"level{level}")
    assert leaf.GetSystemPathname() == "::level2::level1::level0::Scaled"
    assert evaluated(system, 1.0) == [24.0]
    assert system.GetDirectFeedthroughs() == [(0, 0)]


def test_one_exported_input_feeds_many():
    builder = builder_with(a=Scaled(factor=1.0), b=Scaled(factor=10.0), total=Sum())
    a, b, total = builder.GetSystems()
    index = builder.ExportInput(a.get_input_port(), "u")
    builder.ConnectInput(index, b.get_input_port())
    builder.Connect(a.get_output_port(), total.GetInputPort("a"))
    builder.Connect(b.get_output_port(), total.GetInputPort("b"))
    builder.ExportOutput(total.get_output_port(), "y")
    diagram = builder.Build()
    assert evaluated(diagram, 2.0) == [22.0]
    assert diagram.GetInputPortLocators(0) == [(a, 0), (b, 0)]
    assert diagram.get_input_port_locator(0) == (a, 0)
    assert diagram.get_output_port_locator(0) == (total, 0)


def test_connect_input_by_name():
    builder = builder_with(a=Scaled(), b=Scaled(), c=Scaled())
    a, b, c = builder.GetSystems()
    builder.ExportInput(a.get_input_port(), "u")
    builder.ConnectInput("u", b.get_input_port())
    with pytest.raises(ValueError, match="no input port named 'v'"):
        builder.ConnectInput("v", c.get_input_port())
    assert builder.Build().num_input_ports() == 1


def test_default_names_of_exported_ports():
    builder = builder_with(plant=Scaled())
    (plant,) = builder.GetSystems()
    builder.ExportInput(plant.get_input_port())
    builder.ExportOutput(plant.get_output_port())
    builder.ExportOutput(plant.get_output_port(), "again")
    assert (builder.num_input_ports(), builder.num_output_ports()) == (1, 2)
    diagram = builder.Build()
    assert diagram.get_input_port().get_name() == "plant_u"
    assert [diagram.get_output_port(i).get_name() for i in range(2)] == ["plant_y", "again"]


def test_systems_without_a_name_get_different_ones():
    builder = DiagramBuilder()
    systems = [builder.AddSystem(Scaled()) for _ in range(3)]
    builder.AddNamedSystem("Scaled_4", Scaled())
    systems.append(builder.AddSystem(Scaled()))
    assert [s.get_name() for s in systems] == ["Scaled", "Scaled_2", "Scaled_3", "Scaled_5"]


def test_names_must_be_unique():
    builder = builder_with(a=Scaled())
    twin = Scaled()
    twin.set_name("a")
    with pytest.raises(ValueError, match="already has a system named 'a'"):
        builder.AddSystem(twin)
    with pytest.raises(ValueError, match="already has a system named 'a'"):
        builder.AddNamedSystem("a", Scaled())
    b = builder.AddNamedSystem("b", Scaled())
    builder.Build()
    with pytest.raises(ValueError, match="already has a subsystem named 'a'"):
        b.set_name("a")
    b.set_name("b")


def test_subsystems_are_found_by_name():
    builder = builder_with(shoulder=Scaled(), elbow=Scaled())
    assert builder.HasSubsystemNamed("elbow") and not builder.HasSubsystemNamed("wrist")
    elbow = builder.GetMutableSubsystemByName("elbow")
    assert builder.GetSubsystemByName("elbow") is elbow
    diagram = builder.Build()
    diagram.set_name("arm")
    assert diagram.GetSubsystemByName("elbow") is elbow and diagram.HasSubsystemNamed("shoulder")
    assert [diagram.get_system(i) for i in range(2)] == diagram.GetSystems() and diagram.get_system(1) is elbow
    with pytest.raises(IndexError, match=r"Diagram '::arm' has no subsystem 2: there are 2"):
        diagram.get_system(2)
    with pytest.raises(
        RuntimeError, match=r"Diagram '::arm' has no subsystem named 'elbwo'. Did you mean 'elbow'"
    ):
        diagram.GetSubsystemByName("elbwo")


def test_connecting_twice_names_both_ports():
    builder = builder_with(a=Scaled(), b=Scaled(), c=Scaled())
    a, b, c = builder.GetSystems()
    builder.Connect(a.get_output_port(), c.get_input_port())
    with pytest.raises(
        ValueError, match=r"'::c' is already connected to Output port 'y' \(index 0\) of system '::a'"
    ):
        builder.Connect(b.get_output_port(), c.get_input_port())
    with pytest.raises(ValueError, match="already connected"):
        builder.ExportInput(c.get_input_port())
    builder.ExportInput(a.get_input_port(), "u")
    for call in (
        lambda: builder.Connect(b.get_output_port(), a.get_input_port()),
        lambda: builder.ExportInput(a.get_input_port(), "again"),
        lambda: builder.ConnectInput("u", a.get_input_port()),
    ):
        with pytest.raises(ValueError, match="'::a' is already exported"):
            call()
    assert builder.IsConnectedOrExported(a.get_input_port()) and builder.IsConnectedOrExported(
        c.get_input_port()
    )
    assert not builder.IsConnectedOrExported(b.get_input_port())


def test_ports_that_do_not_fit_name_both_and_their_sizes():
    abstract = LeafSystem()
    abstract.DeclareAbstractInputPort("u", Value(""))
    builder = builder_with(a=Scaled(2), b=Scaled(3), c=abstract)
    a, b, c = builder.GetSystems()
    with pytest.raises(ValueError, match=r"'::a' \(vector of size 2\) to .*'::b' \(vector of size 3\)"):
        builder.Connect(a.get_output_port(), b.get_input_port())
    with pytest.raises(ValueError, match=r"\(vector of size 2\) to .*'::c' \(abstract\)"):
        builder.Connect(a.get_output_port(), c.get_input_port())
    builder.ExportInput(a.get_input_port(), "u")
    with pytest.raises(
        ValueError, match=r"'::b' \(vector of size 3\) cannot share .*'::a' \(vector of size 2\)"
    ):
        builder.ConnectInput("u", b.get_input_port())
    with pytest.raises(TypeError, match="output port and an input port, in this order"):
        builder.Connect(a.get_input_port(), b.get_output_port())
    assert not builder.connection_map() and builder.num_input_ports() == 1


def test_foreign_systems_are_refused():
    builder = builder_with(a=Scaled())
    (a,) = builder.GetSystems()
    stranger = Scaled()
    stranger.set_name("stranger")
    for call in (
        lambda: builder.Connect(stranger.get_output_port(), a.get_input_port()),
        lambda: builder.Connect(a.get_output_port(), stranger.get_input_port()),
        lambda: builder.ExportInput(stranger.get_input_port()),
        lambda: builder.ExportOutput(stranger.get_output_port()),
        lambda: builder.RemoveSystem(stranger),
    ):
        with pytest.raises(ValueError, match=r"stranger.*has not been added") as caught:
            call()
        assert isinstance(caught.value, RuntimeError)  # which programs for Drake catch
    with pytest.raises(TypeError, match="takes a System"):
        builder.AddSystem(Scaled)


def test_a_refused_export_leaves_no_port_behind():
    builder = builder_with(a=Scaled(), b=Scaled())
    a, b = builder.GetSystems()
    builder.ExportInput(a.get_input_port(), "u")
    builder.ExportOutput(a.get_output_port(), "y")
    with pytest.raises(ValueError, match="already has an input port named 'u'"):
        builder.ExportInput(b.get_input_port(), "u")
    with pytest.raises(ValueError, match="already has an output port named 'y'"):
        builder.ExportOutput(b.get_output_port(), "y")
    with pytest.raises(ValueError, match="non-empty"):
        builder.ExportInput(b.get_input_port(), "")
    diagram = builder.Build()
    assert (diagram.num_input_ports(), diagram.num_output_ports()) == (1, 1)


def test_a_system_belongs_to_one_diagram():
    shared = Scaled()
    first, second = builder_with(shared=shared), builder_with(shared=shared)
    with pytest.raises(RuntimeError, match="this diagram before"):
        first.AddSystem(shared)
    first.Build()
    with pytest.raises(RuntimeError, match="'::Diagram::shared' has become part of another diagram"):
        second.Build()
    with pytest.raises(RuntimeError, match="'::Diagram::shared' has been added to another diagram before"):
        DiagramBuilder().AddSystem(shared)
    assert shared.GetSystemPathname() == "::Diagram::shared"


def test_a_builder_serves_once():
    builder = builder_with(a=Scaled())
    assert not builder.already_built() and not builder.empty()
    builder.Build()
    assert builder.already_built()
    for call in (builder.Build, lambda: builder.AddSystem(Scaled())):
        with pytest.raises(RuntimeError, match="serves once"):
            call()
    with pytest.raises(RuntimeError, match="empty diagram"):
        DiagramBuilder().Build()


def test_build_into_a_subclass():
    class Doubler(Diagram):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor
            builder = builder_with(a=Scaled(factor=factor))
            (self.a,) = builder.GetSystems()
            builder.ExportInput(self.a.get_input_port(), "u")
            builder.ExportOutput(self.a.get_output_port(), "y")
            builder.BuildInto(self)

    diagram = Doubler(5.0)
    assert evaluated(diagram, 2.0) == [10.0] and diagram.factor == 5.0
    outer = builder_with(left=Doubler(1.0), right=Doubler(2.0))
    left, right = outer.GetSystems()
    outer.Cascade(left, right)
    assert outer.Build().GetSubsystemByName("right").a.GetSystemPathname() == "::Diagram::right::a"
    with pytest.raises(RuntimeError, match="has been built before"):
        builder_with(b=Scaled()).BuildInto(diagram)


def test_removed_systems_take_their_wires_along():
    builder = builder_with(a=Scaled(), b=Scaled(), c=Accumulator())
    a, b, c = builder.GetSystems()
    builder.Connect(a.get_output_port(), b.get_input_port())
    builder.Connect(b.get_output_port(), c.get_input_port())
    builder.ExportInput(a.get_input_port(), "only a")
    builder.ExportOutput(b.get_output_port(), "b")
    builder.ExportOutput(c.get_output_port(), "c")
    builder.RemoveSystem(b)
    builder.RemoveSystem(a)
    diagram = builder.Build()
    assert diagram.GetSystems() == [c] and not diagram.connection_map()
    assert diagram.num_input_ports() == 0 and diagram.get_output_port().get_name() == "c"
    DiagramBuilder().AddSystem(b)


def test_disconnect():
    builder = builder_with(a=Scaled(), b=Scaled())
    a, b = builder.GetSystems()
    builder.Connect(a.get_output_port(), b.get_input_port())
    builder.Disconnect(a.get_output_port(), b.get_input_port())
    with pytest.raises(ValueError, match="'::a' is not connected to Input port 'u'"):
        builder.Disconnect(a.get_output_port(), b.get_input_port())
    builder.Connect(b.get_output_port(), a.get_input_port())


def test_connect_to_same():
    builder = builder_with(a=Scaled(), b=Scaled(), c=Scaled(), d=Scaled())
    a, b, c, d = builder.GetSystems()
    builder.ExportInput(a.get_input_port(), "u")
    builder.Connect(a.get_output_port(), b.get_input_port())
    assert builder.ConnectToSame(b.get_input_port(), c.get_input_port())
    assert builder.ConnectToSame(a.get_input_port(), d.get_input_port())
    diagram = builder.Build()
    assert diagram.connection_map()[c, 0] == (a, 0)
    assert diagram.AreConnected(a.get_output_port(), c.get_input_port())
    assert not diagram.AreConnected(a.get_output_port(), d.get_input_port())
    assert diagram.GetInputPortLocators(0) == [(a, 0), (d, 0)]
    other = builder_with(a=Scaled(), b=Scaled())
    a, b = other.GetSystems()
    assert not other.ConnectToSame(a.get_input_port(), b.get_input_port())


def test_feedthrough_of_a_diagram():
    builder = builder_with(direct=Scaled(), state=Accumulator(), total=Sum())
    direct, state, total = builder.GetSystems()
    builder.Connect(direct.get_output_port(), total.GetInputPort("a"))
    builder.Connect(state.get_output_port(), total.GetInputPort("b"))
    builder.ExportInput(direct.get_input_port(), "direct")
    builder.ExportInput(state.get_input_port(), "state")
    builder.ExportOutput(total.get_output_port(), "total")
    builder.ExportOutput(state.get_output_port(), "x")
    diagram = builder.Build()
    assert diagram.GetDirectFeedthroughs() == [(0, 0)]
    assert diagram.HasAnyDirectFeedthrough()
    assert [diagram.HasDirectFeedthrough(o) for o in range(2)] == [True, False]
    assert [diagram.HasDirectFeedthrough(i, 0) for i in range(2)] == [True, False]


def test_names_that_change_after_adding_count():
    builder = DiagramBuilder()
    first = builder.AddSystem(Scaled())
    first.set_name("late")
    assert builder.HasSubsystemNamed("late") and not builder.HasSubsystemNamed("Scaled")
    with pytest.raises(ValueError, match="already has a system named 'late'"):
        builder.AddNamedSystem("late", Scaled())
    assert builder.AddSystem(Scaled()).get_name() == "Scaled"
    first.Clone().set_name("copy")
    assert not builder.HasSubsystemNamed("copy")
    builder.RemoveSystem(first)
    assert builder.AddNamedSystem("late", Scaled()).get_name() == "late"
    first.set_name("elsewhere")
    assert not builder.HasSubsystemNamed("elsewhere")


def test_a_free_name_is_looked_for_again_after_a_removal():
    builder = DiagramBuilder()
    systems = [builder.AddSystem(Scaled()) for _ in range(3)]
    builder.RemoveSystem(systems[1])
    assert builder.AddSystem(Scaled()).get_name() == "Scaled_2"
    assert builder.AddSystem(Scaled()).get_name() == "Scaled_4"


def test_building_takes_time_in_proportion_to_the_number_of_systems():
    gc.collect()
    gc.disable()  # whose time depends on what other tests have left
    try:
        few, many = (min(_seconds_to_build(num) for _ in range(3)) for num in (250, 2500))
    finally:
        gc.enable()
    assert many < 40 * few


def _seconds_to_build(num_systems):
    """Processor time of adding, wiring and exporting, without the making of the systems."""
    systems = [Scaled() for _ in range(num_systems)]
    start = time.process_time()
    builder = DiagramBuilder()
    for system in systems:
        builder.AddSystem(system)
        builder.ExportOutput(system.get_output_port())
    for upstream, system in itertools.pairwise(systems):
        builder.Connect(upstream.get_output_port(), system.get_input_port())
    builder.ExportInput(systems[0].get_input_port())
    builder.Build()
    return time.process_time() - start


def test_notebooks_show_a_diagram_as_a_picture_of_its_blocks():
    builder = builder_with(first=Scaled(factor=2.0), second=Scaled(factor=3.0))
    first, second = (builder.GetSubsystemByName(name) for name in ("first", "second"))
    builder.Connect(first.get_output_port(), second.get_input_port())
    picture = builder.Build()._repr_svg_()
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {"first", "second"} <= set(re.findall(r"<!-- (\w+) -->", picture))
    assert Diagram()._repr_svg_() is None
