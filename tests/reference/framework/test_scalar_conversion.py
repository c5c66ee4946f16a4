"""Programs on pydrake and on merganser: templates, conversions, and contexts of other scalars."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="the extra `reference` is not installed")
pytest.importorskip("merganser.framework.symbolic", reason="needs the extra `symbolic`", exc_type=ImportError)

import pydrake.autodiffutils
import pydrake.common.eigen_geometry
import pydrake.math
import pydrake.symbolic
import pydrake.systems.analysis
import pydrake.systems.framework
import pydrake.systems.primitives
import pydrake.systems.scalar_conversion

from merganser import analysis, framework
from merganser.framework import autodiff, math, primitives, symbolic

# pydrake computes with NaN to find out about feedthrough.
pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")]

THEIRS = SimpleNamespace(
    framework=pydrake.systems.framework,
    blocks=pydrake.systems.primitives,
    TemplateSystem=pydrake.systems.scalar_conversion.TemplateSystem,
    autodiff=pydrake.autodiffutils,
    symbolic=pydrake.symbolic,
    analysis=pydrake.systems.analysis,
)
OURS = SimpleNamespace(
    framework=framework,
    blocks=primitives,
    TemplateSystem=framework.TemplateSystem,
    autodiff=autodiff,
    symbolic=symbolic,
    analysis=analysis,
)
BOTH = pytest.mark.parametrize("lib", [THEIRS, OURS], ids=["pydrake", "merganser"])


def pendulum_template(lib):
    @lib.TemplateSystem.define("Pendulum_")
    def Pendulum_(T):
        class Impl(lib.framework.LeafSystem_[T]):
            def _construct(self, length, converter=None):
                lib.framework.LeafSystem_[T].__init__(self, converter=converter)
                self.length = length
                self.DeclareVectorInputPort("torque", 1)
                self.DeclareContinuousState(1, 1, 0)
                self.DeclareVectorOutputPort("tip", lib.framework.BasicVector_[T](2), self._tip)

            def _construct_copy(self, other, converter=None):
                Impl._construct(self, other.length, converter=converter)

            def _tip(self, context, output):
                angle = context.get_continuous_state_vector().GetAtIndex(0)
                output.SetFromVector([self.length * np.sin(angle), -self.length * np.cos(angle)])

            def DoCalcTimeDerivatives(self, context, derivatives):
                x = context.get_continuous_state_vector()
                torque = self.get_input_port(0).Eval(context)[0]
                acceleration = torque / self.length**2 - 9.81 / self.length * np.sin(x.GetAtIndex(0))
                derivatives.get_mutable_vector().SetFromVector([x.GetAtIndex(1), acceleration])

        return Impl

    return Pendulum_


def feedback_loop(lib):
    builder = lib.framework.DiagramBuilder()
    pendulum = builder.AddNamedSystem("pendulum", pendulum_template(lib)[None](1.5))
    gain = builder.AddNamedSystem("gain", lib.blocks.AffineSystem(D=[[2.0, 0.3]], y0=[0.1]))
    builder.Connect(pendulum.get_output_port(0), gain.get_input_port())
    builder.Connect(gain.get_output_port(), pendulum.get_input_port(0))
    builder.ExportOutput(pendulum.get_output_port(0), "tip")
    diagram = builder.Build()
    diagram.set_name("loop")
    return diagram


def gradients(lib):
    diagram = feedback_loop(lib).ToAutoDiffXd()
    context = diagram.CreateDefaultContext()
    context.SetContinuousState(lib.autodiff.InitializeAutoDiff([0.4, -0.7]).ravel())
    xdot = diagram.EvalTimeDerivatives(context).CopyToVector()
    tip = diagram.get_output_port(0).Eval(context)
    extract = lib.autodiff
    return [f(y) for y in (xdot, tip) for f in (extract.ExtractValue, extract.ExtractGradient)]


def test_gradients_of_a_diagram_with_a_template_system():
    for ours, theirs in zip(gradients(OURS), gradients(THEIRS), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-15)


@BOTH
def test_converted_diagram_keeps_names_and_ports(lib):
    diagram = feedback_loop(lib).ToSymbolic()
    assert diagram.get_name() == "loop" and diagram.GetOutputPort("tip").size() == 2
    assert [system.get_name() for system in diagram.GetSystems()] == ["pendulum", "gain"]
    assert diagram.GetSubsystemByName("gain").GetSystemPathname() == "::loop::gain"


@BOTH
def test_template_system(lib):
    Pendulum_ = pendulum_template(lib)
    AutoDiffXd, Expression = lib.autodiff.AutoDiffXd, lib.symbolic.Expression
    assert Pendulum_[None] is Pendulum_[float]
    pendulum = Pendulum_[float](2.0)
    pendulum.set_name("p")
    for T, converted in (
        (AutoDiffXd, pendulum.ToAutoDiffXd()),
        (Expression, pendulum.ToSymbolic()),
        (AutoDiffXd, pendulum.ToScalarType[AutoDiffXd]()),
        (Expression, pendulum.ToScalarTypeMaybe[Expression]()),
        (AutoDiffXd, pendulum.ToAutoDiffXdMaybe()),
        (Expression, pendulum.ToSymbolicMaybe()),
    ):
        assert type(converted) is Pendulum_[T] and converted.length == 2.0 and converted.get_name() == "p"
        assert isinstance(converted, lib.framework.LeafSystem_[T])
        assert isinstance(converted, lib.framework.System_[T])
    assert pendulum.get_system_scalar_converter().IsConvertible[AutoDiffXd, float]()


@BOTH
def test_converter_has_the_supported_types(lib):
    scalars = float, lib.autodiff.AutoDiffXd, lib.symbolic.Expression
    converter = lib.framework.SystemScalarConverter
    assert converter.SupportedScalars == scalars
    pairs = {(T, U) for T in scalars for U in scalars if T is not U}
    assert set(converter.SupportedConversionPairs) == pairs
    assert not converter().IsConvertible[lib.autodiff.AutoDiffXd, float]()


@BOTH
def test_refusals(lib):
    system = lib.framework.LeafSystem(converter=lib.framework.SystemScalarConverter())
    builder = lib.framework.DiagramBuilder()
    builder.AddNamedSystem("obstacle", system)
    diagram = builder.Build()
    diagram.set_name("top")
    with pytest.raises(RuntimeError, match=r"::top.*does not support scalar conversion to type.*::top::obstacle"):
        diagram.ToAutoDiffXd()
    assert diagram.ToAutoDiffXdMaybe() is None and diagram.ToSymbolicMaybe() is None
    with pytest.raises(RuntimeError, match="does not support scalar conversion"):
        lib.blocks.Gain(1.0, 1).ToScalarType[float]()
    with pytest.raises(RuntimeError):
        lib.framework.LeafSystem_[int]
    with pytest.raises(TypeError):
        lib.framework.DiagramBuilder_[lib.autodiff.AutoDiffXd]().AddSystem(lib.blocks.Gain(1.0, 1))
    with pytest.raises(TypeError):
        lib.analysis.Simulator_[lib.autodiff.AutoDiffXd](lib.blocks.Gain(1.0, 1))


@BOTH
def test_contexts_take_values_of_other_scalars(lib):
    floats = lib.blocks.Integrator(2)
    autodiff_system, symbolic_system = floats.ToAutoDiffXd(), floats.ToSymbolic()
    f, a, s = (system.CreateDefaultContext() for system in (floats, autodiff_system, symbolic_system))
    f.SetTime(3.0)
    f.SetContinuousState([1.0, 2.0])
    floats.get_input_port().FixValue(f, [5.0, 6.0])
    a.SetTimeStateAndParametersFrom(f)
    s.SetTimeStateAndParametersFrom(f)
    assert type(a.get_time()) is lib.autodiff.AutoDiffXd and type(s.get_time()) is lib.symbolic.Expression
    autodiff_system.FixInputPortsFrom(floats, f, a)
    xdot = autodiff_system.EvalTimeDerivatives(a).CopyToVector()
    assert [x.value() for x in xdot] == [5.0, 6.0]
    a.SetContinuousState(lib.autodiff.InitializeAutoDiff([7.0, 8.0]).ravel())
    f.SetTimeStateAndParametersFrom(a)  # derivatives are left behind
    s.SetTimeStateAndParametersFrom(a)
    assert f.get_continuous_state_vector().CopyToVector().tolist() == [7.0, 8.0]
    assert s.get_continuous_state_vector().GetAtIndex(1).EqualTo(lib.symbolic.Expression(8.0))
    s.SetContinuousState([lib.symbolic.Variable("x"), lib.symbolic.Expression(1.0)])
    for context in (f, a):
        with pytest.raises(RuntimeError):
            context.SetTimeStateAndParametersFrom(s)


@BOTH
def test_expressions_of_a_linear_system(lib):
    system = lib.blocks.LinearSystem([[1.0, 2.0], [3.0, 4.0]], [[5.0], [6.0]], [[1.0, 0.0]], [[2.0]]).ToSymbolic()
    x, u = [lib.symbolic.Variable("x0"), lib.symbolic.Variable("x1")], lib.symbolic.Variable("u")
    context = system.CreateDefaultContext()
    context.SetContinuousState(x)
    system.get_input_port().FixValue(context, [lib.symbolic.Expression(u)])
    xdot = system.EvalTimeDerivatives(context).CopyToVector()
    assert xdot[0].EqualTo(x[0] + 2 * x[1] + 5 * u) and xdot[1].EqualTo(3 * x[0] + 4 * x[1] + 6 * u)
    assert system.get_output_port().Eval(context)[0].EqualTo(x[0] + 2 * u)


def test_gradient_of_a_simulation():
    def final(lib):
        AutoDiffXd = lib.autodiff.AutoDiffXd
        diagram = feedback_loop(lib).ToAutoDiffXd()
        context = diagram.CreateDefaultContext()
        context.SetContinuousState(lib.autodiff.InitializeAutoDiff([0.4, -0.7]).ravel())
        simulator = lib.analysis.Simulator_[AutoDiffXd](diagram, context)
        integrator = simulator.get_mutable_integrator()
        integrator.set_maximum_step_size(0.01)
        integrator.set_fixed_step_mode(True)
        simulator.Initialize()
        simulator.AdvanceTo(0.5)
        x = simulator.get_context().get_continuous_state_vector().CopyToVector()
        return np.hstack([lib.autodiff.ExtractValue(x), lib.autodiff.ExtractGradient(x)])

    np.testing.assert_allclose(final(OURS), final(THEIRS), rtol=1e-9, atol=1e-12)


def test_all_templates_of_pydrake_for_names_that_are_there():
    missing = []
    for theirs, ours in (
        (pydrake.systems.framework, framework),
        (pydrake.systems.primitives, primitives),
        (pydrake.systems.analysis, analysis),
        (pydrake.math, math),
        (pydrake.common.eigen_geometry, math),
    ):
        names = [name for name in dir(theirs) if name.endswith("_") and not name.startswith("_")]
        missing += [name for name in names if hasattr(ours, name[:-1]) and not hasattr(ours, name)]
    assert set(missing) <= {"BsplineBasis_"}  # whose knots are floats so far
