"""Directional derivatives of FMUs are those of `Linearize`, and FMPy's calls give them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from event_diagrams import add
from fmu_host import ERROR, OK, FmuFile

from merganser.analysis.fmi import ExportFmu, FmuSystem
from merganser.analysis.fmi.slopes import Slopes
from merganser.framework import BasicVector, ContinuousStateIndex, DiagramBuilder, LeafSystem
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.math import RigidTransform
from merganser.framework.native import native
from merganser.framework.primitives import FirstOrderTaylorApproximation, Multiplexer, Saturation
from merganser.geometry import HalfSpace, Sphere
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import SpatialInertia

pytest.importorskip("ziglang", reason="ziglang, which links FMUs, is not installed (extra `fmi`)")
fmpy = pytest.importorskip("fmpy", reason="FMPy, which simulates FMUs, is not installed")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not may_compile(), reason="FMUs are made on Linux, of compiled code"
)

MODELS = Path(__file__).resolve().parents[3] / "examples" / "models"


@native
def turn(xc, torque, length, rates):
    rates[0] = xc[1]
    rates[1] = torque[0] * np.exp(-xc[0]) - 9.81 / length[0] * np.sin(xc[0])


@native
def slide(xc, torque, length, rates):
    rates[0] = xc[1]
    rates[1] = torque[0] - abs(xc[1] - 2.0) * length[0]


class Oscillator(LeafSystem):
    """Two states, an input and a parameter of a user's own functions."""

    def __init__(self, law=turn):
        super().__init__()
        self.DeclareContinuousState(BasicVector([0.3, -0.2]))
        self.DeclareVectorInputPort("torque", 1)
        self.DeclareNumericParameter(BasicVector([0.5]), name="length")
        self.DeclareTimeDerivatives(law)
        self.DeclareStateOutputPort("y", ContinuousStateIndex(0))


def limited():
    """The oscillator, whose torque is limited and also an output."""
    builder = DiagramBuilder()
    oscillator, limit = add(builder, "oscillator", Oscillator()), add(builder, "limit", Saturation([-1.0], [1.0]))
    both = add(builder, "both", Multiplexer([2, 1]))
    builder.ExportInput(limit.get_input_port(), "u")
    builder.Connect(limit.get_output_port(), oscillator.get_input_port())
    builder.Connect(oscillator.get_output_port(), both.get_input_port(0))
    builder.Connect(limit.get_output_port(), both.get_input_port(1))
    builder.ExportOutput(both.get_output_port(), "y")
    return builder.Build()


STATES = ["oscillator.x[0]", "oscillator.x[1]"]
OUTPUTS = ["y[0]", "y[1]", "y[2]"]


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def path(tmp_path_factory, request):
    path = tmp_path_factory.mktemp("fmu") / f"limited{request.param[0]}.fmu"
    ExportFmu(limited(), path, version=request.param)
    return path


def instance_of(path, torque):
    """An instance of FMPy for model exchange, in continuous time."""
    description = fmpy.read_model_description(str(path))
    folder = fmpy.extract(str(path))
    made = fmpy.instantiate_fmu(folder, description, "ModelExchange")
    numbers = {each.name: each.valueReference for each in description.modelVariables}
    is_old = description.fmiVersion == "2.0"
    if is_old:
        made.setupExperiment()
    made.enterInitializationMode()
    (made.setReal if is_old else made.setFloat64)([numbers["u"]], [torque])
    made.exitInitializationMode()
    (made.newDiscreteStates if is_old else made.updateDiscreteStates)()
    made.enterContinuousTimeMode()
    return made, numbers, is_old


@pytest.mark.parametrize("torque", [0.4, 3.0])  # within the limits, and beyond
def test_fmpy_gets_the_derivatives_of_linearize(path, torque):
    made, numbers, is_old = instance_of(path, torque)
    rows = [numbers[name] for name in (*(f"der({name})" for name in STATES), *OUTPUTS)]
    columns = []
    for known in [*STATES, "u"]:
        given = [rows, [numbers[known]], [1.0]]
        columns.append(made.getDirectionalDerivative(*given, *([] if is_old else [len(rows)])))
    diagram = limited()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [torque])
    model = FirstOrderTaylorApproximation(diagram, context)
    expected = np.block([[model.A(), model.B()], [model.C(), model.D()]])
    found = np.array(columns).T
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert expected[4, 2] == (1.0 if torque < 1.0 else 0.0)
    made.terminate()
    made.freeInstance()


def test_an_imported_unit_is_linearized_exactly(path):
    if path.name.endswith("3.fmu"):
        unit, diagram = FmuSystem(str(path), kind="me"), limited()
        models = []
        for system in (unit, diagram):
            context = system.CreateDefaultContext()
            system.get_input_port(0).FixValue(context, [0.4])
            outputs = [system.get_output_port(i).get_index() for i in range(system.num_output_ports())]
            models.append([FirstOrderTaylorApproximation(system, context, 0, i) for i in outputs])
        of_unit = np.vstack([model.C() for model in models[0]])
        assert of_unit == pytest.approx(models[1][0].C(), abs=1e-12)
        assert models[0][0].A() == pytest.approx(models[1][0].A(), abs=1e-12)
        assert models[0][0].B() == pytest.approx(models[1][0].B(), abs=1e-12)


def test_derivatives_by_parameters_and_along_a_direction(tmp_path):
    ExportFmu(Oscillator(), tmp_path / "one.fmu")
    instance = FmuFile(tmp_path / "one.fmu").co_simulation().start()
    number = instance.file.numbers
    unknowns = np.array([number["der(x[1])"]], np.uint32)
    knowns = np.array([number["length"], number["x[0]"], number["torque"]], np.uint32)
    seed, found = np.array([2.0, -1.0, 0.5]), np.zeros(1)
    assert instance.GetDirectionalDerivative(unknowns, 1, knowns, 3, seed, 3, found, 1) == OK
    partials = [9.81 / 0.25 * np.sin(0.3), -9.81 / 0.5 * np.cos(0.3), np.exp(-0.3)]
    assert found[0] == pytest.approx(seed @ partials, rel=1e-14)
    assert instance.GetDirectionalDerivative(knowns, 1, knowns, 1, seed, 1, found, 1) == ERROR
    assert "is no derivative or output" in instance.messages[-1]
    assert instance.GetDirectionalDerivative(unknowns, 1, unknowns, 1, seed, 1, found, 1) == ERROR
    assert "is no input, state or parameter" in instance.messages[-1]


def test_adjoint_derivatives_are_the_transposed_product(tmp_path):
    ExportFmu(limited(), tmp_path / "limited.fmu")
    file = FmuFile(tmp_path / "limited.fmu")
    kinds = [each for each in file.root if "modelIdentifier" in each.attrib]
    assert {each.get("providesAdjointDerivatives") for each in kinds} == {"true"}
    instance, number = file.model_exchange().start(), file.numbers
    unknowns = np.array([number[name] for name in (*(f"der({name})" for name in STATES), *OUTPUTS)], np.uint32)
    knowns = np.array([number[name] for name in (*STATES, "u", "oscillator.length")], np.uint32)
    m, n, found = len(unknowns), len(knowns), np.zeros((2, len(unknowns), len(knowns)))
    for k in range(n):
        column = np.zeros(m)
        assert instance.GetDirectionalDerivative(unknowns, m, knowns[k:], 1, np.ones(1), 1, column, m) == OK
        found[0, :, k] = column
    for k in range(m):
        seed = np.eye(m)[k].copy()
        assert instance.GetAdjointDerivative(unknowns, m, knowns, n, seed, m, found[1, k], n) == OK
    assert (found[0] == found[1]).all() and np.abs(found[0]).max() > 1.0
    weights, product = np.arange(1.0, m + 1.0), np.zeros(n)
    assert instance.GetAdjointDerivative(unknowns, m, knowns, n, weights, m, product, n) == OK
    assert product == pytest.approx(weights @ found[0], rel=1e-14)
    assert instance.GetAdjointDerivative(unknowns, m, knowns, n, weights, n, product, n) == ERROR


def test_derivatives_of_an_arm_are_those_of_linearize(tmp_path):
    arm = MultibodyPlant(0.0)
    Parser(arm).AddModels(str(MODELS / "arm7.urdf"))
    arm.Finalize()
    context, rng = arm.CreateDefaultContext(), np.random.default_rng(3)
    x, u = rng.uniform(-1.0, 1.0, 14), rng.uniform(-5.0, 5.0, 7)
    context.SetContinuousState(x)
    arm.get_actuation_input_port().FixValue(context, u)
    ports = arm.get_actuation_input_port(), arm.get_state_output_port()
    ExportFmu(arm, tmp_path / "arm.fmu", kinds=("me",), inputs=["actuation"], outputs=["state"], context=context)
    instance = FmuFile(tmp_path / "arm.fmu").model_exchange().start()
    names = [name for name in instance.file.numbers if name.startswith("der(")]
    unknowns = np.array([instance.file.numbers[name] for name in names], np.uint32)
    knowns = np.array([instance.file.numbers[name[4:-1]] for name in names], np.uint32)
    found = np.zeros((14, 14))
    for k in range(14):
        given = unknowns, 14, knowns[k:], 1, np.ones(1), 1
        assert instance.GetDirectionalDerivative(*given, found[k], 14) == OK
    model = FirstOrderTaylorApproximation(arm, context, ports[0].get_index(), ports[1].get_index())
    assert np.abs(found.T - model.A()).max() < 1e-12 * np.abs(model.A()).max()


def test_plants_that_may_touch_have_no_derivatives_and_are_named():
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    for body, shape in ((ball, Sphere(0.1)), (plant.world_body(), HalfSpace())):
        plant.RegisterCollisionGeometry(body, RigidTransform(), shape, "shape", CoulombFriction(1.0, 1.0))
    plant.Finalize()
    plant.set_name("plant")
    builder.ExportOutput(plant.get_state_output_port(), "x")
    diagram = builder.Build()
    slopes = Slopes(diagram, diagram.CreateDefaultContext(), [diagram.get_output_port()])
    assert slopes.operations is None and "::plant" in slopes.missing


def test_functions_that_drop_imaginary_parts_have_no_derivatives(tmp_path):
    """abs() of a complex number is its modulus: a wrong derivative must not leave."""
    ExportFmu(Oscillator(slide), tmp_path / "one.fmu")
    file = FmuFile(tmp_path / "one.fmu")
    assert {each.get("providesDirectionalDerivatives") for each in file.root if "modelIdentifier" in each.attrib} == {
        "false"
    }
    page = (tmp_path / "one" / "documentation" / "index.html").read_text()
    assert "Directional derivatives: none, because of a function that drops imaginary parts" in page
    instance = file.co_simulation().start()
    assert instance.GetDirectionalDerivative(None, 0, None, 0, None, 0, None, 0) == ERROR
    assert "has no directional derivatives" in instance.messages[-1]
