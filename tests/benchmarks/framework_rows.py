"""Rows about making diagrams and contexts, short advances, Python callbacks and logs."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from libraries import ROOT, Library, Row, load

_PENDULUM = ROOT / "examples" / "models" / "double_pendulum.urdf"
_TICKS = 2000  # of one run with Python callbacks
_ADVANCES = 500

# ---------------------------------------------------------------------- diagrams


def blocks(library: Library, num_blocks: int) -> list[Any]:
    """Integrators and gains in turn, not yet in a diagram."""
    make = library.primitives.Integrator, functools.partial(library.primitives.Gain, 1.0)
    return [make[i % 2](1) for i in range(num_blocks)]


def connected(library: Library, systems: list[Any]) -> Any:
    """A builder with these systems, each feeding the next."""
    builder = library.framework.DiagramBuilder()
    for system in systems:
        builder.AddSystem(system)
    for upstream, system in itertools.pairwise(systems):
        builder.Connect(upstream.get_output_port(0), system.get_input_port(0))
    builder.ExportInput(systems[0].get_input_port(0))
    return builder


def add_and_connect(library: Library, num_blocks: int) -> Callable[[], Any]:
    def add() -> None:
        connected(library, blocks(library, num_blocks))

    return add


def build(library: Library, num_blocks: int, most: int) -> Callable[[], Any]:
    ready = [connected(library, blocks(library, num_blocks)) for _ in range(most)]

    def build_next() -> None:
        ready.pop().Build()

    return build_next


def create_first_context(library: Library, num_blocks: int, most: int) -> Callable[[], Any]:
    """The first context of a diagram, for which more has to be found out than for those that follow."""
    ready = [connected(library, blocks(library, num_blocks)).Build() for _ in range(most)]
    made = iter(ready)

    def create() -> None:
        next(made).CreateDefaultContext()

    return create


def create_context(library: Library, num_blocks: int) -> Callable[[], Any]:
    diagram = connected(library, blocks(library, num_blocks)).Build()

    def create() -> None:
        diagram.CreateDefaultContext()

    return create


def clone_context(library: Library, num_blocks: int) -> Callable[[], Any]:
    context = connected(library, blocks(library, num_blocks)).Build().CreateDefaultContext()

    def clone() -> None:
        context.Clone()

    return clone


def convert(library: Library, num_blocks: int) -> Callable[[], Any]:
    diagram = connected(library, blocks(library, num_blocks)).Build()

    def to_autodiff() -> None:
        diagram.ToAutoDiffXd()

    return to_autodiff


def new_simulator(library: Library, num_blocks: int, is_initialized: bool) -> Callable[[], Any]:
    """A simulator for a context that is there already."""
    diagram = connected(library, blocks(library, num_blocks)).Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [0.0])

    def make() -> None:
        simulator = library.analysis.Simulator(diagram, context)
        if is_initialized:
            simulator.Initialize()

    return make


# ---------------------------------------------------------------------- short advances


def short_advances(library: Library) -> Callable[[], Any]:
    """Millisecond by millisecond, with a new input before and a look at the state after each."""
    system = library.primitives.LinearSystem(
        np.array([[0.0, 1.0], [-1.0, -0.1]]), np.array([[0.0], [1.0]]), np.eye(2), np.zeros((2, 1))
    )
    simulator = library.analysis.Simulator(system)
    context, port = simulator.get_mutable_context(), system.get_input_port()

    def advance() -> Any:
        context.SetTimeAndContinuousState(0.0, [1.0, 0.0])
        port.FixValue(context, [0.0])
        simulator.Initialize()
        for number in range(1, _ADVANCES + 1):
            x = context.get_continuous_state_vector().CopyToVector()
            port.FixValue(context, [-0.1 * x[1]])
            simulator.AdvanceTo(1e-3 * number)
        return context.get_continuous_state_vector().CopyToVector()

    return advance


def short_advances_with_contact(library: Library) -> Callable[[], Any]:
    """Two boxes at rest on the ground, millisecond by millisecond, with a look at their heights after each."""
    if library.plant.__name__.startswith("merganser"):
        from merganser.framework.math import RigidTransform
        from merganser.geometry import Box, HalfSpace
    else:
        from pydrake.geometry import Box, HalfSpace
        from pydrake.math import RigidTransform
    builder = library.framework.DiagramBuilder()
    plant, _ = library.plant.AddMultibodyPlantSceneGraph(builder, time_step=0.001)
    rough = library.plant.CoulombFriction(0.5, 0.5)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", rough)
    for i in range(2):
        body = plant.AddRigidBody(f"box {i}", library.tree.SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
        plant.RegisterCollisionGeometry(body, RigidTransform(), Box(0.1, 0.1, 0.1), f"shape {i}", rough)
        plant.SetDefaultFloatingBaseBodyPose(body, RigidTransform([0.0, 0.0, 0.05 + 0.1 * i]))
    plant.Finalize()
    simulator = library.analysis.Simulator(builder.Build())
    context = plant.GetMyContextFromRoot(simulator.get_context())

    def advance() -> Any:
        start = simulator.get_context().get_time()
        for number in range(1, _ADVANCES + 1):
            simulator.AdvanceTo(start + 1e-3 * number)
            heights = plant.GetPositions(context)[[6, 13]]
        return heights

    return advance


# ---------------------------------------------------------------------- callbacks


def ticking(library: Library, kind: str) -> Any:
    """A diagram of Python blocks with one event a millisecond, and what to look at in the end."""
    framework = library.framework
    Value = framework.Value if hasattr(framework, "Value") else _pydrake_value()

    class Counter(framework.LeafSystem):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.count = 0
            if kind == "discrete update":
                self.DeclareDiscreteState(1)
                self.DeclarePeriodicDiscreteUpdateEvent(1e-3, 0.0, self.update)
            elif kind == "publish":
                self.DeclarePeriodicPublishEvent(1e-3, 0.0, self.publish)
            elif kind == "unrestricted update":
                self.DeclareDiscreteState(1)
                self.DeclareAbstractState(Value(0))
                self.DeclarePeriodicUnrestrictedUpdateEvent(1e-3, 0.0, self.change)
            else:
                self.DeclareAbstractInputPort("u", Value({}))
                self.DeclarePeriodicPublishEvent(1e-3, 0.0, self.read)

        def update(self, context: Any, discrete_state: Any) -> None:
            discrete_state.get_mutable_value(0)[0] = context.get_discrete_state(0).value()[0] + 1.0

        def publish(self, context: Any) -> None:
            self.count += 1

        def change(self, context: Any, state: Any) -> None:
            state.get_mutable_abstract_state().get_mutable_value(0).set_value(1)

        def read(self, context: Any) -> None:
            self.count += int(self.get_input_port(0).Eval(context)["time"] >= 0.0)

    class Source(framework.LeafSystem):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.DeclareAbstractOutputPort("y", lambda: Value({}), self.calc, {self.time_ticket()})

        def calc(self, context: Any, output: Any) -> None:
            output.set_value({"time": context.get_time()})

    builder = framework.DiagramBuilder()
    counter = builder.AddSystem(Counter())
    if kind == "abstract port":
        builder.Connect(builder.AddSystem(Source()).get_output_port(0), counter.get_input_port(0))
    return builder.Build(), counter


def _pydrake_value() -> Any:
    from pydrake.common.value import Value

    return Value[object]


def python_events(library: Library, kind: str) -> Callable[[], Any]:
    """Two seconds of a diagram in which a Python callback is called each millisecond."""
    diagram, counter = ticking(library, kind)
    simulator = library.analysis.Simulator(diagram)
    end = 1e-3 * _TICKS

    def advance() -> Any:
        context = simulator.get_mutable_context()
        context.SetTime(0.0)
        counter.count = 0
        simulator.Initialize()
        simulator.AdvanceTo(end)
        return np.array([counter.count])

    return advance


def python_derivatives(library: Library) -> Callable[[], Any]:
    """Five seconds of a pendulum whose derivatives are a Python callback, under error control; about 3,200 calls."""

    class Pendulum(library.framework.LeafSystem):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.DeclareContinuousState(2)

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            angle, rate = context.get_continuous_state_vector().CopyToVector()
            derivatives.get_mutable_vector().SetFromVector([rate, -9.81 * math.sin(angle) - 0.1 * rate])

    system = Pendulum()

    def advance() -> Any:
        simulator = library.analysis.Simulator(system)
        simulator.get_mutable_integrator().set_target_accuracy(1e-6)
        simulator.get_mutable_context().SetContinuousState([1.0, 0.0])
        simulator.AdvanceTo(5.0)
        return simulator.get_context().get_continuous_state_vector().CopyToVector()

    return advance


def logged_advances(library: Library) -> Callable[[], Any]:
    """A driven linear system whose ports are all logged, millisecond by millisecond, in a new simulator."""
    builder, primitives = library.framework.DiagramBuilder(), library.primitives
    system = builder.AddSystem(
        primitives.LinearSystem(
            np.array([[0.0, 1.0], [-4.0, -0.4]]), np.array([[0.0], [1.0]]), np.eye(2), np.zeros((2, 1))
        )
    )
    sine = builder.AddSystem(primitives.Sine(1.0, 2.0, 0.0, 1))
    builder.Connect(sine.get_output_port(0), system.get_input_port())
    sinks = [primitives.LogVectorOutput(part.get_output_port(0), builder) for part in (system, sine)]
    diagram = builder.Build()

    def advance() -> Any:
        simulator = library.analysis.Simulator(diagram)
        for number in range(1, _TICKS + 1):
            simulator.AdvanceTo(1e-3 * number)
        return np.concatenate([sink.FindLog(simulator.get_context()).data()[:, -1] for sink in sinks])

    return advance


# ---------------------------------------------------------------------- logs of everything


def acrobot(library: Library, what: tuple[str, ...]) -> Callable[[], Any]:
    """A second of an acrobot in steps of 1 ms.

    Args:
        library: of the two.
        what: output ports of the plant that are logged at each step; `poses`: a Python block turns the body poses
            into a vector, which is logged; `controller`: a Python block computes the torque.
    """
    framework, primitives = library.framework, library.primitives
    builder = framework.DiagramBuilder()
    plant = builder.AddSystem(library.plant.MultibodyPlant(1e-3))
    load(library, plant, _PENDULUM)
    plant.AddJointActuator("motor", plant.GetJointByName("elbow"))
    plant.Finalize()
    sinks = [
        primitives.LogVectorOutput(plant.GetOutputPort(name), builder)
        for name in what
        if name not in ("poses", "controller")
    ]
    if "poses" in what:
        watcher = builder.AddSystem(_watcher(library, plant))
        builder.Connect(plant.get_body_poses_output_port(), watcher.get_input_port(0))
        sinks.append(primitives.LogVectorOutput(watcher.get_output_port(0), builder))
    torque = plant.get_actuation_input_port()
    if "controller" in what:
        controller = builder.AddSystem(_damper(library, plant))
        builder.Connect(plant.get_state_output_port(), controller.get_input_port(0))
        builder.Connect(controller.get_output_port(0), torque)
    else:
        source = builder.AddSystem(primitives.ConstantVectorSource(np.zeros(torque.size())))
        builder.Connect(source.get_output_port(), torque)
    diagram = builder.Build()
    simulator = library.analysis.Simulator(diagram)
    initial = simulator.get_context().Clone()
    plant.SetPositions(plant.GetMyMutableContextFromRoot(initial), [1.0, 0.3])

    def second() -> Any:
        context = simulator.get_mutable_context()
        context.SetTimeStateAndParametersFrom(initial)
        for sink in sinks:
            sink.FindMutableLog(context).Clear()
        simulator.Initialize()
        simulator.AdvanceTo(1.0)
        return np.concatenate([
            plant.GetPositions(plant.GetMyContextFromRoot(context)),
            *(sink.FindLog(context).data()[:, 1::100].ravel() for sink in sinks),
        ])  # fmt: skip

    return second


def many_rates(library: Library, num_rates: int) -> Callable[[], Any]:
    """The first second of a new simulator of 20 holds and their logs, at periods of 2, 3, 4 ms and so on."""
    builder, primitives = library.framework.DiagramBuilder(), library.primitives
    sinks = []
    for i in range(20):
        hold = builder.AddSystem(primitives.ZeroOrderHold(1e-3 * (2 + i % num_rates), 1))
        sine = builder.AddSystem(primitives.Sine(1.0, 1.0 + i, 0.0, 1))
        builder.Connect(sine.get_output_port(0), hold.get_input_port())
        period = 1e-3 * (2 + (i + 1) % num_rates)
        sinks.append(primitives.LogVectorOutput(hold.get_output_port(), builder, period))
    diagram = builder.Build()

    def second() -> Any:
        simulator = library.analysis.Simulator(diagram)
        simulator.AdvanceTo(1.0)
        logs = [sink.FindLog(simulator.get_context()) for sink in sinks]
        return np.array([log.data()[0, -1] for log in logs])

    return second


def _watcher(library: Library, plant: Any) -> Any:
    port = plant.get_body_poses_output_port()

    class Watcher(library.framework.LeafSystem):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.DeclareAbstractInputPort("poses", port.Allocate())
            self.DeclareVectorOutputPort("height", 1, self.calc)

        def calc(self, context: Any, output: Any) -> None:
            poses = self.get_input_port(0).Eval(context)
            output.SetAtIndex(0, poses[-1].translation()[2])

    return Watcher()


def _damper(library: Library, plant: Any) -> Any:
    num_states = plant.num_multibody_states()

    class Damper(library.framework.LeafSystem):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.DeclareVectorInputPort("state", num_states)
            self.DeclareVectorOutputPort("torque", 1, self.calc)

        def calc(self, context: Any, output: Any) -> None:
            output.SetAtIndex(0, -0.1 * self.get_input_port(0).Eval(context)[-1])

    return Damper()


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    def row(name: str, make: Callable[..., Callable[[], Any]], calls: int = 1, **arguments: Any) -> Row:
        make = functools.partial(make, **arguments)
        reference = None if theirs is None else functools.partial(make, theirs)
        return Row(name, functools.partial(make, ours), reference, calls, 1e-6)

    # `most`: how many diagrams are needed by as many runs of `calls` each as get done in the time.
    for num, most, calls in ((10, 1000, 10), (100, 100, 1), (5000, 12, 1)):
        yield row(f"{num} blocks: make, AddSystem, Connect", add_and_connect, calls, num_blocks=num)
        yield row(f"{num} blocks: Build", build, calls, num_blocks=num, most=most)
        yield row(f"{num} blocks: first context", create_first_context, calls, num_blocks=num, most=most)
        yield row(f"{num} blocks: CreateDefaultContext", create_context, calls, num_blocks=num)
        yield row(f"{num} blocks: Context.Clone", clone_context, calls, num_blocks=num)
        yield row(f"{num} blocks: ToAutoDiffXd()", convert, calls, num_blocks=num)
        simulator = functools.partial(new_simulator, num_blocks=num)
        yield row(f"{num} blocks: Simulator(diagram, context)", simulator, calls, is_initialized=False)
        yield row(f"{num} blocks: the same and Initialize", simulator, calls, is_initialized=True)
    yield row(f"{_ADVANCES} x FixValue, AdvanceTo(+1 ms), read: linear system", short_advances)
    boxes = Row(
        f"{_ADVANCES} x AdvanceTo(+1 ms), read: two boxes on the ground",
        functools.partial(short_advances_with_contact, ours),
        None if theirs is None else functools.partial(short_advances_with_contact, theirs),
        1,
        1e-2,  # the other package lets them sink in by 2 mm
    )
    yield boxes
    for kind in ("discrete update", "publish", "unrestricted update", "abstract port"):
        yield row(f"Python blocks, {_TICKS} events: {kind}", python_events, kind=kind)
    for num in (3, 20):
        yield row(f"20 holds and logs at {num} rates: a new simulator and its first second", many_rates, num_rates=num)
    yield row("Python DoCalcTimeDerivatives: a pendulum, 5 s", python_derivatives)
    yield row(f"{_TICKS} x AdvanceTo(+1 ms): linear system, all ports logged", logged_advances)
    several = ("state", "generalized_acceleration", "net_actuation")
    for what in ((), *((port,) for port in several), several, ("poses",), ("controller",)):
        name = f"acrobot, 1000 steps, logged: {', '.join(what) or 'nothing'}"
        yield row(name, functools.partial(acrobot, what=what))
