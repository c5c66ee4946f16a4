"""Templates `Foo_[T]`, systems defined with TemplateSystem, and expressions in systems."""

import copy
import pickle

import numpy as np
import pytest

from merganser import analysis, framework
from merganser.framework import (
    AbstractValue,
    BasicVector,
    BasicVector_,
    Context,
    Context_,
    DiagramBuilder,
    DiagramBuilder_,
    LeafContext_,
    LeafSystem,
    LeafSystem_,
    System,
    System_,
    SystemScalarConverter,
    TemplateSystem,
    Value,
    VectorBase_,
    VectorSystem_,
    primitives,
    trajectories,
)
from merganser.framework import math as rotations
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff

sym = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra `symbolic`", exc_type=ImportError)
Expression, Variable = sym.Expression, sym.Variable
SCALARS = [float, AutoDiffXd, Expression]


@TemplateSystem.define("Spring_")
def Spring_(T):
    class Impl(LeafSystem_[T]):
        """As pydrake's users write it."""

        def _construct(self, stiffness, converter=None, *, mass=1.0):
            LeafSystem_[T].__init__(self, converter=converter)
            self.stiffness, self.mass, self.made_for = stiffness, mass, T
            self.DeclareVectorInputPort("force", 1)
            self.DeclareContinuousState(1, 1, 0)
            self.DeclareVectorOutputPort("energy", 1, self._energy)

        def _construct_copy(self, other, converter=None):
            Impl._construct(self, other.stiffness, converter=converter, mass=other.mass)

        def _energy(self, context, output):
            x, v = context.get_continuous_state_vector().CopyToVector()
            output.SetFromVector([0.5 * self.stiffness * x * x + 0.5 * self.mass * v * v])

        def DoCalcTimeDerivatives(self, context, derivatives):
            x, v = context.get_continuous_state_vector().CopyToVector()
            force = self.get_input_port().Eval(context)[0]
            derivatives.get_mutable_vector().SetFromVector([v, (force - self.stiffness * x) / self.mass])

    return Impl


Spring = Spring_[None]


# ---------------------------------------------------------------------- templates


@pytest.mark.parametrize(
    "template",
    [
        getattr(module, name)
        for module in (framework, primitives, rotations)
        for name in module.__all__
        if name[-1] == "_"
    ],
    ids=lambda template: template.name,
)
def test_template_of_float_is_the_class_itself(template):
    module = next(m for m in (framework, primitives, rotations) if hasattr(m, template.name))
    assert template[float] is template[None] is getattr(module, template.name[:-1])
    assert [T for (T,) in template.param_list] == SCALARS
    assert template[AutoDiffXd] is template[AutoDiffXd] is not template[Expression]
    assert template.is_instantiation(template[AutoDiffXd]) and not template.is_instantiation(int)
    assert template[AutoDiffXd].__name__ == f"{template.name}[AutoDiffXd]"


@pytest.mark.parametrize("parameter", [int, complex, "AutoDiffXd", 3])
def test_what_is_no_scalar_type_is_refused(parameter):
    with pytest.raises(RuntimeError, match=r"LeafSystem_: .* is no scalar type of merganser; use float, "):
        LeafSystem_[parameter]


def test_instances_know_their_scalar_type():
    gain = primitives.Gain_[AutoDiffXd](2.0, 1)
    for template in (primitives.Gain_, LeafSystem_, System_):
        assert isinstance(gain, template[AutoDiffXd]) and not isinstance(gain, template[Expression])
        assert not isinstance(primitives.Gain(2.0, 1), template[AutoDiffXd])
    context = gain.CreateDefaultContext()
    assert isinstance(context, Context_[AutoDiffXd]) and not isinstance(context, Context_[Expression])
    vector = BasicVector_[AutoDiffXd]([1.0, 2.0])
    assert isinstance(vector, BasicVector_[AutoDiffXd]) and not isinstance(BasicVector([1.0]), BasicVector_[AutoDiffXd])
    assert [type(x) for x in vector] == [AutoDiffXd] * 2
    assert isinstance(Value[BasicVector_[AutoDiffXd]]([1.0]).get_value(), BasicVector_[AutoDiffXd])
    linear = primitives.LinearSystem_[AutoDiffXd]([[1.0]])
    assert isinstance(linear, primitives.AffineSystem_[AutoDiffXd])


def test_kinds_are_classes():
    vector = BasicVector_[AutoDiffXd]
    assert issubclass(Context_[AutoDiffXd], Context) and issubclass(LeafContext_[AutoDiffXd], Context_[AutoDiffXd])
    assert issubclass(vector, VectorBase_[AutoDiffXd]) and not issubclass(vector, VectorBase_[Expression])
    assert not issubclass(BasicVector, vector)

    class Named(vector):
        def __init__(self, value):
            super().__init__([value, 0.0])

    assert issubclass(Named, vector) and issubclass(Named, VectorBase_[AutoDiffXd]) and type(Named) is type
    assert not issubclass(Named, BasicVector_[Expression]) and Named(1.0).size() == 2
    assert copy.deepcopy(vector) is vector
    with pytest.raises(TypeError, match=r"BasicVector_\[AutoDiffXd\] cannot be pickled by itself"):
        pickle.dumps(vector)


def test_what_functions_of_a_kind_return_is_of_the_kind():
    X = rotations.RigidTransform_[AutoDiffXd]
    assert isinstance(X.Identity(), X)
    assert isinstance(rotations.RigidTransform.cast[AutoDiffXd](rotations.RigidTransform()), X)
    assert isinstance(rotations.RotationMatrix_[AutoDiffXd].MakeXRotation(0.5), rotations.RotationMatrix_[AutoDiffXd])


def test_what_holds_no_scalars_is_of_every_kind_and_what_holds_some_is_not():
    nothing = primitives.Gain(1.0, 1)
    assert isinstance(nothing.AllocateDiscreteVariables(), framework.DiscreteValues_[AutoDiffXd])
    assert not isinstance(nothing.AllocateOutput(), framework.SystemOutput_[AutoDiffXd])
    assert isinstance(nothing.ToAutoDiffXd().AllocateOutput(), framework.SystemOutput_[AutoDiffXd])

    class Nowhere(trajectories.Trajectory_[AutoDiffXd]):
        def value(self, t):
            return np.array([[AutoDiffXd(0.0)]])

    assert isinstance(Nowhere(), trajectories.Trajectory_[AutoDiffXd])
    assert not isinstance(Nowhere(), trajectories.Trajectory_[Expression])
    ramp = trajectories.PiecewisePolynomial.FirstOrderHold([0.0, 1.0], [[0.0, 1.0]])
    assert not isinstance(ramp.MakeDerivative(), trajectories.Trajectory_[AutoDiffXd])


def test_only_rotations_of_constant_expressions_have_an_angle_and_an_axis():
    R = rotations.RotationMatrix.cast[Expression](rotations.RotationMatrix.MakeYRotation(0.5))
    turn = R.ToAngleAxis()
    assert float(turn.angle().Evaluate()) == pytest.approx(0.5)
    R = rotations.RotationMatrix_[Expression](rotations.RollPitchYaw_[Expression](0.0, Variable("p"), 0.0))
    with pytest.raises(TypeError, match="depends on numerical values"):
        R.ToAngleAxis()


@pytest.mark.parametrize("T", SCALARS)
def test_homogeneous_matrices_are_of_one_scalar_type_and_go_back(T):
    X = rotations.Isometry3_[T](rotations.RotationMatrix.MakeZRotation(0.5).matrix(), [1.0, 2.0, 3.0])
    again = rotations.Isometry3_[T](X.matrix())
    for matrix in (X.matrix(), again.matrix(), rotations.RigidTransform_[T]().GetAsMatrix4()):
        assert {type(entry) for entry in matrix.ravel().tolist()} == {T}


def test_methods_take_scalar_types_without_an_object_too():
    gain = primitives.Gain(2.0, 1)
    converted = System.ToScalarType[AutoDiffXd](gain)
    assert isinstance(converted, primitives.Gain_[AutoDiffXd])
    assert primitives.Gain_[AutoDiffXd].ToScalarTypeMaybe[float](converted) is not None
    assert SystemScalarConverter.IsConvertible[AutoDiffXd, float](gain.get_system_scalar_converter())


def test_boxes_know_by_type_what_is_in_them():
    assert isinstance(Value[object](3), Value[object]) and not isinstance(Value(3.0), Value[object])
    assert isinstance(AbstractValue.Make(3.0), Value[float]) and not isinstance(Value("a"), Value[float])
    X = rotations.RigidTransform_[AutoDiffXd]()
    assert isinstance(AbstractValue.Make(X), Value[rotations.RigidTransform_[AutoDiffXd]])
    assert isinstance(Value([X]), Value[list[rotations.RigidTransform]])
    assert not isinstance(Value([1]), Value[list[str]])
    assert Value[rotations.RigidTransform](p=[1, 2, 3]).get_value().translation()[2] == 3.0
    assert Value[list[rotations.RigidTransform]]().get_value() == [] and Value[float] is Value[float]
    assert issubclass(Value[float], AbstractValue) and repr(Value[float]) == "Value[float]"


def test_texts_name_the_scalar_type():
    assert repr(BasicVector_[AutoDiffXd]([1.0])) == "BasicVector_[AutoDiffXd]([<AutoDiffXd 1.0 nderiv=0>])"
    assert (repr(BasicVector([1.0])), str(BasicVector([1.0, 2.5]))) == ("BasicVector([1.0])", "[1.0, 2.5]")
    text = repr(rotations.RigidTransform_[AutoDiffXd]())
    assert text.startswith("RigidTransform_[AutoDiffXd](\n  R=RotationMatrix_[AutoDiffXd]([")
    assert repr(rotations.RollPitchYaw_[Expression](Variable("x"), 0, 1)).startswith("RollPitchYaw_[Expression](roll=<")


def test_vectors_of_a_users_class_keep_it():
    class Named(BasicVector_[AutoDiffXd]):
        def x(self):
            return self[0]

    class Source(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareVectorOutputPort("y", Named([1.0]), lambda context, y: y.SetAtIndex(0, y.x() + 1.0))

    system = Source().ToAutoDiffXd()
    output = system.get_output_port().EvalBasicVector(system.CreateDefaultContext())
    assert type(output) is Named and type(output.x()) is AutoDiffXd


def test_rotations_of_other_scalars():
    theta = AutoDiffXd(0.3, [1.0])
    X = rotations.RigidTransform_[AutoDiffXd](rotations.RotationMatrix.MakeXRotation(theta), [1.0, 2.0, 3.0])
    assert isinstance(X @ X, rotations.RigidTransform_[AutoDiffXd])
    assert isinstance(rotations.RotationMatrix_[AutoDiffXd].Identity(), rotations.RotationMatrix_[AutoDiffXd])
    assert isinstance(rotations.RotationMatrix().cast[Expression](), rotations.RotationMatrix_[Expression])
    np.testing.assert_array_equal(X.cast[float]().GetAsMatrix34(), ExtractValue(X.GetAsMatrix34()))
    with pytest.raises(RuntimeError, match="x"):
        rotations.RotationMatrix.MakeXRotation(Expression(Variable("x"))).cast[float]()


# ---------------------------------------------------------------------- TemplateSystem


@pytest.mark.parametrize("T", SCALARS)
@pytest.mark.parametrize("U", SCALARS)
def test_template_system_converts_by_its_copy_constructor(T, U):
    if T is U:
        return
    original = Spring_[U](4.0, mass=2.0)
    original.set_name("spring")
    system = original.ToScalarType[T]()
    assert type(system) is Spring_[T] and system.made_for is T
    assert (system.stiffness, system.mass, system.get_name()) == (4.0, 2.0, "spring")
    assert original.get_system_scalar_converter().IsConvertible[T, U]()
    context = system.CreateDefaultContext()
    context.SetContinuousState([1.0, 1.0])
    assert type(system.get_output_port().Eval(context)[0]) in (T, np.float64)


def test_template_system_in_a_diagram_gets_derivatives():
    builder = DiagramBuilder()
    spring, gain = builder.AddNamedSystem("spring", Spring(4.0)), builder.AddSystem(primitives.Gain(-1.0, 1))
    builder.Cascade(spring, gain)
    builder.Cascade(gain, spring)
    builder.ExportOutput(spring.get_output_port())
    diagram = builder.Build().ToAutoDiffXd()
    assert diagram.GetSubsystemByName("spring").GetSystemPathname() == "::Diagram::spring"
    context = diagram.CreateDefaultContext()
    context.SetContinuousState(InitializeAutoDiff([0.5, 0.25]).ravel())
    gradient = ExtractGradient(diagram.EvalTimeDerivatives(context).CopyToVector())
    np.testing.assert_allclose(gradient, [[0.0, 1.0], [-4.0 - 4.0 * 0.5, -0.25]])
    back = diagram.ToScalarType[float]()
    assert type(back.GetSubsystemByName("spring")) is Spring


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda system: pickle.loads(pickle.dumps(system))])
def test_template_systems_can_be_copied_and_pickled(copied):
    system = copied(Spring_[AutoDiffXd](3.0))
    assert type(system) is Spring_[AutoDiffXd] and system.stiffness == 3.0
    assert type(system.ToScalarType[float]()) is Spring


def test_subclass_of_a_template_system_is_not_cut_down():
    class Stronger(Spring):
        def DoCalcTimeDerivatives(self, context, derivatives):
            derivatives.SetFromVector([1.0, 1.0])

    with pytest.raises(
        RuntimeError, match=r"Stronger.* is derived from Spring_\[float\], whose `_construct_copy` does"
    ):
        Stronger(1.0).ToAutoDiffXd()


def test_template_system_with_some_scalars_only():
    @TemplateSystem.define("Some_", T_list=[float, AutoDiffXd], T_pairs=[(AutoDiffXd, float)])
    def Some_(T):
        class Impl(VectorSystem_[T]):
            def _construct(self, converter=None):
                VectorSystem_[T].__init__(self, 0, 1, converter=converter)

            def _construct_copy(self, other, converter=None):
                Impl._construct(self, converter=converter)

        return Impl

    assert isinstance(Some_[None]().ToAutoDiffXd(), VectorSystem_[AutoDiffXd])
    with pytest.raises(RuntimeError, match="Some_ defines no such conversion"):
        Some_[AutoDiffXd]().ToScalarType[float]()
    with pytest.raises(RuntimeError, match="no instantiation for Expression, only for float, AutoDiffXd"):
        Some_[Expression]
    with pytest.raises(ValueError, match="must be between two types of T_list"):
        TemplateSystem("Wrong_", T_list=[float], T_pairs=[(AutoDiffXd, float)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"__init__": lambda self: None}, "defines `__init__`; it should define `_construct`"),
        ({"_construct": lambda self, converter=None: None}, "does not define `_construct_copy`"),
        ({}, "does not define `_construct`"),
    ],
)
def test_template_system_says_what_is_wrong_with_its_class(content, message):
    template = TemplateSystem.define("Bad_")(lambda T: type("Impl", (LeafSystem_[T],), content))
    with pytest.raises(RuntimeError, match=f"Bad_: Impl {message}"):
        template[float]
    template = TemplateSystem.define("Bad_")(lambda T: LeafSystem)
    with pytest.raises(RuntimeError, match=r"must be a class derived from LeafSystem_\[AutoDiffXd\]"):
        template[AutoDiffXd]


def test_supported_conversions():
    assert SystemScalarConverter.SupportedScalars == tuple(SCALARS)
    assert len(SystemScalarConverter.SupportedConversionPairs) == 6


# ---------------------------------------------------------------------- expressions


def test_linear_system_gives_the_expected_expressions():
    system = primitives.LinearSystem([[1.0, 2.0], [3.0, 4.0]], [[5.0], [6.0]], [[1.0, 0.0]], [[2.0]]).ToSymbolic()
    context = system.CreateDefaultContext()
    x, u = [Variable("x0"), Variable("x1")], Variable("u")
    context.SetContinuousState(x)
    system.get_input_port().FixValue(context, [u])
    xdot = system.EvalTimeDerivatives(context).CopyToVector()
    assert xdot[0].EqualTo(x[0] + 2 * x[1] + 5 * u) and xdot[1].EqualTo(3 * x[0] + 4 * x[1] + 6 * u)
    assert system.get_output_port().Eval(context)[0].EqualTo(x[0] + 2 * u)


def test_diagram_of_expressions_with_symbolic_time():
    builder = DiagramBuilder_[Expression]()
    source = builder.AddSystem(primitives.ConstantVectorSource_[Expression]([3.0]))
    adder = builder.AddSystem(primitives.Adder_[Expression](2, 1))
    integrator = builder.AddSystem(primitives.Integrator_[Expression](1))
    builder.Connect(source.get_output_port(), adder.get_input_port(0))
    builder.Connect(adder.get_output_port(), integrator.get_input_port())
    builder.Connect(integrator.get_output_port(), adder.get_input_port(1))
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    x, t = Variable("x"), Variable("t")
    context.SetTime(t)
    context.SetContinuousState([x])
    assert context.get_time().EqualTo(Expression(t))
    assert diagram.EvalTimeDerivatives(context)[0].EqualTo(x + 3)
    assert context.Clone().get_continuous_state_vector()[0].EqualTo(Expression(x))


def test_expressions_with_variables_do_not_become_numbers():
    floats = primitives.Integrator([1.0, 2.0])
    symbolic, autodiff = floats.ToSymbolic(), floats.ToAutoDiffXd()
    source, target = symbolic.CreateDefaultContext(), autodiff.CreateDefaultContext()
    plain = floats.CreateDefaultContext()
    source.SetContinuousState([5.0, Variable("x")])
    source.SetTime(9.0)
    for context in (target, plain):
        with pytest.raises(RuntimeError, match="x"):
            context.SetTimeStateAndParametersFrom(source)
    assert plain.get_time() == 0.0 and plain.get_continuous_state_vector()[0] == 1.0  # unchanged
    source.SetContinuousState([5.0, 6.0])
    for context in (target, plain):
        context.SetTimeStateAndParametersFrom(source)
        assert context.get_time() == 9.0 and context.get_continuous_state_vector()[1] == 6.0
    target.SetContinuousState(InitializeAutoDiff([7.0, 8.0]).ravel())
    source.SetTimeStateAndParametersFrom(target)  # as in Drake, derivatives are left behind
    assert source.get_continuous_state_vector()[1].EqualTo(Expression(8.0))
    system = primitives.Gain_[Expression]([Expression(Variable("k"))])
    with pytest.raises(RuntimeError, match=r"'::Gain' .*holds a symbolic expression without a value"):
        system.ToScalarType[float]()


def test_condition_on_an_expression_fails_aloud():
    class Switch(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareVectorInputPort("u", 1)
            self.DeclareVectorOutputPort("y", 1, self._calc)

        def _calc(self, context, output):
            u = self.get_input_port().Eval(context)[0]
            output[0] = 1.0 if u > 0.0 else 0.0

    system = Switch().ToSymbolic()
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [Variable("u")])
    with pytest.raises(RuntimeError, match="truth of the formula"):
        system.get_output_port().Eval(context)
    with pytest.raises(TypeError, match="only systems of numbers can be simulated"):
        analysis.Simulator(system)


@pytest.mark.parametrize("T", [AutoDiffXd, Expression])
def test_discrete_derivative_of_other_scalars_is_zero_until_there_are_two_samples(T):
    system = primitives.StateInterpolatorWithDiscreteDerivative_[T](1, 0.5)
    context = system.CreateDefaultContext()
    velocities = []
    for position in (1.0, 3.0, 4.0):
        system.get_input_port().FixValue(context, position)
        context.SetDiscreteState(system.EvalUniquePeriodicDiscreteUpdate(context))
        velocities.append(system.get_output_port().Eval(context)[1])
    assert all(type(velocity) is T for velocity in velocities)
    values = [velocity.value() if T is AutoDiffXd else velocity.Evaluate() for velocity in velocities]
    assert values == [0.0, 4.0, 2.0]
