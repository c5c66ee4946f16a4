"""Linear approximations of plants, alone and in diagrams, against those by differences of the floats."""

import numpy as np
import pytest
from plants import arm_and_box, no_actuation, pendulum, set_random_state

from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.primitives import Adder, FirstOrderTaylorApproximation, linearization
from merganser.framework.primitives.linearization import jacobian_of

DIFFERENCED = 1e-6  # of derivatives of size 100


def by_differences(approximate, monkeypatch):
    """The approximation if no Context of AutoDiffXd or of complex numbers serves."""

    def fail(*arguments):
        raise TypeError

    with monkeypatch.context() as patch:
        patch.setattr(linearization, "_by_autodiff", lambda *arguments: None)
        patch.setattr(linearization, "by_complex_step", fail)
        return approximate()


@pytest.mark.parametrize("make", [arm_and_box, lambda time_step: pendulum(time_step, motor=True)])
def test_plants_are_evaluated_once_with_all_derivatives(make, monkeypatch):
    plant = make(0.0)
    context = plant.CreateDefaultContext()
    set_random_state(plant, context, 3)
    no_actuation(plant, context)
    ports = plant.get_actuation_input_port().get_index(), plant.get_state_output_port().get_index()

    def approximate():
        return FirstOrderTaylorApproximation(plant, context, *ports)

    expected = by_differences(approximate, monkeypatch)
    monkeypatch.setattr(linearization, "jacobian_of", None)  # it is not called
    found = approximate()
    for matrix in ("A", "B", "C", "D", "f0", "y0"):
        mine, theirs = getattr(found, matrix)(), getattr(expected, matrix)()
        scale = max(1.0, np.abs(theirs).max(initial=0.0))
        np.testing.assert_allclose(mine, theirs, atol=DIFFERENCED * scale, err_msg=matrix)


class Regulator(LeafSystem):
    """u = -x0 + drop(x0), in Python."""

    def __init__(self, drop):
        super().__init__()
        self.drop = drop
        self.DeclareVectorInputPort("x", 2)
        self.DeclareVectorOutputPort("u", 1, self.calc)

    def calc(self, context, output):
        x = self.EvalVectorInput(context, 0)
        output.SetAtIndex(0, -3.0 * x[0] - 0.5 * self.drop(x[1]))


@pytest.mark.parametrize("drop", [lambda x: x, lambda x: x.real, abs], ids=["keeps", "drops", "kinks"])
def test_a_callback_that_drops_derivatives_is_noticed_in_the_loop_with_a_plant(drop, monkeypatch):
    builder = DiagramBuilder()
    plant = builder.AddSystem(pendulum(0.0, motor=True))
    regulator, adder = builder.AddSystem(Regulator(drop)), builder.AddSystem(Adder(2, 1))
    builder.Connect(plant.get_state_output_port(), regulator.get_input_port())
    builder.Connect(regulator.get_output_port(), adder.get_input_port(0))
    builder.Connect(adder.get_output_port(), plant.get_actuation_input_port())
    builder.ExportInput(adder.get_input_port(1), "u")
    builder.ExportOutput(plant.get_state_output_port(), "x")
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [0.1])
    plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(context), [0.4, 0.7])

    def approximate():
        return FirstOrderTaylorApproximation(diagram, context)

    expected, found = by_differences(approximate, monkeypatch), approximate()
    np.testing.assert_allclose(found.A(), expected.A(), atol=1e-6)
    np.testing.assert_allclose(found.B(), expected.B(), atol=1e-6)


def test_a_class_derived_from_a_plant_is_not_trusted(monkeypatch):
    calls = []
    monkeypatch.setattr(linearization, "jacobian_of", lambda *a: calls.append(1) or jacobian_of(*a))
    plant = pendulum(0.0, motor=True)
    context = plant.CreateDefaultContext()
    no_actuation(plant, context)
    port = plant.get_actuation_input_port().get_index()
    FirstOrderTaylorApproximation(plant, context, port, linearization.OutputPortSelection.kNoOutput)
    assert not calls
    monkeypatch.setattr(type(plant), "__module__", "elsewhere")
    FirstOrderTaylorApproximation(plant, context, port, linearization.OutputPortSelection.kNoOutput)
    assert calls
