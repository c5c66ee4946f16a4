"""The dynamics of a continuous plant at many states and inputs, with slopes, on floats.

    xdot = f(x, u),   df/dx = [dqdot/dq, dqdot/dv; dvdot/dq, dvdot/dv],   df/du = dvdot/dtau B                  (1)

in closed form (chain_rules.py): what transcriptions of motions ask for thousands of times. An effort beyond its limit
has no slope. At a state beyond a limit of a joint, where springs push back, AutoDiffXd has to do it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.dynamics.step import SMALLEST_COSINE
from merganser.multibody.kernels.mobilizers import kinds_in
from merganser.multibody.plant.scalars.chain_rules import ChainRules, FloatModel

if TYPE_CHECKING:
    from merganser.framework import Context, InputPort
    from merganser.multibody.plant.step.dynamics import PlantDynamics

Array = NDArray[Any]


def linearized_motion(dynamics: PlantDynamics, context: Context, port: InputPort | None) -> LinearizedMotion | None:
    """What computes equation (1) as long as nothing but state and input changes in a Context; None if nothing does.

    There is nothing where more acts than gravity, damping and what comes through vector ports: contacts, springs,
    dry friction, PD controllers, constraints; nor where a mobilizer has no closed form.

    Args:
        dynamics: of a plant of floats.
        context: of it.
        port: through which u comes.
    """
    model, inputs = dynamics.model, dynamics.inputs
    acts = len(model.tree.elements) or len(model.contact.frictions) or inputs.actuators_in(context).controlled
    acts = acts or len(model.tree.transmissions)
    holds = dynamics.has_multipliers or dynamics.may_touch or dynamics.deformables is not None
    if model.is_discrete or acts or holds or inputs.has_objects(context):
        return None
    limits = model.contact.limits
    places = _actuators_of(dynamics, port)
    if places is None or (len(limits) and limits["num_v"].max() > 1):
        return None
    w = dynamics.views.workspace(context)
    if not w.is_float or any(kind.carries is None for kind in kinds_in(w.topology)):
        return None
    rules = ChainRules(FloatModel(w.topology, w.parameters.copy()), w.gravity.copy())
    return LinearizedMotion(rules, dynamics, context, port, places)


def _actuators_of(dynamics: PlantDynamics, port: InputPort | None) -> Array | None:
    """Which actuators a port drives; None if it takes no forces."""
    inputs, tree = dynamics.inputs, dynamics.model.tree
    if port is None or port is inputs.generalized_force:
        return np.zeros(0, np.int64)
    if port is inputs.actuation:
        return np.arange(len(inputs.driven_velocities))
    of_instance = next((i for i, candidate in inputs.driven_instances if candidate is port), None)
    return None if of_instance is None else tree.coordinates.inputs[of_instance]


class LinearizedMotion:
    """Equation (1), for states and inputs that are given.

    Args:
        rules: the dynamics on floats.
        dynamics, context, port: as `linearized_motion` takes them; what the other ports carry is read now.
        places: the actuators of the port.
    """

    def __init__(
        self, rules: ChainRules, dynamics: PlantDynamics, context: Context, port: InputPort | None, places: Array
    ) -> None:
        inputs, model = dynamics.inputs, dynamics.model
        self._rules, self._places, self._num_q = rules, places, model.tree.num_positions()
        self._driven, middles = inputs.driven_velocities, inputs.effort_middles()
        efforts = inputs.effort_limits[: len(middles)]
        self._lowest, self._highest = middles - efforts, middles + efforts
        limits = model.contact.limits
        self._limited, self._limits = limits["q"].copy(), (limits["lower"].copy(), limits["upper"].copy())
        self._pitches = list(model.pitch_indices)
        self._is_generalized = port is inputs.generalized_force
        self._u, self._tau = np.zeros(len(self._driven)), np.zeros(model.tree.num_velocities())
        self._B = np.zeros((len(self._u), len(self._tau)))  # tau of each actuator's effort
        self._B[np.arange(len(self._u)), self._driven] = 1.0

        def add(of: InputPort, target: Array, to: Any) -> None:
            value: Any = None if of is port else context.read_input(of.get_index())
            if value is not None:
                target[to] += value.value()

        add(inputs.actuation, self._u, slice(None))
        add(inputs.generalized_force, self._tau, slice(None))
        for instance, of_instance in inputs.driven_instances:
            add(of_instance, self._u, model.tree.coordinates.inputs[instance])

    def at(self, points: Array) -> tuple[Array, Array] | None:
        """f and its derivatives by [x; u] at N points, shapes [N, n] and [N, n, n + m]; None if AutoDiffXd is needed.

        Args:
            points: [x; u], shape [N, n + m].
        """
        n = self._num_q + len(self._tau)
        x, given = np.ascontiguousarray(points[:, :n]), points[:, n:]
        limited, (lower, upper) = x[:, self._limited], self._limits
        if ((limited < lower) | (limited > upper)).any():
            return None
        if self._pitches and (np.abs(np.cos(x[:, self._pitches])) < SMALLEST_COSINE).any():
            return None
        u = np.repeat(self._u[np.newaxis], len(x), axis=0)
        if not self._is_generalized:
            u[:, self._places] += given
        tau = self._tau + np.minimum(np.maximum(u, self._lowest), self._highest) @ self._B
        if self._is_generalized:
            tau += given
        status, xdot, by_x, by_tau = self._rules.slopes(x, tau)
        if status != 0:
            return None
        slopes = np.zeros((len(x), n, points.shape[1]))
        slopes[:, :, :n] = by_x
        if self._is_generalized:
            slopes[:, self._num_q :, n:] = by_tau
        else:
            is_within = (self._lowest <= u) & (u <= self._highest)
            of_efforts = (by_tau @ self._B.T) * is_within[:, np.newaxis]
            slopes[:, self._num_q :, n:] = of_efforts[:, :, self._places]
        return xdot, slopes
