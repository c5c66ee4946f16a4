"""Rows about diagrams and their simulation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from libraries import Library, Row

MU_STIFF = 1000.0
_MOST_BUILDS = 40


def hundred_loops(library: Library, is_fixed_step: bool) -> Callable[[], Any]:
    """One second of 100 integrators, each fed back through a gain, in 1000 fixed steps or to an accuracy of 1e-6."""
    builder = library.framework.DiagramBuilder()
    for i in range(100):
        integrator = builder.AddNamedSystem(f"integrator{i}", library.primitives.Integrator(1))
        gain = builder.AddNamedSystem(f"gain{i}", library.primitives.Gain(k=-1.0 - 0.01 * i, size=1))
        builder.Connect(integrator.get_output_port(), gain.get_input_port())
        builder.Connect(gain.get_output_port(), integrator.get_input_port())
    simulator = library.analysis.Simulator(builder.Build())
    integrator = simulator.get_mutable_integrator()
    if is_fixed_step:
        integrator.set_fixed_step_mode(True)
        integrator.set_maximum_step_size(1e-3)
    else:
        integrator.set_target_accuracy(1e-6)

    def second() -> Any:
        context = simulator.get_mutable_context()
        context.SetTimeAndContinuousState(0.0, np.ones(100))
        simulator.Initialize()
        simulator.AdvanceTo(1.0)
        return context.get_continuous_state_vector().CopyToVector()

    return second


def own_loop(library: Library, num_loops: int) -> Callable[[], Any]:
    """A thousand Euler steps of a program's own over integrators that are fed back through gains."""
    builder = library.framework.DiagramBuilder()
    for i in range(num_loops):
        integrator = builder.AddSystem(library.primitives.Integrator(1))
        gain = builder.AddSystem(library.primitives.Gain(k=-1.0 - 0.01 * i, size=1))
        builder.Connect(integrator.get_output_port(), gain.get_input_port())
        builder.Connect(gain.get_output_port(), integrator.get_input_port())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()

    def steps() -> Any:
        x = np.ones(num_loops)
        for step in range(1000):
            context.SetTime(1e-3 * step)
            context.SetContinuousState(x)
            x = x + 1e-3 * diagram.EvalTimeDerivatives(context).CopyToVector()
        return x

    return steps


def hold_and_log(library: Library, is_pid_from_library: bool) -> Callable[[], Any]:
    """10 s of a double integrator under a PID controller at 1 kHz with a hold; every sample is logged."""
    framework, primitives = library.framework, library.primitives
    builder = framework.DiagramBuilder()
    velocity = builder.AddNamedSystem("velocity", primitives.Integrator(1))
    position = builder.AddNamedSystem("position", primitives.Integrator(1))
    state = builder.AddNamedSystem("state", primitives.Multiplexer([1, 1]))
    target = builder.AddNamedSystem("target", primitives.ConstantVectorSource([1.0, 0.0]))
    hold = builder.AddNamedSystem("hold", primitives.ZeroOrderHold(1e-3, 1))
    if is_pid_from_library:
        pid = builder.AddNamedSystem("pid", library.controllers.PidController([10.0], [2.0], [5.0]))
    else:
        pid = builder.AddNamedSystem("pid", python_pid(library))
    builder.Connect(velocity.get_output_port(), position.get_input_port())
    builder.Connect(position.get_output_port(), state.get_input_port(0))
    builder.Connect(velocity.get_output_port(), state.get_input_port(1))
    builder.Connect(state.get_output_port(), pid.get_input_port(0))
    builder.Connect(target.get_output_port(), pid.get_input_port(1))
    builder.Connect(pid.get_output_port(0), hold.get_input_port())
    builder.Connect(hold.get_output_port(), velocity.get_input_port())
    sink = primitives.LogVectorOutput(state.get_output_port(), builder, 1e-3)
    simulator = library.analysis.Simulator(builder.Build())
    initial = simulator.get_context().Clone()

    def ten_seconds() -> Any:
        context = simulator.get_mutable_context()
        context.SetTimeStateAndParametersFrom(initial)
        sink.FindMutableLog(context).Clear()
        simulator.Initialize()
        simulator.AdvanceTo(10.0)
        return sink.FindLog(context).data()[:, ::1000].copy()

    return ten_seconds


def python_pid(library: Library) -> Any:
    """A PID controller as a user writes it: a plain Python block that samples at 1 kHz."""

    class Pid(library.framework.LeafSystem):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.DeclareVectorInputPort("state", 2)
            self.DeclareVectorInputPort("target", 2)
            self.DeclareDiscreteState(1)
            self.DeclarePeriodicDiscreteUpdateEvent(1e-3, 0.0, self.integrate)
            self.DeclareVectorOutputPort("command", 1, self.calc_command)

        def error(self, context: Any) -> Any:
            return self.get_input_port(1).Eval(context) - self.get_input_port(0).Eval(context)

        def integrate(self, context: Any, discrete_state: Any) -> None:
            integral = context.get_discrete_state(0).value()[0]
            discrete_state.set_value(0, [integral + 1e-3 * self.error(context)[0]])

        def calc_command(self, context: Any, output: Any) -> None:
            error = self.error(context)
            integral = context.get_discrete_state(0).value()[0]
            output.SetFromVector([10.0 * error[0] + 2.0 * integral + 5.0 * error[1]])

    return Pid()


def python_van_der_pol(library: Library, mu: float) -> Any:
    """The van der Pol oscillator as a user writes it."""

    class VanDerPol(library.framework.LeafSystem):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.DeclareContinuousState(2)

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            x = context.get_continuous_state_vector().CopyToVector()
            derivatives.get_mutable_vector().SetFromVector([x[1], mu * (1.0 - x[0] * x[0]) * x[1] - x[0]])

    return VanDerPol()


def native_van_der_pol(library: Library, mu: float) -> Any:
    """The block as a native one, which the other package does not have."""
    from merganser.framework.native import native

    class VanDerPol(library.framework.LeafSystem):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.DeclareContinuousState(2)
            self.DeclareNumericParameter(library.framework.BasicVector([mu]), name="mu")
            self.DeclareTimeDerivatives(native(_van_der_pol))

    return VanDerPol()


def _van_der_pol(xc, mu, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = xc[1]
    xdot[1] = mu[0] * (1.0 - xc[0] * xc[0]) * xc[1] - xc[0]


def van_der_pol(library: Library, make: Callable[[Library, float], Any], mu: float, end: float) -> Callable[[], Any]:
    """Runs a van der Pol oscillator: 1000 fixed RK3 steps for a small mu, Radau to 1e-6 for a stiff one."""
    system = make(library, mu)
    simulator = library.analysis.Simulator(system)
    if mu < MU_STIFF:
        integrator = simulator.get_mutable_integrator()
        integrator.set_fixed_step_mode(True)
        integrator.set_maximum_step_size(end / 1000)
    else:
        library.analysis.ResetIntegratorFromFlags(simulator, "radau3", 10.0)
        simulator.get_mutable_integrator().set_target_accuracy(1e-6)

    def advance() -> Any:
        context = simulator.get_mutable_context()
        context.SetTimeAndContinuousState(0.0, [2.0, 0.0])
        simulator.Initialize()
        simulator.AdvanceTo(end)
        return context.get_continuous_state_vector().CopyToVector()

    return advance


def chain(library: Library, num_blocks: int) -> Any:
    """A diagram of gains, one after the other."""
    builder = library.framework.DiagramBuilder()
    ports = []
    for i in range(num_blocks):
        gain = builder.AddNamedSystem(f"gain{i}", library.primitives.Gain(k=1.0, size=1))
        if ports:
            builder.Connect(ports[-1], gain.get_input_port())
        else:
            builder.ExportInput(gain.get_input_port(), "u")
        ports.append(gain.get_output_port())
    builder.ExportOutput(ports[-1], "y")
    return builder


def cached_value(library: Library) -> Callable[[], Any]:
    """Reads an output port whose value is up to date."""
    gain = library.primitives.Gain(k=2.0, size=3)
    context = gain.CreateDefaultContext()
    gain.get_input_port().FixValue(context, [1.0, 2.0, 3.0])
    port = gain.get_output_port()
    return lambda: port.Eval(context)


def build(library: Library, num_blocks: int) -> Callable[[], Any]:
    """Builds a diagram of blocks that were made and wired before."""
    builders = [chain(library, num_blocks) for _ in range(_MOST_BUILDS)]

    def build_next() -> None:
        builders.pop().Build()

    return build_next


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    def row(name: str, make: Callable[[Library], Callable[[], Any]], calls: int = 1, tolerance: float = 1e-8) -> Row:
        reference = None if theirs is None else functools.partial(make, theirs)
        return Row(name, functools.partial(make, ours), reference, calls, tolerance)

    def against_plain(
        name: str, system: Callable[[Library, float], Any], mu: float, end: float, tolerance: float
    ) -> Row:
        reference = None if theirs is None else functools.partial(van_der_pol, theirs, python_van_der_pol, mu, end)
        return Row(name, functools.partial(van_der_pol, ours, system, mu, end), reference, 1, tolerance)

    for name, is_fixed_step in (("1000 fixed steps", True), ("accuracy 1e-6", False)):
        make = functools.partial(hundred_loops, is_fixed_step=is_fixed_step)
        yield row(f"100 integrators with gains, RK3, {name}", make)
    for num in (2, 25):
        make = functools.partial(own_loop, num_loops=num)
        yield row(f"{num} integrators with gains, 1000 x EvalTimeDerivatives in a loop of one's own", make)
    yield row("double integrator, PID, hold, log: 10,000 ticks", lambda library: hold_and_log(library, True))
    yield row("the same, PID a plain Python block", lambda library: hold_and_log(library, False))
    yield against_plain("van der Pol, plain Python, 3000 evaluations", python_van_der_pol, 1.0, 10.0, 1e-8)
    yield against_plain("the same as a native block", native_van_der_pol, 1.0, 10.0, 1e-8)
    yield against_plain("van der Pol, mu = 1000, 2000 s, Radau 3, 1e-6", native_van_der_pol, MU_STIFF, 2000.0, 1e-4)
    yield row("port.Eval(context), up to date", cached_value, 1000)
    yield row("Build() of 500 blocks", lambda library: build(library, 500))
