"""Constraints of leaf systems and of the Diagrams around them."""

import numpy as np
import pytest

from merganser.framework import BasicVector, DiagramBuilder, LeafSystem, SystemConstraintBounds


class OnCircle(LeafSystem):
    """A point with |x| = 1 and 0 <= x[1] <= 0.5."""

    def __init__(self):
        super().__init__()
        self.DeclareContinuousState(BasicVector([1.0, 0.0]))
        self.circle = self.DeclareEqualityConstraint(self._circle, 1, "on the unit circle")
        self.strip = self.DeclareInequalityConstraint(self._strip, SystemConstraintBounds([0.0], [0.5]), "in a strip")

    def _circle(self, context, value):
        value[0] = np.sum(context.get_continuous_state_vector().CopyToVector() ** 2) - 1.0

    def _strip(self, context, value):
        value[0] = context.get_continuous_state_vector()[1]


def test_constraints_are_satisfied_within_the_tolerance():
    system = OnCircle()
    context = system.CreateDefaultContext()
    for state, satisfied in [
        ([1.0, 0.0], True), ([0.0, 1.0], False), ([1.0 + 1e-7, 0.0], True), ([1.1, 0.0], False), ([np.nan, 0.0], False),
    ]:  # fmt: skip
        context.SetContinuousState(state)
        assert system.CheckSystemConstraintsSatisfied(context, 1e-6) is satisfied
    circle, strip = system.get_constraint(system.circle), system.get_constraint(system.strip)
    assert circle.is_equality_constraint() and not strip.is_equality_constraint()
    assert (circle.description(), strip.size()) == ("on the unit circle", 1)


def test_diagram_has_the_constraints_of_its_subsystems():
    builder = DiagramBuilder()
    first, second = builder.AddNamedSystem("first", OnCircle()), builder.AddNamedSystem("second", OnCircle())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    assert diagram.num_constraints() == 4 and diagram.get_constraint(2).get_system() is second
    assert diagram.CheckSystemConstraintsSatisfied(context, 0.0)
    second.GetMyContextFromRoot(context).SetContinuousState([2.0, 0.0])
    assert [diagram.get_constraint(i).Calc(context)[0] for i in range(4)] == [0.0, 0.0, 3.0, 0.0]
    assert not diagram.CheckSystemConstraintsSatisfied(context, 1.0)
    assert first.get_constraint(0).CheckSatisfied(first.GetMyContextFromRoot(context), 0.0)
    copied = diagram.Clone()
    assert copied.get_constraint(2).Calc(copied.CreateDefaultContext()) == [0.0]


def test_bad_constraints_are_refused():
    system = OnCircle()
    with pytest.raises(IndexError, match="no constraint 2: it has 2"):
        system.get_constraint(2)
    with pytest.raises(ValueError, match="each lower bound at most"):
        SystemConstraintBounds([1.0], [0.0])
    with pytest.raises(ValueError, match="give a lower bound"):
        SystemConstraintBounds(None, None)
    with pytest.raises(TypeError, match="'odd' of system '::OnCircle': calc must be callable"):
        system.DeclareEqualityConstraint(None, 1, "odd")
