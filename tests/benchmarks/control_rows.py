"""Rows about diagrams of a control engineer, with corners, delays and tables: beside PathSim, in one process.

Both use the formula of Bogacki and Shampine with the same tolerance. Each call advances by the same time; the states
after the first call are compared. PathSim smooths backlash and rate limits by a fast lag, and steps over corners of
tables and dead zones, so that tolerances of these rows are wide. Of filtered noise, whose paths differ, the mean square
over the time is compared: the variance, of which 50 s give either one to 5 percent.

    python tests/benchmarks/control_rows.py [--only PATTERN]

prints for each diagram processor time and ratios; and beside jaxonomy, if that is installed, its time to compile apart.
Jaxonomy's formula is of order 5: its ratio is that to ours with one of order 5, too.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from libraries import Library, Row, merganser_library

from merganser.framework.native import native
from merganser.framework.symbolic import Variable

TOLERANCE, LONGEST_STEP, SHARPNESS = 1e-6, 0.1, 1e3  # the last one is the bandwidth of PathSim's smooth blocks
SPEEDS, TORQUES = [0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 1.4, 1.2, 0.7, 0.0]
GRAVITY, RESTITUTION = 9.81, 0.99
RATIOS, UPWARD, DOWNWARD = [4.0, 2.0, 1.0], [6.0, 9.0, 1e9], [-1e9, 4.0, 7.0]  # of gears, and where they shift
DENSITY, SAMPLING, LAG, NOISE_DURATION = 1.0, 0.02, 0.05, 50.0  # of noise and its filter

# ---------------------------------------------------------------------- this package


@native
def fall(xc: Any, xcdot: Any) -> None:
    xcdot[0], xcdot[1] = xc[1], -9.81


@native
def height(xc: Any, w: Any) -> None:
    w[0] = xc[0]


def connected(library: Library, links: Sequence[Sequence[Any]]) -> Any:
    """A simulator of blocks, and of links: each begins with its block; inputs come from what follows, in order.

    That is a block, for its first output port, or an output port.
    """
    builder = library.framework.DiagramBuilder()
    for block, *_ in links:
        builder.AddSystem(block)
    for block, *sources in links:
        for number, source in enumerate(sources):
            output = source if isinstance(source, library.framework.OutputPort) else source.get_output_port(0)
            builder.Connect(output, block.get_input_port(number))
    simulator = library.analysis.Simulator(builder.Build())
    integrator = simulator.get_mutable_integrator()
    integrator.set_target_accuracy(TOLERANCE)
    integrator.set_maximum_step_size(LONGEST_STEP)
    return simulator


def our_relay(library: Library) -> Any:
    p = library.primitives
    relay, lag, plant = p.Relay(0.1, -0.1, -1.0, 1.0), p.TransferFunction([1.0], [0.5, 1.0]), p.Integrator(1)
    return connected(library, [(relay, plant), (lag, relay), (plant, lag)])


def our_backlash(library: Library) -> Any:
    p = library.primitives
    gap, wave, sum_of = p.Backlash(0.5), p.Sine(2.0, 1.0, 0.0, 1), p.Integrator(1)
    return connected(library, [(wave,), (gap, wave), (sum_of, gap)])


def our_limiter(library: Library) -> Any:
    p = library.primitives
    limiter, wave, sum_of = p.RateLimiter(1.0, 1.0, 0.0), p.Sine(2.0, 1.0, 0.0, 1), p.Integrator(1)
    return connected(library, [(wave,), (limiter, wave), (sum_of, limiter)])


def our_delay(library: Library) -> Any:
    p = library.primitives
    delay, gain, plant = p.TransportDelay(0.5), p.Gain(-2.0, 1), p.Integrator([1.0])
    return connected(library, [(delay, plant), (gain, delay), (plant, gain)])


def our_thermostat(library: Library, switch: Any = None, power: Any = None) -> Any:
    p = library.primitives
    switch = switch or p.Relay(21.0, 19.0, 0.0, 6.0)
    power = power or switch
    room, outside = p.Integrator([15.0]), p.ConstantVectorSource([2.0])
    loss, total = p.Gain(-0.2, 1), p.Adder(3, 1)
    return connected(library, [(outside,), (switch, room), (loss, room), (total, power, loss, outside), (room, total)])


def our_gearbox(library: Library) -> Any:
    p = library.primitives
    torque, motor_speed, motor, load_speed, load = (
        p.Sine(1.0, 1.0, 0.0, 1), p.Integrator(1), p.Integrator(1), p.Integrator(1), p.Integrator(1)
    )  # fmt: skip
    back, gap, stiffness, drag = p.Gain(-1.0, 1), p.DeadZone(-0.05, 0.05), p.Gain(40.0, 1), p.Gain(-2.0, 1)
    friction = p.Gain(-2.0, 1)
    difference, reaction, at_motor, at_load = p.Adder(2, 1), p.Gain(-1.0, 1), p.Adder(3, 1), p.Adder(2, 1)
    return connected(library, [
        (torque,), (motor_speed, at_motor), (motor, motor_speed), (load_speed, at_load), (load, load_speed),
        (back, load), (difference, motor, back), (gap, difference), (stiffness, gap), (reaction, stiffness),
        (drag, load_speed), (friction, motor_speed), (at_motor, torque, reaction, friction), (at_load, stiffness, drag),
    ])  # fmt: skip


def our_sampled_pid(library: Library) -> Any:
    p = library.primitives
    wanted, plant = p.ConstantVectorSource([1.0]), p.TransferFunction([1.0], [0.5, 1.2, 1.0])
    sample, back, error = p.ZeroOrderHold(0.05, 1), p.Gain(-1.0, 1), p.Adder(2, 1)
    parts = p.Gain(1.5, 1), p.TransferFunction([1.0], [1.0, 0.0]), p.TransferFunction([0.3, 0.0], [0.05, 1.0])
    total, delay = p.Adder(3, 1), p.TransportDelay(0.1)
    links: list[Sequence[Any]] = [(wanted,), (plant, delay), (sample, plant), (back, sample), (error, wanted, back)]
    return connected(library, [*links, *((part, error) for part in parts), (total, *parts), (delay, total)])


def our_motor(library: Library) -> Any:
    p = library.primitives
    command, table, speed = p.Sine(0.5, 2.0, 0.0, 1), p.LookupTable1D(SPEEDS, TORQUES), p.Integrator(1)
    drag, total = p.Gain(-0.2, 1), p.Adder(3, 1)
    links = [(command,), (table, speed), (drag, speed), (total, command, table, drag), (speed, total)]
    return connected(library, links)


def our_ball(library: Library) -> Any:
    """A ball, native but for the bounce, and a counter of its bounces."""
    framework = library.framework

    class Ball(framework.LeafSystem):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            state = self.DeclareContinuousState(framework.BasicVector([1.0, 0.0]), 1, 1, 0)
            self.DeclareStateOutputPort("height", state)
            self.DeclareTimeDerivatives(fall)
            falls = framework.WitnessFunctionDirection.kPositiveThenNonPositive
            event = framework.UnrestrictedUpdateEvent(system_callback=Ball._bounce)
            self._floor = self.MakeWitnessFunction("floor", falls, height, event)

        def _bounce(self, context: Any, event: Any, state: Any) -> None:
            x = state.get_mutable_continuous_state().get_mutable_vector()
            x.SetAtIndex(1, -RESTITUTION * x.GetAtIndex(1))

        def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
            return [self._floor]

    p = library.primitives
    ball, part, counter = Ball(), p.Demultiplexer(2, 1), p.DetectCrossing("falling")
    return connected(library, [(ball,), (part, ball), (counter, part)])


def our_machine(library: Library) -> Any:
    """The thermostat with a state machine in place of the relay; PathSim's is the same for both."""
    p = library.primitives
    machine = p.StateMachine("heater", inputs={"temperature": 1}, outputs={"power": 1})
    heating = machine.AddState("heating", initial=True, outputs={"power": 6.0})
    idle = machine.AddState("idle", outputs={"power": 0.0})
    machine.AddTransition(heating, idle, when=p.Guard.at_least("temperature", 21.0))
    machine.AddTransition(idle, heating, when=p.Guard.at_most("temperature", 19.0))
    machine.Finalize()
    return our_thermostat(library, machine, machine.GetOutputPort("power"))


def our_gears(library: Library) -> Any:
    """A car whose gears shift by themselves, as a state machine with states in a state."""
    p = library.primitives
    machine = p.StateMachine("gears", inputs={"speed": 1}, outputs={"ratio": 1})
    drive = machine.AddState("drive", initial=True)
    gears = [
        machine.AddState(f"gear {n}", parent=drive, initial=n == 0, outputs={"ratio": ratio})
        for n, ratio in enumerate(RATIOS)
    ]
    for low, high, up, down in zip(gears, gears[1:], UPWARD, DOWNWARD[1:]):
        machine.AddTransition(low, high, when=p.Guard.at_least("speed", up))
        machine.AddTransition(high, low, when=p.Guard.at_most("speed", down))
    machine.Finalize()
    throttle, pull, speed = p.Sine(1.0, 0.5, 0.0, 1), p.Multiplexer([1, 1]), p.Integrator(1)
    a, b = Variable("a"), Variable("b")
    force, drag, total = p.SymbolicVectorSystem(input=[a, b], output=[(1.0 + a) * b]), p.Gain(-0.2, 1), p.Adder(2, 1)
    return connected(library, [
        (machine, speed), (throttle,), (pull, throttle, machine.GetOutputPort("ratio")), (force, pull), (drag, speed),
        (total, force, drag), (speed, total),
    ])  # fmt: skip


def our_noise(library: Library) -> Any:
    p, u = library.primitives, Variable("u")
    noise, lag = p.BandLimitedWhiteNoise(DENSITY, SAMPLING, seed=1), p.TransferFunction([1.0], [LAG, 1.0])
    square = p.SymbolicVectorSystem(input=[u], output=[u * u / NOISE_DURATION])
    mean = p.Integrator(1)
    return connected(library, [(noise,), (lag, noise), (square, lag), (mean, square)])


# ---------------------------------------------------------------------- PathSim


def chain(links: Sequence[Sequence[Any]], events: Sequence[Any] = ()) -> Any:
    """The same links for PathSim."""
    from pathsim import Connection, Simulation
    from pathsim.solvers import RKBS32

    lines = [Connection(source, block[number]) for block, *sources in links for number, source in enumerate(sources)]
    return Simulation(
        [block for block, *_ in links], lines, events, dt=0.01, dt_max=LONGEST_STEP, Solver=RKBS32, log=False,
        tolerance_lte_abs=TOLERANCE, tolerance_lte_rel=TOLERANCE,
    )  # fmt: skip


def their_simulation(name: str) -> tuple[Any, list[Any]]:
    """A simulation, and the blocks whose outputs are compared."""
    from pathsim import blocks as b
    from pathsim.events import ZeroCrossingDown, ZeroCrossingUp

    integrators = [b.Integrator(0.0) for _ in range(4)]
    plant = integrators[0]
    if name == "relay oscillator":
        relay, lag = b.Relay(0.1, -0.1, -1.0, 1.0), b.TransferFunctionNumDen([1.0], [0.5, 1.0])
        return chain([(relay, plant), (lag, relay), (plant, lag)]), [plant]
    if name in ("backlash", "rate limiter"):
        block = b.Backlash(0.5, SHARPNESS) if name == "backlash" else b.RateLimiter(1.0, SHARPNESS)
        wave = b.Source(lambda t: 2.0 * np.sin(t))
        return chain([(wave,), (block, wave), (plant, block)]), [plant]
    if name == "delayed feedback":
        delay, gain, plant = b.Delay(0.5), b.Amplifier(-2.0), b.Integrator(1.0)
        return chain([(delay, plant), (gain, delay), (plant, gain)]), [plant]
    if name.startswith("thermostat"):
        switch, room, outside = b.Relay(21.0, 19.0, 0.0, 6.0), b.Integrator(15.0), b.Constant(2.0)
        loss, total = b.Amplifier(-0.2), b.Adder()
        return chain(
            [(outside,), (switch, room), (loss, room), (total, switch, loss, outside), (room, total)]
        ), [room]
    if name == "gearbox":
        torque, gap, stiffness, drag, friction = (
            b.Source(np.sin), b.Deadband(-0.05, 0.05), b.Amplifier(40.0), b.Amplifier(-2.0), b.Amplifier(-2.0)
        )  # fmt: skip
        difference, at_motor, at_load = b.Adder("+-"), b.Adder("+-+"), b.Adder()
        motor_speed, motor, load_speed, load = integrators
        return chain([
            (torque,), (motor_speed, at_motor), (motor, motor_speed), (load_speed, at_load), (load, load_speed),
            (difference, motor, load), (gap, difference), (stiffness, gap), (drag, load_speed),
            (friction, motor_speed), (at_motor, torque, stiffness, friction), (at_load, stiffness, drag),
        ]), integrators  # fmt: skip
    if name == "sampled PID with a delay":
        wanted, dynamics = b.Constant(1.0), b.TransferFunctionNumDen([1.0], [0.5, 1.2, 1.0])
        sample, error, total, delay = b.SampleHold(0.05), b.Adder("+-"), b.Adder(), b.Delay(0.1)
        parts = b.Amplifier(1.5), b.Integrator(0.0), b.TransferFunctionNumDen([0.3, 0.0], [0.05, 1.0])
        links: list[Sequence[Any]] = [(wanted,), (dynamics, delay), (sample, dynamics), (error, wanted, sample)]
        return chain([*links, *((part, error) for part in parts), (total, *parts), (delay, total)]), [parts[1]]
    if name == "map of a motor":
        command, table = b.Source(lambda t: 0.5 * np.sin(2.0 * t)), b.LUT1D(np.array(SPEEDS), np.array(TORQUES))
        drag, total = b.Amplifier(-0.2), b.Adder()
        return chain(
            [(command,), (table, plant), (drag, plant), (total, command, table, drag), (plant, total)]
        ), [plant]
    if name == "filtered noise":
        noise = b.WhiteNoise(spectral_density=DENSITY, sampling_period=SAMPLING, seed=1)
        lag, square = b.TransferFunctionNumDen([1.0], [LAG, 1.0]), b.Function(lambda x: x * x / NOISE_DURATION)
        return chain([(noise,), (lag, noise), (square, lag), (plant, square)]), [plant]
    if name == "gears as a state machine":
        gear, drag, total = [0], b.Amplifier(-0.2), b.Adder()
        force = b.Source(lambda t: (1.0 + np.sin(0.5 * t)) * RATIOS[gear[0]])

        def shift(by: int) -> Callable[[float], None]:
            return lambda t: gear.__setitem__(0, gear[0] + by)

        def above(levels: Sequence[float]) -> Callable[[float], float]:
            return lambda t: plant.engine.state.item() - levels[gear[0]]

        upward = ZeroCrossingUp(above(UPWARD), shift(1), tolerance=1e-9)
        downward = ZeroCrossingDown(above(DOWNWARD), shift(-1), tolerance=1e-9)
        return chain([(force,), (drag, plant), (total, force, drag), (plant, total)], [upward, downward]), [plant]
    gravity, speed, position = b.Constant(-GRAVITY), b.Integrator(0.0), b.Integrator(1.0)

    def bounce(t: float) -> None:
        position.engine.set(abs(position.engine.state))
        speed.engine.set(-RESTITUTION * speed.engine.state)

    floor = ZeroCrossingDown(lambda t: position.engine.state.item(), bounce, tolerance=1e-9)
    return chain([(gravity,), (speed, gravity), (position, speed)], [floor]), [position]


# ---------------------------------------------------------------------- rows


class Diagram(NamedTuple):
    """One diagram.

    Attributes:
        ours: makes a simulator.
        states: which states are compared.
        duration: of one call [s].
        tolerance: to which both must agree.
    """

    ours: Callable[[Library], Any]
    states: Sequence[int]
    duration: float
    tolerance: float


DIAGRAMS = {
    "relay oscillator": Diagram(our_relay, [1], 20.0, 1e-3),
    "backlash": Diagram(our_backlash, [0], 20.0, 2e-2),
    "rate limiter": Diagram(our_limiter, [0], 20.0, 2e-2),
    "delayed feedback": Diagram(our_delay, [0], 20.0, 1e-2),
    "thermostat": Diagram(our_thermostat, [0], 40.0, 1e-3),
    "gearbox": Diagram(our_gearbox, [0, 1, 2, 3], 20.0, 1e-3),
    "sampled PID with a delay": Diagram(our_sampled_pid, [2], 4.0, 1e-3),
    "map of a motor": Diagram(our_motor, [0], 20.0, 1e-3),
    "ball with a counter": Diagram(our_ball, [0], 5.0, 1e-3),
    "thermostat as a state machine": Diagram(our_machine, [0], 40.0, 1e-3),
    "gears as a state machine": Diagram(our_gears, [0], 40.0, 1e-3),
    "filtered noise": Diagram(our_noise, [1], NOISE_DURATION, 0.2),
}


def advance_ours(library: Library, diagram: Diagram, scheme: str = "") -> Callable[[], Any]:
    simulator = diagram.ours(library)
    if scheme:
        integrator = library.analysis.ResetIntegratorFromFlags(simulator, scheme, LONGEST_STEP)
        integrator.set_target_accuracy(TOLERANCE)
    simulator.Initialize()
    context = simulator.get_context()

    def advance() -> Any:
        simulator.AdvanceTo(context.get_time() + diagram.duration)
        return context.get_continuous_state_vector().CopyToVector()

    return advance


def advance_theirs(name: str, duration: float) -> Callable[[], Any]:
    simulation, blocks = their_simulation(name)

    def advance() -> Any:
        simulation.run(duration, reset=False, adaptive=True)
        return np.array([float(np.ravel(block.outputs.to_array())[0]) for block in blocks])

    return advance


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """The reference is PathSim, not pydrake."""
    has_pathsim = importlib.util.find_spec("pathsim") is not None
    for name, diagram in DIAGRAMS.items():
        yield Row(
            f"control diagram: {name}, {diagram.duration:.0f} s",
            lambda diagram=diagram: advance_ours(ours, diagram),
            (lambda name=name, diagram=diagram: advance_theirs(name, diagram.duration)) if has_pathsim else None,
            calls=1,
            tolerance=diagram.tolerance,
        )


# ---------------------------------------------------------------------- jaxonomy


def jaxonomy_simulation(name: str) -> tuple[Any, list[Any]]:
    """A diagram, and the blocks whose outputs are compared; its delays, backlash and rate limiters are sampled."""
    import jaxonomy
    from jaxonomy import library as b

    builder, links, found = jaxonomy.DiagramBuilder(), [], []
    if name == "relay oscillator":
        plant, lag = b.Integrator(0.0, name="plant"), b.TransferFunction([1.0], [0.5, 1.0], name="lag")
        relay = b.Relay(0.1, -0.1, -1.0, 1.0, 1.0, name="relay")
        links, found = [(relay, plant), (lag, relay), (plant, lag)], [plant]
    elif name.startswith("thermostat"):
        switch, room = b.Relay(21.0, 19.0, 0.0, 6.0, 6.0, name="switch"), b.Integrator(15.0, name="room")
        if name != "thermostat":
            switch = jaxonomy_machine()
        outside, loss, total = b.Constant(2.0, name="outside"), b.Gain(-0.2, name="loss"), b.Adder(3, name="total")
        links, found = [(outside,), (switch, room), (loss, room), (total, switch, loss, outside), (room, total)], [room]
    elif name == "gearbox":
        torque, gap = b.Sine(1.0, 1.0, name="torque"), b.DeadZone(0.05, output_shifted=True, name="gap")
        found = [b.Integrator(0.0, name=f"integral{k}") for k in range(4)]
        motor_speed, motor, load_speed, load = found
        gains = [b.Gain(k, name=f"gain{n}") for n, k in enumerate((40.0, -2.0, -2.0, -1.0, -1.0))]
        stiffness, drag, friction, reaction, back = gains
        difference, at_motor, at_load = (b.Adder(n, name=f"sum{k}") for k, n in enumerate((2, 3, 2)))
        links = [
            (torque,), (motor_speed, at_motor), (motor, motor_speed), (load_speed, at_load), (load, load_speed),
            (back, load), (difference, motor, back), (gap, difference), (stiffness, gap), (reaction, stiffness),
            (drag, load_speed), (friction, motor_speed), (at_motor, torque, reaction, friction),
            (at_load, stiffness, drag),
        ]  # fmt: skip
    elif name == "sampled PID with a delay":
        wanted, dynamics = b.Constant(1.0, name="wanted"), b.TransferFunction([1.0], [0.5, 1.2, 1.0], name="plant")
        sample, error = b.ZeroOrderHold(0.05, name="sample"), b.Adder(2, operators="+-", name="error")
        total, delay = b.Adder(3, name="total"), b.TransportDelay(0.01, 0.1, name="delay")
        derivative = b.TransferFunction([0.3, 0.0], [0.05, 1.0], name="d")
        parts = b.Gain(1.5, name="p"), b.Integrator(0.0, name="i"), derivative
        links = [(wanted,), (dynamics, delay), (sample, dynamics), (error, wanted, sample)]
        links, found = [*links, *((part, error) for part in parts), (total, *parts), (delay, total)], [parts[1]]
    elif name == "map of a motor":
        command, speed = b.Sine(0.5, 2.0, name="command"), b.Integrator(0.0, name="speed")
        table = b.LookupTable1d(np.array(SPEEDS), np.array(TORQUES), "linear", name="table")
        drag, total = b.Gain(-0.2, name="drag"), b.Adder(3, name="total")
        links = [(command,), (table, speed), (drag, speed), (total, command, table, drag), (speed, total)]
        found = [speed]
    for block, *_ in links:
        builder.add(block)
    for block, *sources in links:
        for number, source in enumerate(sources):
            builder.connect(source.output_ports[0], block.input_ports[number])
    return builder.build(), found


JAXONOMY_DIAGRAMS = (
    "relay oscillator", "thermostat", "gearbox", "sampled PID with a delay", "map of a motor",
    "thermostat as a state machine",
)  # fmt: skip


def jaxonomy_machine() -> Any:
    from jaxonomy.framework.state_machine_builder import StateMachineBuilder

    machine = StateMachineBuilder()
    heating, idle = machine.add_state("heating"), machine.add_state("idle")
    heating.on_entry, idle.on_entry = ["power = 6.0"], ["power = 0.0"]
    machine.set_initial_state(heating)
    machine.add_transition(heating, idle, "temperature >= 21.0")
    machine.add_transition(idle, heating, "temperature <= 19.0")
    return machine.build("machine")


def advance_jaxonomy(name: str, duration: float) -> Callable[[], Any]:
    """A call simulates from the beginning; the first one compiles."""
    import jaxonomy

    diagram, blocks = jaxonomy_simulation(name)
    context = diagram.create_context()
    options = jaxonomy.SimulatorOptions(
        rtol=TOLERANCE, atol=TOLERANCE, max_minor_step_size=LONGEST_STEP, max_major_step_length=duration
    )

    def advance() -> Any:
        end = jaxonomy.simulate(diagram, context, (0.0, duration), options=options).context
        return np.array([float(block.output_ports[0].eval(end)) for block in blocks])

    return advance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="PATTERN", help="diagrams whose name this expression finds")
    pattern = parser.parse_args().only
    logging.disable(logging.WARNING)
    ours = merganser_library()
    others: dict[str, Callable[[str, float], Callable[[], Any]]] = {"PathSim": advance_theirs}
    if importlib.util.find_spec("jaxonomy") is not None:
        others["jaxonomy"] = advance_jaxonomy
    print(f"{'diagram':30s} {'merganser':>12s}   others: first call, later calls, ratio, largest difference")
    for name, diagram in DIAGRAMS.items():
        if not re.search(pattern, name):
            continue
        first, _, expected = timed(advance_ours(ours, diagram))
        line = f"{name:30s} {1e3 * first:9.3f} ms"
        for other, make in others.items():
            if other == "jaxonomy" and name not in JAXONOMY_DIAGRAMS:
                continue
            later, once, found = timed(make(name, diagram.duration))
            difference = float(np.abs(found - expected[list(diagram.states)]).max())
            own = timed(advance_ours(ours, diagram, "runge_kutta5"))[0] if other == "jaxonomy" else first
            line += f"   {other} {once:.2f} s, {1e3 * later:.1f} ms, {later / own:.1f}, {difference:.1e}"
        print(line, flush=True)


def timed(advance: Callable[[], Any]) -> tuple[float, float, Any]:
    """Least processor time of later calls, and that of the first one [s], with its result."""
    start = time.process_time()
    result = advance()
    once, later = time.process_time() - start, []
    while len(later) < 3 or (sum(later) < 1.0 and len(later) < 30):
        start = time.process_time()
        advance()
        later.append(time.process_time() - start)
    return min(later), once, result


if __name__ == "__main__":
    main()
