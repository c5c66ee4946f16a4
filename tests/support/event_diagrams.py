"""Diagrams with state events."""

from __future__ import annotations

import numpy as np

from merganser.framework import (
    BasicVector,
    DiagramBuilder,
    LeafSystem,
    UnrestrictedUpdateEvent,
    WitnessFunctionDirection,
)
from merganser.framework.native import native
from merganser.framework.primitives import (
    Gain,
    Integrator,
    Relay,
    Saturation,
    Sign,
    Sine,
)

GRAVITY, RESTITUTION = 9.81, 0.7


def add(builder, name, system):
    return builder.AddNamedSystem(name, system)


def relay_loop():
    """A limit cycle, whose steps end where a relay switches."""
    builder = DiagramBuilder()
    level, relay, back = Integrator(1), Relay([0.3], [-0.2], [1.0], [-1.5]), Gain(-1.0, 1)
    for system, name in ((level, "level"), (relay, "relay"), (back, "back")):
        add(builder, name, system)
    builder.Connect(level.get_output_port(), back.get_input_port())
    builder.Connect(back.get_output_port(), relay.get_input_port())
    builder.Connect(relay.get_output_port(), level.get_input_port())
    builder.ExportOutput(level.get_output_port(), "level")
    builder.ExportOutput(relay.get_output_port(), "relay")
    return builder.Build()


@native
def fall(xc, rates):
    rates[0], rates[1] = xc[1], -9.81


@native
def height(xc, above):
    above[0] = xc[0]


@native
def bounce(xc, xd, next_xc, next_xd0):
    next_xc[0], next_xc[1] = 0.0, -0.7 * xc[1]
    next_xd0[0] = xd[0] + 1.0


class Ball(LeafSystem):
    """A ball that falls and bounces, and how often it has."""

    def __init__(self, calc=height, update=bounce):
        super().__init__()
        state = self.DeclareContinuousState(BasicVector([1.0, 0.0]))
        self.DeclareStateOutputPort("x", state)
        self.DeclareStateOutputPort("count", self.DeclareDiscreteState(1))
        self.DeclareTimeDerivatives(fall)
        falls, event = WitnessFunctionDirection.kPositiveThenNonPositive, UnrestrictedUpdateEvent(update)
        self._floor = self.MakeWitnessFunction("floor", falls, calc, event)

    def DoGetWitnessFunctions(self, context):
        return [self._floor]


class Particular(Ball):
    """Looks for the floor as long as it falls."""

    def DoGetWitnessFunctions(self, context):
        return [self._floor] if context.get_continuous_state_vector()[1] < 0.0 else []


def height_in_python(context):
    return context.get_continuous_state_vector()[0]


def bounce_in_python(context, event, state):
    x = state.get_mutable_continuous_state().get_mutable_vector()
    x.SetFromVector([0.0, -RESTITUTION * x[1]])


def chattering():
    """y' = -sign(y) leads back to zero from either side; y is there after 0.5 s."""
    builder = DiagramBuilder()
    level, side, force = Integrator([0.5]), Sign(1), Gain(-1.0, 1)
    for system, name in ((level, "level"), (side, "side"), (force, "force")):
        add(builder, name, system)
    builder.Connect(level.get_output_port(), side.get_input_port())
    builder.Connect(side.get_output_port(), force.get_input_port())
    builder.Connect(force.get_output_port(), level.get_input_port())
    builder.ExportOutput(level.get_output_port(), "y")
    return builder.Build()


def height_at(time):
    """Of the ball, in closed form [m]."""
    speed = np.sqrt(2.0 * GRAVITY)
    start, speed = speed / GRAVITY, RESTITUTION * speed
    if time < start:
        return 1.0 - 0.5 * GRAVITY * time**2
    while time >= start + 2.0 * speed / GRAVITY:
        start, speed = start + 2.0 * speed / GRAVITY, RESTITUTION * speed
    return speed * (time - start) - 0.5 * GRAVITY * (time - start) ** 2


def saturating_integrator():
    """The integral of a sine that is cut off, y' = clip(2 sin t, -1, 1)."""
    builder = DiagramBuilder()
    sine, limit, integral = Sine(2.0, 1.0, 0.0, 1), Saturation([-1.0], [1.0]), Integrator(1)
    for system, name in ((sine, "sine"), (limit, "limit"), (integral, "integral")):
        add(builder, name, system)
    builder.Connect(sine.get_output_port(0), limit.get_input_port())
    builder.Connect(limit.get_output_port(), integral.get_input_port())
    builder.ExportOutput(integral.get_output_port(), "y")
    return builder.Build()


def integral_at(time):
    """Of the cut-off sine, in closed form; its halves cancel."""
    phase, corner = time % (2.0 * np.pi), np.pi / 6.0  # where 2 sin t = 1
    phase = min(phase, 2.0 * np.pi - phase)
    rise, flat = 2.0 * (1.0 - np.cos(corner)), np.pi - 2.0 * corner
    if phase < corner:
        return 2.0 * (1.0 - np.cos(phase))
    if phase < np.pi - corner:
        return rise + phase - corner
    return rise + flat + 2.0 * (np.cos(np.pi - corner) - np.cos(phase))
