"""Lines of programs for pydrake do the same here and there: each function below runs against both packages."""

import dataclasses
import importlib
import itertools

import numpy as np
import pytest

pytest.importorskip("pydrake")

HOMES = ("pydrake", "merganser")


class Package:
    """One of the two packages: `all` of it as attributes."""

    def __init__(self, home):
        self.all = importlib.import_module(f"{home}.all")

    def __getattr__(self, name):
        return getattr(self.all, name)


def both(program, *arguments):
    """The results of the program there, and here."""
    return [program(Package(home), *arguments) for home in HOMES]


# -- actuation ---------------------------------------------------------------------------------------


def actuated_arm(drake, time_step, num_controlled):
    builder = drake.DiagramBuilder()
    plant, _ = drake.AddMultibodyPlantSceneGraph(builder, time_step)
    arm = plant.AddModelInstance("arm")
    parent = plant.world_frame()
    for i in range(2):
        link = plant.AddRigidBody(f"link_{i}", arm, drake.SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.2, 0.3))
        joint = plant.AddJoint(drake.RevoluteJoint(f"joint_{i}", parent, link.body_frame(), [0, 1, 0]))
        actuator = plant.AddJointActuator(f"motor_{i}", joint, 3.0)
        if i < num_controlled:
            actuator.set_controller_gains(drake.PdControllerGains(p=100.0, d=10.0))
        parent = link.body_frame()
    plant.Finalize()
    return plant, arm


def run_arm(drake, time_step, num_controlled, whole, part, desired):
    plant, arm = actuated_arm(drake, time_step, num_controlled)
    context = plant.CreateDefaultContext()
    if whole:
        plant.get_actuation_input_port().FixValue(context, [2.0, 0.5])
    if part:
        plant.get_actuation_input_port(arm).FixValue(context, [2.0, 0.25])
    if desired:
        plant.get_desired_state_input_port(arm).FixValue(context, [0.1, 0.2, 0.0, 0.0])
    if time_step:
        drake.Simulator(plant, context).AdvanceTo(0.05)
        motion = plant.GetPositionsAndVelocities(context)
    else:
        motion = plant.EvalTimeDerivatives(context).CopyToVector()
    ports = plant.get_net_actuation_output_port(), plant.get_net_actuation_output_port(arm)
    return np.concatenate([motion, *(port.Eval(context) for port in ports)])


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_actuation_ports_may_be_left_unconnected_in_every_combination(time_step):
    for num_controlled, *connected in itertools.product((0, 1, 2), *3 * [(False, True)]):
        whole, part, desired = connected
        if time_step and num_controlled and not desired and (whole or part):
            continue  # pydrake's net actuation has the feedforward of disarmed controllers, its step has not
        there, here = both(run_arm, time_step, num_controlled, *connected)
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-9, err_msg=f"{num_controlled} {connected}")


# -- classes -------------------------------------------------------------------------------------------


def shared_classes():
    """Classes that both packages have: name, theirs, ours."""
    there, here = (importlib.import_module(f"{home}.all") for home in HOMES)  # ours loads a name when it is asked for
    names = sorted(name for name in set(dir(there)) & set(dir(here)) if not name.startswith("_"))
    pairs = [(name, getattr(there, name), getattr(here, name)) for name in names]
    return [(name, *pair) for name, *pair in pairs if all(isinstance(each, type) for each in pair)]


def test_what_may_be_a_default_of_a_dataclass_field_there_may_here():
    classes = shared_classes()
    assert len(classes) > 250
    refused = [name for name, theirs, ours in classes if theirs.__hash__ is not None and ours.__hash__ is None]
    assert refused == []


def test_configs_are_defaults_of_dataclass_fields():
    for home in HOMES:
        drake = Package(home)

        @dataclasses.dataclass
        class Scenario:
            simulator: object = drake.SimulatorConfig(max_step_size=0.1)
            plant: object = drake.MultibodyPlantConfig()

        assert Scenario().simulator.max_step_size == 0.1


def test_equal_settings_have_equal_hashes_even_after_they_have_changed():
    drake = Package("merganser")
    a, b = drake.SimulatorConfig(), drake.SimulatorConfig()
    assert a == b and hash(a) == hash(b)
    a.max_step_size = b.max_step_size = 0.25
    assert a == b and hash(a) == hash(b)


# -- names of arguments --------------------------------------------------------------------------------


def numbers(value):
    """Arrays, vectors and states as plain numbers."""
    if isinstance(value, tuple):
        return [numbers(each) for each in value]
    if hasattr(value, "CopyToVector"):
        value = value.CopyToVector()
    if isinstance(value, np.ndarray):
        return [numbers(str(v)) if value.dtype == object else float(v) for v in value.ravel()]
    if isinstance(value, (bool, int, float, list)):
        return value
    return str(value).translate(str.maketrans("", "", "() "))  # expressions are printed with other parentheses


def discrete_system(drake):
    class TwoGroups(drake.LeafSystem):
        def __init__(self):
            drake.LeafSystem.__init__(self)
            self.DeclareDiscreteState([1.0, 2.0])
            self.DeclareDiscreteState([3.0])
            self.DeclareVectorInputPort("u", 1)
            u = self.get_input_port()
            self.DeclareVectorOutputPort("y", 1, lambda context, out: out.SetFromVector(u.Eval(context)))

    return TwoGroups()


def set_discrete_states(drake):
    system = discrete_system(drake)
    context = system.CreateDefaultContext()
    context.SetDiscreteState(group_index=0, xd=[5.0, 6.0])
    context.SetDiscreteState(1, xd=[7.0])
    groups = context.get_discrete_state()
    single = drake.ZeroOrderHold(0.1, 2)
    held = single.CreateDefaultContext()
    held.SetDiscreteState(xd=[1.0, 2.0])
    return groups.value(0), groups.value(1), held.get_discrete_state_vector()


def feedthrough(drake):
    system = discrete_system(drake)
    ask = system.HasDirectFeedthrough
    return ask(output_port=0), ask(input_port=0, output_port=0), ask(0, output_port=0), drake.Integrator(
        1
    ).HasDirectFeedthrough(output_port=0)


def state_containers(drake):
    vectors = [drake.BasicVector([1.0]), drake.BasicVector([2.0, 3.0])]
    groups = drake.DiscreteValues(data=vectors)
    only = drake.DiscreteValues(datum=drake.BasicVector([4.0]))
    only.set_value(value=[5.0])
    groups.set_value(index=1, value=[6.0, 7.0])
    state = drake.State()
    box = drake.Value(3)
    return (
        groups.get_value(1), only.get_value(), drake.DiscreteValues(drake.BasicVector([8.0])).get_value(),
        drake.DiscreteValues().num_groups(), drake.AbstractValues().size(), drake.AbstractValues(data=[box]).size(),
        drake.ContinuousState().size(), drake.ContinuousState(state=drake.BasicVector([1.0, 2.0])),
        drake.ContinuousState(state=drake.BasicVector([1.0, 2.0]), num_q=1, num_v=1, num_z=0).num_v(),
        state.get_continuous_state().size(), state.get_discrete_state().num_groups(), state.get_abstract_state().size(),
        drake.Parameters(vec=drake.BasicVector([1.0])).num_numeric_parameter_groups(),
        drake.Parameters(value=box).num_abstract_parameters(), drake.Parameters([box]).num_abstract_parameters(),
        drake.Parameters(abstract=[box]).num_abstract_parameters(), drake.BasicVector(size=2).size(),
    )  # fmt: skip


def diagram_inputs(drake):
    builder = drake.DiagramBuilder()
    blocks = [builder.AddSystem(drake.PassThrough(1)) for _ in range(3)]
    builder.ExportInput(blocks[0].get_input_port(), "u")
    builder.ConnectInput(diagram_port_name="u", input=blocks[1].get_input_port())
    builder.ConnectInput(diagram_port_index=drake.InputPortIndex(0), input=blocks[2].get_input_port())
    builder.ExportOutput(blocks[2].get_output_port())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [2.0])
    return diagram.get_output_port().Eval(context)


def expressions(drake):
    is_theirs = drake.all.__name__.startswith("pydrake")
    symbolic = importlib.import_module("pydrake.symbolic" if is_theirs else "merganser.framework.symbolic")
    x, y = symbolic.Variable("x"), symbolic.Variable("y")
    e = symbolic.Expression(var=x)
    matrix = np.array([[x + y]])
    A, b, variables = symbolic.DecomposeAffineExpressions(v=np.array([x + 2 * y + 3, y + 0]))
    both = symbolic.Variables([x])
    both.insert(vars=symbolic.Variables([y]))
    both.erase(vars=symbolic.Variables([x]))
    return (
        str(e), str((e * e).Substitute(s={x: symbolic.Expression(2.0)})), str((x > y).Substitute(s={x: y + 1})),
        symbolic.Substitute(matrix, var=x, e=y + 0), symbolic.ToLatex(f=x > y), symbolic.ToLatex(M=matrix), A, b,
        variables, both.size(),
    )  # fmt: skip


def overlaps(drake):
    turned = drake.RigidTransform(drake.RollPitchYaw(0.0, 0.0, 0.7), [0.0, 2.0, 0.0])
    aabb, obb = drake.Aabb([0, 0, 0], [1, 2, 3]), drake.Obb(turned, [1, 1, 1])
    X = drake.RigidTransform([1.5, 0, 0])
    half_space, plane = drake.HalfSpace(), drake.Plane([0, 0, 1], [0, 0, 5])
    return [
        drake.Aabb.HasOverlap(X_GH=X, a_G=aabb, b_H=aabb), drake.Aabb.HasOverlap(obb_H=obb, aabb_G=aabb, X_GH=X),
        drake.Aabb.HasOverlap(X_CH=X, bv_H=aabb, hs_C=half_space),
        drake.Aabb.HasOverlap(plane_P=plane, bv_H=aabb, X_PH=X), drake.Obb.HasOverlap(X_GH=X, obb_G=obb, aabb_H=aabb),
        drake.Obb.HasOverlap(obb, half_space, X_CH=X),
    ]  # fmt: skip


def scene_graph_with_config(drake):
    config = drake.SceneGraphConfig()
    config.default_proximity_properties.compliance_type = "compliant"
    graph = drake.SceneGraph(config=config)
    return graph.get_config().default_proximity_properties.compliance_type


def other_names(drake):
    system = drake.LinearSystem(A=[[-1.0]], B=[[1.0]], C=[[1.0]], D=[[0.0]])
    discrete = drake.DiscreteTimeApproximation(linear_system=system, time_period=0.1)
    basis = drake.BsplineBasis(3, 6)
    pose = drake.Isometry3.Identity()
    return discrete.A(), basis.ComputeActiveBasisFunctionIndices(parameter_interval=[0.1, 0.2]), pose.multiply(
        position=[1.0, 2.0, 3.0]
    )


@pytest.mark.parametrize(
    "program",
    [set_discrete_states, feedthrough, state_containers, diagram_inputs, expressions, overlaps,
     scene_graph_with_config, other_names],
    ids=lambda program: program.__name__,
)  # fmt: skip
def test_arguments_have_the_names_that_they_have_there(program):
    there, here = (numbers(result) for result in both(program))
    assert repr(here) == repr(there) or np.allclose(
        np.hstack([np.ravel(v) for v in here]), np.hstack([np.ravel(v) for v in there]), rtol=1e-12
    )


def test_an_argument_that_is_given_by_two_of_its_names_is_refused():
    drake = Package("merganser")
    with pytest.raises(TypeError, match="'e' twice, also as 'f'"):
        importlib.import_module("merganser.framework.symbolic").ToLatex(e=1.0, f=2.0)
    with pytest.raises(TypeError, match="either its elements or its size"):
        drake.BasicVector([1.0], size=1)


def test_random_variables_without_a_value_are_drawn_by_a_generator():
    symbolic, drake = importlib.import_module("merganser.framework.symbolic"), Package("merganser")
    x = symbolic.Variable("x", symbolic.Variable.Type.RANDOM_GAUSSIAN)
    drawn = [(x + x).Evaluate({}, drake.RandomGenerator(seed)) for seed in (3, 3, 4)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert (x + x).Evaluate({x: 2.0}, generator=drake.RandomGenerator(3)) == 4.0
    with pytest.raises(RuntimeError, match="x"):
        (x + x).Evaluate({})


# -- templates -----------------------------------------------------------------------------------------


def test_a_template_that_is_called_takes_the_class_that_fits_the_arguments():
    for home in HOMES:
        drake = Package(home)
        plant = drake.MultibodyPlant(0.0)
        plant.Finalize()
        assert type(drake.MultibodyForces_(plant)) is drake.MultibodyForces
        assert type(drake.RigidTransform_([1.0, 2.0, 3.0])) is drake.RigidTransform
        assert type(drake.BasicVector_([1.0])) is drake.BasicVector
        assert isinstance(drake.ConstantVectorSource_([1.0]), drake.ConstantVectorSource)
        p = np.array([drake.AutoDiffXd(x, [1.0]) for x in range(3)])
        assert isinstance(drake.RigidTransform_(p=p).translation()[0], drake.AutoDiffXd)
        with pytest.raises(TypeError, match=r"LeafSystem_: .*without arguments"):
            drake.LeafSystem_()
        with pytest.raises(TypeError):
            drake.Adder_("no number", None, 3)


# -- arrays --------------------------------------------------------------------------------------------


def matrices_given_as_vectors(drake):
    double = np.array([[0.0, 1.0], [0.0, 0.0]])
    one = [1.0]
    system = drake.LinearSystem(A=[-2.0], B=one, C=one, D=[0.0])
    affine = drake.AffineSystem(A=one, B=one, f0=one, C=one, D=one, y0=[0.0])
    column = drake.LinearSystem(A=double, B=[0.0, 1.0], C=np.eye(2), D=[0.0, 3.0])
    return (
        system.A(), affine.C(), column.B(), column.D(), drake.ControllabilityMatrix(system),
        drake.ContinuousAlgebraicRiccatiEquation([[0.0]], one, one, one),
        drake.ContinuousAlgebraicRiccatiEquation(double, [0.0, 1.0], np.eye(2), one),
        drake.DiscreteAlgebraicRiccatiEquation(one, one, one, one), drake.RealContinuousLyapunovEquation([-1.0], one),
        drake.RealDiscreteLyapunovEquation([0.5], one), drake.SteadyStateKalmanFilter([-1.0], one, one, one),
        drake.LinearQuadraticRegulator(double, [0.0, 1.0], np.eye(2), one),
        drake.DiscreteTimeLinearQuadraticRegulator(one, one, one, one),
        drake.MatrixGain(D=[2.0]).D(), drake.LinearSystem(np.array([[0.5]]), one, one, [0.0], 0.1).B(),
    )  # fmt: skip


def test_a_vector_is_taken_as_a_matrix_of_one_column():
    there, here = (numbers(result) for result in both(matrices_given_as_vectors))
    for ours, theirs in zip(here, there):
        np.testing.assert_allclose(np.hstack(ours), np.hstack(theirs), rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match=r"C: expected shape \(2, 2\), got \(2, 1\)"):
        Package("merganser").LinearSystem(A=np.eye(2), B=[0.0, 1.0], C=[1.0, 0.0], D=[0.0, 0.0])


# -- indices -------------------------------------------------------------------------------------------


def test_indices_are_made_of_integers_alone():
    names = "BodyIndex", "JointIndex", "FrameIndex", "ModelInstanceIndex", "InputPortIndex", "DependencyTicket"
    for home, name in itertools.product(HOMES, names):
        index_type = getattr(Package(home), name)
        for value in (1.5, 2.0, np.float64(3.0), "1", 1 << 31):
            with pytest.raises(TypeError):
                index_type(value)
        assert [int(index_type(value)) for value in (-1, True, np.int64(3), np.array(2))] == [-1, 1, 3, 2]


# -- callbacks that use a context of a plant -----------------------------------------------------------


def gravity_compensation(drake, time_step, is_hidden, is_compiled):
    """A controller that sets the context of a plant from its input: of its own, or of the plant in the diagram."""

    class Controller(drake.LeafSystem):
        def __init__(self, plant):
            drake.LeafSystem.__init__(self)
            self.plant = plant
            self.context = plant.CreateDefaultContext() if is_hidden else None
            self.x = self.DeclareVectorInputPort("x", 2)
            self.DeclareVectorOutputPort("u", 1, self.calc)

        def calc(self, context, output):
            self.plant.SetPositionsAndVelocities(self.context, self.x.Eval(context))
            q, v = self.plant.GetPositions(self.context), self.plant.GetVelocities(self.context)
            output.SetFromVector(-self.plant.CalcGravityGeneralizedForces(self.context) - 3.0 * q - 0.2 * v)

    builder = drake.DiagramBuilder()
    plant = builder.AddSystem(drake.MultibodyPlant(time_step))
    if time_step:
        plant.SetUseSampledOutputPorts(False)
    inertia = drake.SpatialInertia.SolidBoxWithMass(1.0, 1.0, 1.0, 1.0).Shift([0.0, 0.0, 0.5])
    rod = plant.AddRigidBody("rod", inertia)
    pin = plant.AddJoint(drake.RevoluteJoint("pin", plant.world_frame(), rod.body_frame(), [0, 1, 0]))
    plant.AddJointActuator("motor", pin)
    plant.Finalize()
    controller = builder.AddNamedSystem("controller", Controller(plant))
    builder.Connect(plant.get_state_output_port(), controller.get_input_port())
    builder.Connect(controller.get_output_port(), plant.get_actuation_input_port())
    log = drake.LogVectorOutput(controller.get_output_port(), builder, 2.0**-4)
    simulator = drake.Simulator(builder.Build())
    if is_compiled is not None:
        simulator.set_use_native_plan(is_compiled, at_once=True)
    root = simulator.get_mutable_context()
    context = plant.GetMyMutableContextFromRoot(root)
    if not is_hidden:
        controller.context = context
    plant.SetPositions(context, [0.4])
    simulator.AdvanceTo(0.25)
    return plant.GetPositionsAndVelocities(context), log.FindLog(root).data()[0]


# Powers of two: pydrake's multiples of other periods miss each other, and the ends of advances, by rounding.
@pytest.mark.parametrize("time_step", [0.0, 2.0**-6])
def test_a_controller_may_set_the_context_of_a_plant_while_its_output_is_computed(time_step):
    for is_hidden in (True, False):
        there = gravity_compensation(Package("pydrake"), time_step, is_hidden, None)
        ways = [gravity_compensation(Package("merganser"), time_step, is_hidden, use) for use in (False, True)]
        for expected, never, always in zip(there, *ways):
            np.testing.assert_allclose(never, expected, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(always, never)


def watched_plant(drake, is_compiled):
    """The output of a block about the plant in the diagram, which reads its context without being connected to it."""

    class Watcher(drake.LeafSystem):
        def __init__(self, plant):
            drake.LeafSystem.__init__(self)
            self.plant, self.context = plant, None
            self.DeclareVectorOutputPort("y", 1, self.calc)

        def calc(self, context, output):
            output.SetFromVector(self.plant.GetPositions(self.context))

    builder = drake.DiagramBuilder()
    plant = builder.AddSystem(drake.MultibodyPlant(2.0**-6))  # powers of two, as above
    ball = plant.AddRigidBody("ball", drake.SpatialInertia.SolidBoxWithMass(1.0, 1.0, 1.0, 1.0))
    plant.AddJoint(drake.PrismaticJoint("fall", plant.world_frame(), ball.body_frame(), [0, 0, 1]))
    plant.Finalize()
    watcher = builder.AddSystem(Watcher(plant))
    log = drake.LogVectorOutput(watcher.get_output_port(), builder, 2.0**-4)
    simulator = drake.Simulator(builder.Build())
    if is_compiled is not None:
        simulator.set_use_native_plan(is_compiled, at_once=True)
    watcher.context = plant.GetMyContextFromRoot(simulator.get_context())
    simulator.AdvanceTo(0.25)
    return log.FindLog(simulator.get_context()).data()[0]


def test_a_block_may_read_the_context_of_a_plant_to_which_it_is_not_connected():
    there = watched_plant(Package("pydrake"), None)
    for is_compiled in (False, True):
        np.testing.assert_allclose(watched_plant(Package("merganser"), is_compiled), there, rtol=1e-12)


# -- all names -----------------------------------------------------------------------------------------


def test_functions_of_a_number_take_every_scalar():
    names = (
        "abs", "acos", "arccos", "arcsin", "arctan", "asin", "atan", "ceil", "cos", "cosh", "exp", "floor", "log",
        "sin", "sinh", "sqrt", "tan", "tanh",
    )  # fmt: skip
    for name in names:
        there, here = (getattr(Package(home), name) for home in HOMES)
        assert here(0.3) == pytest.approx(there(0.3), rel=1e-15)
        results = [getattr(p, name)(p.AutoDiffXd(0.3, [1.0])) for p in map(Package, HOMES)]
        is_smooth = name not in ("floor", "ceil")  # these are plain numbers
        parts = [(r.value(), *r.derivatives()) if is_smooth else (r, 0.0) for r in results]
        assert parts[1] == pytest.approx(parts[0], rel=1e-14)
        ours = Package("merganser")
        x = ours.Variable("x")
        assert here(ours.Expression(x)).Evaluate({x: 0.3}) == pytest.approx(there(0.3), rel=1e-15)
    for name in ("pow", "max", "min", "atan2", "arctan2"):
        there, here = (getattr(Package(home), name) for home in HOMES)
        assert here(0.3, 2.0) == pytest.approx(there(0.3, 2.0), rel=1e-15)
        assert type(here(ours.AutoDiffXd(0.3, [1.0]), 2.0)) is ours.AutoDiffXd
