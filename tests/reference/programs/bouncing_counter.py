"""A ball bounces until it is tired: witness functions, resets of the whole state, values of any type through ports."""

import collections
import dataclasses

import numpy as np
import pydrake.systems.framework as f
from pydrake.common.value import AbstractValue, Value
from pydrake.systems.analysis import Simulator, SimulatorStatus


@dataclasses.dataclass
class Bounce:
    time: float
    speed: float


class Ball(f.LeafSystem):
    def __init__(self, restitution=0.8):
        super().__init__()
        self.restitution = restitution
        self.DeclareContinuousState(num_q=1, num_v=1, num_z=0)
        self.bounces = self.DeclareAbstractState(Value[object]([]))
        self.ground = self.MakeWitnessFunction(
            "height", f.WitnessFunctionDirection.kPositiveThenNonPositive, self.height,
            f.UnrestrictedUpdateEvent(system_callback=self.bounce),
        )  # fmt: skip
        self.top = self.MakeWitnessFunction(
            "velocity", f.WitnessFunctionDirection.kPositiveThenNonPositive,
            lambda context: context.get_continuous_state_vector()[1], f.PublishEvent(system_callback=self.note_top),
        )  # fmt: skip
        self.tops = []
        self.DeclareAbstractOutputPort("bounces", lambda: AbstractValue.Make([]), self.copy_bounces)
        self.DeclareVectorOutputPort("energy", 1, self.calc_energy, {self.all_state_ticket()})
        self.DeclareInitializationUnrestrictedUpdateEvent(self.drop)

    def height(self, context):
        return context.get_continuous_state_vector().GetAtIndex(0)

    def drop(self, context, state):
        state.get_mutable_continuous_state().get_mutable_generalized_position().SetAtIndex(0, 1.5)
        return f.EventStatus.Succeeded()

    def bounce(self, system, context, event, state):
        x = state.get_mutable_continuous_state().get_mutable_vector()
        assert event.get_trigger_type() == f.TriggerType.kWitness and system is self
        bounces = list(context.get_abstract_state(self.bounces).get_value())
        bounces.append(Bounce(context.get_time(), -x[1]))
        state.get_mutable_abstract_state(int(self.bounces)).set_value(bounces)
        x.SetFromVector([0.0, -self.restitution * x[1]])

    def note_top(self, system, context, event):
        self.tops.append(self.height(context))
        if len(self.tops) == 4:
            return f.EventStatus.ReachedTermination(self, "tired")
        return f.EventStatus.Succeeded()

    def DoGetWitnessFunctions(self, context):
        return [self.ground, self.top]

    def DoCalcTimeDerivatives(self, context, derivatives):
        _, v = context.get_continuous_state_vector().CopyToVector()
        derivatives.get_mutable_vector().SetFromVector([v, -9.81])

    def copy_bounces(self, context, output):
        output.set_value(context.get_abstract_state(0).get_value())

    def calc_energy(self, context, output):
        z, v = context.get_continuous_state_vector().CopyToVector()
        output[0] = 9.81 * z + 0.5 * v**2


class Listener(f.LeafSystem):
    """Counts by periodic discrete updates, and keeps the fastest bounce, in each step."""

    def __init__(self):
        super().__init__()
        self.port = self.DeclareAbstractInputPort("bounces", AbstractValue.Make([]))
        self.energy = self.DeclareVectorInputPort("energy", f.BasicVector(1))
        self.counts = self.DeclareDiscreteState(2)
        self.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.05, self.count)
        self.DeclarePerStepPublishEvent(self.listen)
        self.seen = collections.Counter()

    def count(self, context, discrete_state):
        seen = self.port.Eval(context)
        before = context.get_discrete_state(self.counts)
        energy = before[1] + self.energy.Eval(context)[0]
        discrete_state.get_mutable_vector(self.counts).SetFromVector([len(seen), energy])

    def listen(self, context):
        self.seen[len(self.port.Eval(context))] += 1


builder = f.DiagramBuilder()
ball, listener = builder.AddNamedSystem("ball", Ball()), builder.AddNamedSystem("listener", Listener())
for name in ("bounces", "energy"):
    builder.Connect(ball.GetOutputPort(name), listener.GetInputPort(name))
diagram = builder.Build()
simulator = Simulator(diagram)
simulator.get_mutable_integrator().set_target_accuracy(1e-10)
simulator.get_mutable_integrator().set_maximum_step_size(0.05)
simulator.get_mutable_context().SetAccuracy(1e-10)
status = simulator.AdvanceTo(10.0)
assert status.reason() == SimulatorStatus.ReturnReason.kReachedTerminationCondition, status.FormatMessage()
context = simulator.get_context()
bounces = ball.GetOutputPort("bounces").Eval(ball.GetMyContextFromRoot(context))
counts = listener.GetMyContextFromRoot(context).get_discrete_state_vector().CopyToVector()
rows = [[each.time, each.speed] for each in bounces] + [[top, 0.0] for top in ball.tops]
assert set(listener.seen) >= {0, 1, 2, 3}
np.savetxt("result.txt", [*rows, counts, [context.get_time(), status.return_time()]])
