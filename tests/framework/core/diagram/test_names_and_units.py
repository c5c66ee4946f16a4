"""Wires by names of ports, and units of ports."""

import numpy as np
import pytest

from merganser.analysis import Simulator, log_to_pandas, plot_log
from merganser.analysis.frequency import BodePlot, FrequencyResponse
from merganser.framework import BasicVector, DiagramBuilder, DiagramBuilder_, LeafSystem
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.core.declarations.ports import InputPort
from merganser.framework.native import elements, native
from merganser.framework.primitives import (
    Adder,
    ConstantVectorSource,
    FirstOrderTaylorApproximation,
    Gain,
    Linearize,
    LogVectorOutput,
    UnitConversion,
)


@native
def doubled(u, y):
    for i in elements(y):
        y[i] = 2.0 * u[i]


class Motor(LeafSystem):
    """A block whose ports have names and units."""

    def __init__(self, given="V", speed="rad/s"):
        super().__init__()
        self.DeclareVectorInputPort("u", 1, units=given)
        self.DeclareVectorInputPort("load.torque", 1)
        self.DeclareVectorOutputPort("speed", 1, doubled, units=speed)


def two_motors(first="rad/s", second="rad/s", **options):
    """The speed of one motor at the input of another one."""
    builder = DiagramBuilder()
    builder.AddNamedSystem("one", Motor(speed=first))
    builder.AddNamedSystem("two", Motor(given=second))
    builder.Connect("one.speed", "two.u", **options)
    builder.ExportInput("one.u", "u")
    builder.ExportOutput("two.speed", "y")
    return builder.Build()


def result_of(diagram, u=3.0):
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [u])
    return diagram.get_output_port().Eval(context)[0]


# ---------------------------------------------------------------------- names


def test_ports_are_connected_by_names():
    diagram = two_motors()
    two, one = diagram.GetSubsystemByName("two"), diagram.GetSubsystemByName("one")
    assert diagram.connection_map() == {(two, 0): (one, 0)}
    assert result_of(diagram) == 12.0


def test_a_system_name_alone_is_its_only_port():
    builder = DiagramBuilder()
    source = builder.AddNamedSystem("source", ConstantVectorSource([1.0]))
    gain = builder.AddNamedSystem("gain", Gain(2.0, 1))
    builder.Connect("source", "gain")
    builder.Connect(gain, builder.AddNamedSystem("next", Gain(2.0, 1)))
    assert builder.connection_map()[gain, 0] == (source, 0)


def test_names_with_dots_are_found():
    builder = DiagramBuilder()
    builder.AddNamedSystem("left.wheel", ConstantVectorSource([1.0]))
    motor = builder.AddNamedSystem("left.motor", Motor())
    builder.Connect("left.wheel", "left.motor.load.torque")
    assert (motor, 1) in builder.connection_map()


@pytest.mark.parametrize(
    ("output", "input", "kind", "message"),
    [
        ("moter.speed", "gain.u0", RuntimeError, "no subsystem named 'moter'. Did you mean 'motor'"),
        ("motor.sped", "gain.u0", ValueError, "'::motor' has no output port named 'sped'. Did you mean 'speed'"),
        ("motor.speed", "gain.u1", ValueError, "'::gain' has no input port named 'u1'"),
        ("gain", "motor", RuntimeError, "'::motor' has 2 input ports"),
        ("", "gain", RuntimeError, "no subsystem named ''"),
        (3, "gain", TypeError, "takes an output port and an input port"),
    ],
)
def test_names_that_are_wrong_are_refused_with_near_ones(output, input, kind, message):
    builder = DiagramBuilder()
    builder.AddNamedSystem("motor", Motor())
    builder.AddNamedSystem("gain", Gain(1.0, 1))
    with pytest.raises(kind, match=message):
        builder.Connect(output, input)
    assert builder.connection_map() == {}


# ---------------------------------------------------------------------- units


@pytest.mark.parametrize(("first", "second"), [("rad/s", "rad/s"), ("N m", "kg m^2/s^2"), (None, "V"), ("V", None)])
def test_the_same_units_in_other_words_and_missing_ones_are_connected(first, second):
    assert result_of(two_motors(first, second)) == 12.0


@pytest.mark.parametrize(
    ("first", "second"), [("rad/s", "V"), ("Hz", "rad/s"), ("rad", "m"), ("N", "N m"), ("degC", "rad")]
)
def test_other_dimensions_are_refused_with_both_ports_and_units(first, second):
    for options in ({}, {"convert_units": True}):
        with pytest.raises(RuntimeError) as error:
            two_motors(first, second, **options)
        text = str(error.value)
        assert "dimensions differ" in text
        assert f"'speed' (index 0) of system '::one' [{first}]" in text
        assert f"'u' (index 0) of system '::two' [{second}]" in text


def test_other_units_of_the_same_dimension_are_converted_if_asked():
    with pytest.raises(RuntimeError, match=r"0.10472 times.*convert_units=True"):
        two_motors("rpm", "rad/s")
    assert result_of(two_motors("rpm", "rad/s", convert_units=True)) == pytest.approx(12.0 * 2.0 * np.pi / 60.0)
    assert result_of(two_motors("degC", "K", convert_units=True)) == pytest.approx(2.0 * (6.0 + 273.15))
    diagram = two_motors("rad/s", "rad/s", convert_units=True)
    assert len(diagram.GetSystems()) == 2


def test_a_conversion_is_made_in_the_scalars_of_the_diagram():
    builder = DiagramBuilder_[AutoDiffXd]()
    for name, motor in (("one", Motor(speed="mm")), ("two", Motor(given="m"))):
        builder.AddNamedSystem(name, motor.ToAutoDiffXd())
    builder.Connect("one.speed", "two.u", convert_units=True)
    builder.ExportInput("one.u", "u")
    builder.ExportOutput("two.speed", "y")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [AutoDiffXd(3.0, [1.0])])
    assert diagram.get_output_port().Eval(context)[0].derivatives()[0] == pytest.approx(0.004)


def test_ports_of_diagrams_have_the_units_of_those_inside():
    diagram = two_motors()
    assert diagram.get_input_port().get_units() == "V"
    assert diagram.get_output_port().get_units() == "rad/s"
    assert Adder(2, 1).get_output_port().get_units() is None
    builder = DiagramBuilder()
    builder.AddNamedSystem("inner", diagram)
    builder.AddNamedSystem("metres", Motor(given="m"))
    with pytest.raises(RuntimeError, match="dimensions differ"):
        builder.Connect("inner.y", "metres.u")
    builder.ExportInput("inner.u", "shared")
    with pytest.raises(RuntimeError, match="dimensions differ"):
        builder.ConnectInput("shared", builder.GetSubsystemByName("metres").get_input_port(0))


def test_units_that_are_wrong_are_refused():
    with pytest.raises(TypeError, match="units are text"):
        Motor(given=3.0)
    with pytest.raises(RuntimeError, match="'furlongs/blink' cannot be understood"):
        two_motors("furlongs/blink", "m/s")
    with pytest.raises(ValueError, match="the dimensions of 'm' and 's' differ"):
        UnitConversion("m", "s")


def test_copies_and_conversions_keep_units():
    for copy in (Motor().Clone(), Motor().ToAutoDiffXd(), two_motors().Clone().GetSubsystemByName("one")):
        assert copy.GetOutputPort("speed").get_units() == "rad/s"
    gain = Gain(2.0, 1)
    gain.get_output_port().set_units("m")
    assert gain.Clone().get_output_port().get_units() == "m"


def test_plots_and_tables_of_logs_show_units():
    builder = DiagramBuilder()
    builder.AddNamedSystem("source", ConstantVectorSource([1.0]))
    motor = builder.AddNamedSystem("motor", Motor())
    builder.Connect("source", "motor.u")
    sink = LogVectorOutput(motor.get_output_port(), builder)
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(0.1)
    context = simulator.get_context()
    assert plot_log(sink, context).get_ylabel() == "[rad/s]"
    pandas = pytest.importorskip("pandas")
    table = log_to_pandas(sink, context)
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == ["speed [rad/s]"]
    assert table.to_csv().startswith("time,speed [rad/s]")


def test_ports_without_units_keep_nothing_of_them():
    assert "_units" not in vars(Gain(1.0, 1).get_input_port())
    assert InputPort._units is None


# ---------------------------------------------------------------------- parameters


@native
def driven(xc, u, gain, xcdot):
    xcdot[0] = gain[0] * u[0] - xc[0]


class Lag(LeafSystem):
    """Its gain has units, its other parameter has none."""

    def __init__(self):
        super().__init__()
        self.DeclareNumericParameter(BasicVector([1.0]), name="gain", units="rad/s/V")
        self.DeclareNumericParameter(BasicVector([1.0, 2.0]))
        self.DeclareVectorInputPort("u", 1, units="V")
        self.DeclareStateOutputPort("speed", self.DeclareContinuousState(1)).set_units("rad/s")
        self.DeclareTimeDerivatives(driven)


def test_parameters_take_values_in_any_units_of_their_dimension():
    builder = DiagramBuilder()
    lag = builder.AddNamedSystem("lag", Lag())
    diagram = builder.Build()
    root = diagram.CreateDefaultContext()
    context = lag.GetMyContextFromRoot(root)
    assert [system.get_numeric_parameter_units(0) for system in (lag, diagram)] == ["rad/s/V"] * 2
    lag.SetNumericParameter(context, "gain", 30.0, "rpm/V")
    assert context.get_numeric_parameter(0)[0] == pytest.approx(np.pi, abs=1e-14)
    diagram.SetNumericParameter(root, 1, [3.0, 4.0])
    assert context.get_numeric_parameter(1).CopyToVector().tolist() == [3.0, 4.0]
    refused = [
        ("gain", 1.0, "m/s", "the value is in 'm/s', but parameter 0 is in 'rad/s/V', which has another dimension"),
        (1, [1.0, 2.0], "m", "lag', SetNumericParameter: the value is in 'm', but parameter 1 has no units"),
        ("damping", 1.0, None, r"no parameter 'damping'; its parameters are \['gain', 'p1'\]"),
        ("gain", [1.0, 2.0], None, r"parameter 0 has shape \(1,\), got \(2,\)"),
    ]
    for parameter, value, units, match in refused:
        with pytest.raises(ValueError, match=match):
            lag.SetNumericParameter(context, parameter, value, units)
    assert context.get_numeric_parameter(0)[0] == pytest.approx(np.pi, abs=1e-14)
    with pytest.raises(TypeError, match="DeclareNumericParameter: units are text such as 'rad/s', got 3"):
        Lag().DeclareNumericParameter(BasicVector([1.0]), units=3)


def test_linear_models_have_the_units_of_the_ports_and_plots_show_them():
    system = Lag()
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [0.0])
    for model in (Linearize(system, context), FirstOrderTaylorApproximation(system, context)):
        assert (model.get_input_port().get_units(), model.get_output_port().get_units()) == ("V", "rad/s")
    amplitude, _ = BodePlot(FrequencyResponse(system, context))
    assert amplitude.get_ylabel() == "amplitude [dB of rad/s per V]"
