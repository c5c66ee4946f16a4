"""Small systems for the tests of the framework; they count how often their outputs are computed."""

from __future__ import annotations

from collections import Counter

import numpy as np

from merganser.framework import BasicVector, LeafSystem, Value


class Scaled(LeafSystem):
    """y = factor * u; direct feedthrough, declared or to be learnt."""

    def __init__(self, size=1, factor=2.0, declared=False):
        super().__init__()
        self.factor = factor
        self.count = 0
        u = self.DeclareVectorInputPort("u", size)
        self.DeclareVectorOutputPort("y", size, self._calc, *([{u.ticket()}] if declared else []))

    def _calc(self, context, output):
        self.count += 1
        output.SetFromVector(self.factor * self.get_input_port().Eval(context))


class Sum(LeafSystem):
    """y = a + b."""

    def __init__(self, size=1):
        super().__init__()
        self.count = 0
        for name in "ab":
            self.DeclareVectorInputPort(name, size)
        self.DeclareVectorOutputPort("y", size, self._calc)

    def _calc(self, context, output):
        self.count += 1
        output.SetFromVector(self.GetInputPort("a").Eval(context) + self.GetInputPort("b").Eval(context))


class Accumulator(LeafSystem):
    """dx/dt = u, y = x: no feedthrough, which is not declared."""

    def __init__(self, size=1, start=0.0):
        super().__init__()
        self.count = 0
        self.DeclareVectorInputPort("u", size)
        self.DeclareContinuousState(BasicVector(np.full(size, start)))
        self.DeclareVectorOutputPort("y", size, self._calc)

    def _calc(self, context, output):
        self.count += 1
        output.SetFromVector(context.get_continuous_state_vector().CopyToVector())

    def DoCalcTimeDerivatives(self, context, derivatives):
        derivatives.SetFromVector(self.get_input_port().Eval(context))


class EachSource(LeafSystem):
    """One output for each kind of thing that a context holds, counted in `counts` under the name of the port.

    Continuous state (2, 1, 1), discrete groups of sizes 1 and 2, two abstract states, two numeric parameters,
    two abstract parameters, inputs u and w. With `declared`, outputs say what they read; else one watches.
    """

    def __init__(self, declared):
        super().__init__()
        self.counts = Counter()
        u, w = self.DeclareVectorInputPort("u", 1), self.DeclareVectorInputPort("w", 1)
        self.DeclareContinuousState(2, 1, 1)
        d0, d1 = self.DeclareDiscreteState([1.0]), self.DeclareDiscreteState([2.0, 3.0])
        a0, a1 = self.DeclareAbstractState(Value("a0")), self.DeclareAbstractState(Value("a1"))
        p0 = self.DeclareNumericParameter(BasicVector([5.0]))
        p1 = self.DeclareNumericParameter(BasicVector([6.0]))
        q0, q1 = self.DeclareAbstractParameter(Value("q0")), self.DeclareAbstractParameter(Value("q1"))
        reads = {
            "time": (self.time_ticket(), lambda c: c.get_time()),
            "accuracy": (self.accuracy_ticket(), lambda c: c.get_accuracy()),
            "xc": (self.xc_ticket(), lambda c: c.get_continuous_state_vector().CopyToVector()),
            "xd0": (self.discrete_state_ticket(d0), lambda c: c.get_discrete_state(0).CopyToVector()),
            "xd1": (self.discrete_state_ticket(d1), lambda c: c.get_discrete_state(1).CopyToVector()),
            "xa0": (self.abstract_state_ticket(a0), lambda c: c.get_abstract_state(0).get_value()),
            "xa1": (self.abstract_state_ticket(a1), lambda c: c.get_abstract_state(1).get_value()),
            "pn0": (self.numeric_parameter_ticket(p0), lambda c: c.get_numeric_parameter(0).CopyToVector()),
            "pn1": (self.numeric_parameter_ticket(p1), lambda c: c.get_numeric_parameter(1).CopyToVector()),
            "pa0": (self.abstract_parameter_ticket(q0), lambda c: c.get_abstract_parameter(0).get_value()),
            "pa1": (self.abstract_parameter_ticket(q1), lambda c: c.get_abstract_parameter(1).get_value()),
            "u": (u.ticket(), lambda c: u.Eval(c)),
            "w": (w.ticket(), lambda c: w.Eval(c)),
            "nothing": (self.nothing_ticket(), lambda c: 1),
        }
        for name, (ticket, read) in reads.items():
            prerequisites = [{ticket}] if declared else []
            self.DeclareAbstractOutputPort(name, lambda: Value(None), self._calc(name, read), *prerequisites)

    def _calc(self, name, read):
        def calc(context, output):
            self.counts[name] += 1
            output.set_value(read(context))

        return calc

    def DoCalcTimeDerivatives(self, context, derivatives):
        derivatives.SetFromVector(np.zeros(4))

    def default_context(self):
        """A context with both inputs fixed and all outputs computed."""
        context = self.CreateDefaultContext()
        for port in self._sys_input_ports:
            port.FixValue(context, 0.0)
        self.recomputed(context)
        return context

    def recomputed(self, context):
        """Evaluates all outputs; returns the names of those that were computed for it."""
        self.counts.clear()
        for index in range(self.num_output_ports()):
            self.get_output_port(index).Eval(context)
        return set(self.counts)
