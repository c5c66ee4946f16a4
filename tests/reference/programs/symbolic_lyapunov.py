"""A quadratic Lyapunov function of the reversed Van der Pol oscillator, its derivative as a polynomial."""

import numpy as np
import pydrake.symbolic as sym
from pydrake.math import RealContinuousLyapunovEquation
from pydrake.systems.analysis import Simulator
from pydrake.systems.primitives import SymbolicVectorSystem

x = sym.MakeVectorContinuousVariable(2, "x")
mu = sym.Variable("mu")
f = np.array([-x[1], x[0] + mu * (x[0] ** 2 - 1) * x[1]])

A = sym.Evaluate(sym.Jacobian(f, x), {x[0]: 0.0, x[1]: 0.0, mu: 1.0})
P = RealContinuousLyapunovEquation(A, np.eye(2))
V = sym.Polynomial(x @ P @ x, sym.Variables(x))
V_dot = V.Jacobian(x) @ [sym.Polynomial(each, sym.Variables(x)) for each in f]
assert V_dot.TotalDegree() == 4 and V_dot.decision_variables().include(mu)

rows = []
# On the ray x = r (cos a, sin a), V is r^2 V2, and its derivative r^2 D2 + r^4 D4.
for a in np.linspace(0.0, np.pi, 25):
    env = {x[0]: np.cos(a), x[1]: np.sin(a), mu: 1.0}
    by_degree = {2: 0.0, 4: 0.0}
    for monomial, coefficient in V_dot.monomial_to_coefficient_map().items():
        by_degree[monomial.total_degree()] += monomial.Evaluate(env) * coefficient.Evaluate(env)
    V2 = V.Evaluate({x[0]: np.cos(a), x[1]: np.sin(a)})
    level = np.inf if by_degree[4] <= 0.0 else -by_degree[2] / by_degree[4] * V2
    assert by_degree[2] < 0.0
    rows.append([V2, by_degree[2], by_degree[4], min(level, 1e3)])
rho = min(row[3] for row in rows)

# From the border of {V < 0.9 rho}, the oscillator comes to rest, and V falls.
system = SymbolicVectorSystem(state=x, dynamics=[sym.Substitute(f, mu, 1.0)[i] for i in range(2)])
for a in (0.3, 2.0):
    start = np.array([np.cos(a), np.sin(a)])
    start *= np.sqrt(0.9 * rho / (start @ P @ start))
    simulator = Simulator(system)
    simulator.get_mutable_context().SetContinuousState(start)
    simulator.get_mutable_integrator().set_target_accuracy(1e-10)
    values = []
    for t in (0.0, 2.0, 4.0, 6.0):
        simulator.AdvanceTo(t)
        values.append(V.Evaluate(dict(zip(x, simulator.get_context().get_continuous_state_vector().CopyToVector()))))
    assert (np.diff(values) < 0.0).all()
    rows.append(values)
quotient = sym.RationalFunction(V_dot, V)
rows.append([quotient.Evaluate({x[0]: 0.5, x[1]: -0.25, mu: 2.0}), rho, *P[0]])
np.savetxt("result.txt", np.array(rows))
