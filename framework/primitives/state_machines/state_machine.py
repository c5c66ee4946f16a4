"""StateMachine: a block with modes, between which guards decide (a state chart; Harel 1987, "Statecharts").

Where books and tools differ, this is what happens:

1. A simulation looks at the guards at the beginning of each step, after all updates at that time, and ends its steps
   where a signal comes to a level and where a time is over. So every transition has its exact time.
2. Active states are asked from the outermost to the innermost one. The first that has a transition whose guard is true
   takes it, and those inside are not asked (as in Stateflow; SCXML and UML ask the inner ones first). The parts of a
   parallel state are asked one after the other, all with the values from before.
3. A transition runs the exit actions of the states that it leaves, innermost first, then its own action, then the entry
   actions of the states that it enters, outermost first. The assignments of one action see the values from before it.
4. This repeats at the same time until no guard is true any more (run to completion, the macrostep of SCXML). Where that
   has no end, the simulation ends with kZenoBehavior and names the block.
5. `during` actions of states through which no transition went run once at the beginning of a step.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import DependencyTicket, DiscreteStateIndex
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import (
    CONTINUOUS_STATE,
    CURRENT_TIME,
    DiscreteStateOf,
    EntryOf,
    InputOf,
)
from merganser.framework.core.declarations.cache import CacheEntry
from merganser.framework.core.declarations.events import EventStatus
from merganser.framework.core.declarations.native_function import copy, result_of
from merganser.framework.core.declarations.native_wires import TIME_NAMES, PartOf
from merganser.framework.core.declarations.witness import WitnessFunction
from merganser.framework.core.values.arguments import checked_size
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives._arguments import checked_vector
from merganser.framework.primitives.piecewise import Assignment, DecidingBlock
from merganser.framework.primitives.routing import stacked
from merganser.framework.primitives.state_machines.chart import Chart, Laws, State, Transition
from merganser.framework.primitives.state_machines.draft import Draft
from merganser.framework.primitives.state_machines.guards import BoundGuard, guards_in
from merganser.framework.primitives.state_machines.laws import (
    ELAPSED,
    Law,
    constant,
    distance,
    elapsed,
    law_of,
    of_active,
    text_of,
)
from merganser.framework.primitives.state_machines.rounds import (
    EVENTS,
    STARTED,
    end_of_step,
    make_round,
    note_sides,
    number_of,
    start,
)

Array = NDArray[Any]
_OWN_NAMES = (*TIME_NAMES, ELAPSED, "active")


class StateMachine(DecidingBlock):
    """A block with states (modes), actions, and transitions with guards; it may have a law of motion in each state.

        machine = StateMachine("thermostat", inputs={"temperature": 1}, outputs={"heater": 1})
        heating = machine.AddState("heating", initial=True, outputs={"heater": 1.0})
        idle = machine.AddState("idle", outputs={"heater": 0.0})
        machine.AddTransition(heating, idle, when=Guard.at_least("temperature", 21.0))
        machine.AddTransition(idle, heating, when=Guard.at_most("temperature", 19.0))
        machine.Finalize()

    Quantities have names: input ports; *variables*, which actions assign; parts of the *continuous* state, which follow
    the flow of the active states, and which actions may assign, too. Each variable and part is also an output port of
    its name. Further outputs are given by the active states. The output port `active`, shape [number of states], is 1
    for active states and 0 for others, in the order in which they were added.

    Wherever a value is asked for, a *law* may be given: a number or vector; a name such as "speed" or "x[1]"; a
    function whose parameters are such names, which gets arrays (`lambda speed: -0.8 * speed`; parameters with a default
    keep that); a `@native` function, whose last parameter is the array to fill in; or an Expression of Variables with
    such names. Names may also be `t`, the time [s], and `time_in_state`, the time since the state was entered [s],
    shape [1]. Laws must not change anything. Outputs and derivatives whose laws are all constants, names, native
    functions and Expressions are part of the compiled simulation.

    The file of this class says in which order things happen. A context that was saved goes on in its states.

    Args:
        name: of the system; it may be left out.
        inputs: sizes of the vector input ports, by name.
        continuous: initial values of the parts of the continuous state, by name: a number or shape [n].
        variables: initial values of the variables, by name.
        outputs: sizes of the output ports that states give, by name.

    Raises:
        ValueError: a name occurs twice, or is no identifier.
    """

    def __init__(
        self,
        name: str = "",
        *,
        inputs: Mapping[str, int] | None = None,
        continuous: Mapping[str, ArrayLike] | None = None,
        variables: Mapping[str, ArrayLike] | None = None,
        outputs: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__()
        if name:
            self.set_name(name)
        self.chart, self._is_finalized = Chart(), False
        self._inputs = {n: checked_size(size, self._where(f"input '{n}'"), 1) for n, size in (inputs or {}).items()}
        self._starts = {n: checked_vector(x, self._where(f"initial '{n}'")) for n, x in (continuous or {}).items()}
        self._variables = {n: checked_vector(x, self._where(f"initial '{n}'")) for n, x in (variables or {}).items()}
        self._outputs = {n: checked_size(size, self._where(f"output '{n}'"), 1) for n, size in (outputs or {}).items()}
        names = [*self._inputs, *self._starts, *self._variables, *self._outputs]
        for n in names:
            if not n.isidentifier() or n in _OWN_NAMES or names.count(n) > 1:
                raise ValueError(
                    f"{self._where('names')}: '{n}' occurs twice, is no identifier of Python, or is one of the "
                    f"machine's own names {list(_OWN_NAMES)}."
                )
        starts, variables_ = self._starts.items(), self._variables.items()
        self._sizes = {**self._inputs, **{n: x.size for n, x in [*starts, *variables_]}}
        self._ports = {n: self.DeclareVectorInputPort(n, size) for n, size in self._inputs.items()}
        self._groups = {n: self.DeclareDiscreteState(x) for n, x in self._variables.items()}
        self._firsts, first = {}, 0
        for n, x in self._starts.items():
            self._firsts[n], first = first, first + x.size
        self._x: Any = None
        if first:
            self._x = self.DeclareContinuousState(BasicVector(np.concatenate([x for _, x in starts])))
        self._elapsed: dict[int, CacheEntry] = {}

    # ------------------------------------------------------------------ construction

    def AddState(
        self,
        name: str,
        *,
        parent: State | str | None = None,
        initial: bool = False,
        parallel: bool = False,
        entry: Mapping[str, Any] | None = None,
        during: Mapping[str, Any] | None = None,
        exit: Mapping[str, Any] | None = None,
        flow: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
    ) -> State:
        """Adds a state.

        Args:
            name: unique in the machine.
            parent: the state that it is in; None at the top.
            initial: whether it is entered with its parent, or as the machine starts.
            parallel: whether all of its children are active with it; otherwise one of them is.
            entry, during, exit: what its actions assign: laws of new values, by name of variables and of parts of the
                continuous state.
            flow: laws of time derivatives [1/s], by name of parts of the continuous state. Where a state inside gives
                one, too, that counts; where no active state gives one, the part is constant.
            outputs: laws of outputs, by name. As of flow; where no active state gives one, it is 0.

        Raises:
            ValueError: there is a state of that name, or a law cannot be used.
            RuntimeError: the machine is finalized.
        """
        self._require_finalized(False, "AddState")
        where = f"state '{name}'"
        if not isinstance(name, str) or not name or name in self.chart.states:
            raise ValueError(f"{self._where('AddState')}: the name must be new and not empty, got {name!r}.")
        settable = {n: size for n, size in self._sizes.items() if n not in self._inputs}
        parts = {n: x.size for n, x in self._starts.items()}
        kinds = {
            "entry": (entry, settable), "during": (during, settable), "exit": (exit, settable),
            "flow": (flow, parts), "outputs": (outputs, self._outputs),
        }  # fmt: skip
        laws: Any = {kind: self._laws(given, known, kind, where) for kind, (given, known) in kinds.items()}
        labels = [_label(kind, given or {}) for kind, (given, _) in kinds.items() if given]
        above = None if parent is None else self._state(parent, f"parent of {where}")
        state = State(name, len(self.chart.states), above, bool(initial), bool(parallel), **laws, labels=labels)
        self.chart.states[name] = state
        return state

    def AddTransition(
        self,
        source: State | str,
        target: State | str | None,
        *,
        when: Any = None,
        provided: Any = None,
        action: Mapping[str, Any] | None = None,
        priority: int | None = None,
        history: str | None = None,
    ) -> Transition:
        """Adds a transition.

        Args:
            source: the state that it leaves; of several inside of each other, the outer ones are asked first.
            target: the state that it enters, with the initial ones inside of it; None if it leaves and enters none, and
                only carries out its action. A transition from a state to itself leaves and enters it.
            when: a Guard; an inequality of Expressions; a function, see Law, that returns whether it is true at the
                beginning of a step; or None, which is always true.
            provided: conditions that must be true as well, one or a list.
            action: what it assigns, see AddState.
            priority: among transitions of one source that are possible at once the one with the lowest number is taken.
            history: "shallow" if the target is entered in the child where it was last left, "deep" if those inside of
                this are, too.

        Raises:
            ValueError: a state is not one of this machine, or a law cannot be used.
            TypeError: `when` is no guard.
            RuntimeError: the machine is finalized.
        """
        self._require_finalized(False, "AddTransition")
        start = self._state(source, "source of a transition")
        end = None if target is None else self._state(target, f"target of a transition from '{start.name}'")
        what = f"transition '{start.name}' -> '{end.name if end is not None else start.name}'"
        where = self._where(what)
        if history not in (None, "shallow", "deep") or (history is not None and end is None):
            raise ValueError(f"{where}: history must be None, 'shallow' or 'deep', got {history!r}.")
        if priority is not None and not (isinstance(priority, int) and priority >= 1):
            raise ValueError(f"{where}: priority must be an integer of at least 1, got {priority!r}.")
        given = [guard for item in (when, provided) if item is not None for guard in guards_in(item, where)]
        bound = [BoundGuard(guard, self._sizes, where, self._inputs) for guard in given]
        events = [guard for guard in bound if guard.is_event]
        if len(events) > 1:
            raise ValueError(f"{where}: at most one guard can be an event, got {[str(e.guard) for e in events]}.")
        settable = {n: size for n, size in self._sizes.items() if n not in self._inputs}
        label = " and ".join(str(guard) for guard in given)
        transition = Transition(
            len(self.chart.transitions), start, end, events[0] if events else None,
            [guard for guard in bound if not guard.is_event], self._laws(action, settable, "action", what),
            np.inf if priority is None else priority, history, label, _label("action", action or {}),
        )  # fmt: skip
        self.chart.transitions.append(transition)
        return transition

    def Finalize(self) -> None:
        """Checks the machine and declares its ports; nothing can be added afterwards.

        Raises:
            ValueError: a state has no initial child or cannot be reached, transitions exclude each other or go on
                without end, or a port has no law; the message names them.
        """
        self._require_finalized(False, "Finalize")
        chart, states = self.chart, list(self.chart.states.values())
        chart.check(self._where())
        chart.check_owners(self._where())
        for name in self._outputs:
            if not any(name in state.outputs for state in states):
                raise ValueError(f"{self._where()}: no state gives the output '{name}'; use AddState(outputs=...).")
        self.table, self.actions = chart.table(self._inputs), chart.actions()
        self.first_state = chart.initial_child(None).number
        is_initial = set(chart.entered(None, None))
        self._active = self.DeclareDiscreteState(np.array([1.0 * (state in is_initial) for state in states]))
        self._entered = self.DeclareDiscreteState(len(states))
        self._last_child = self.DeclareDiscreteState(np.full(len(states), -1.0))
        # Whether the machine has started; of each transition whether its event has happened, and on which side of its
        # level the signal was (0: not known); of ports whose changes count, their last values.
        num_values = sum(self._inputs[g.guard.signal] for g in chart.guards() if g.guard.kind == "changes")
        self._memory = self.DeclareDiscreteState(EVENTS + 2 * len(chart.transitions) + num_values)
        self.DeclareInitializationUnrestrictedUpdateEvent(self._start)
        self._declare_guards()
        self._declare_actions()
        self._declare_ports()
        self._is_finalized = True

    def _declare_guards(self) -> None:
        """Declares the signals of guards, and witness functions where a simulation is to find a passage."""
        self._sys_signals = []
        self._witnesses: dict[WitnessFunction, tuple[int, int]] = {}
        events = [transition.event for transition in self.chart.transitions]
        self._has_passages = any(event is not None and event.is_passage for event in events)
        owners = {guard: transition for transition in self.chart.transitions for guard in transition.guards()}
        for guard in self.chart.guards():
            transition = owners[guard]
            if guard.guard.kind == "changes":
                port = self._ports[guard.guard.signal]
                self._sys_signals += [(port, k) for k in range(port.size())]
            if guard.law is None:
                continue
            entry = guard.law.declare(self, transition.source)
            self._sys_signals.append((entry, 0))
            if guard.is_passage:
                calc = distance.given(signal=entry, level=guard.guard.level)
                witness = self.MakeWitnessFunction(f"{guard.guard}, of {transition}", guard.direction(), calc)
                self._witnesses[witness] = transition.source.number, transition.number if guard.is_event else -1

    def _declare_actions(self) -> None:
        """Declares the laws of actions for compiled simulations, if guards and `during` actions are operations.

        Other actions may be functions: steps that begin with one of them are those of Python.
        """
        laws = [guard.law for guard in self.chart.guards() if guard.law is not None]
        laws += [law for state in self.chart.states.values() for law in state.during.values()]
        self._sys_actions = None
        if all(law.is_native for law in laws):
            self._sys_actions = [
                [self._assignment(name, law, state) for name, law in action.items()]
                if all(law.is_native for law in action.values())
                else None
                for action, state in self.actions
            ]

    def _assignment(self, name: str, law: Law, state: State) -> Assignment:
        """What an action assigns to a quantity, in compiled simulations."""
        entry, inputs = law.declare(self, state), [self._ports[read] for read in law.reads if read in self._ports]
        entries = [entry] if ELAPSED not in law.reads else [self._elapsed_entry(state), entry]
        return Assignment(entries, inputs, self._groups.get(name), self._firsts.get(name, 0), self._sizes[name])

    def _declare_ports(self) -> None:
        """Declares the output ports and the derivatives: of each quantity what the innermost active state gives."""
        self.DeclareStateOutputPort("active", self._active)
        for name, group in self._groups.items():
            self.DeclareStateOutputPort(name, group)
        states = sorted(self.chart.states.values(), key=lambda state: len(state.lineage()))
        for name, size in self._outputs.items():
            calc, code, tickets = self._choice(name, [(s, s.outputs[name]) for s in states if name in s.outputs], size)
            entry = self.DeclareVectorOutputPort(name, size, calc, tickets).cache_entry()
            if code is not None:
                entry.use_native(code)
        rates: list[CacheEntry] = []
        for name, x in self._starts.items():
            self.DeclareVectorOutputPort(name, x.size, copy.given(source=PartOf(self._x, *self.part(name))))
            laws = [(s, s.flow[name]) for s in states if name in s.flow]
            calc, code, tickets = self._choice(name, laws, x.size)
            rates.append(self._sys_declare_entry(f"flow of '{name}'", BasicVector(0.0 * x), calc, tickets))
            if code is not None:
                rates[-1].use_native(code)
        if rates:
            self.DeclareTimeDerivatives(stacked.given(u=rates))

    def _choice(self, name: str, laws: list[tuple[State, Law]], size: int) -> tuple[Any, Any, set[DependencyTicket]]:
        """A callback that computes what the innermost active state gives, the same as an operation, and what it reads.

        Compiled code computes the laws of all states and chooses one; Python computes that of the chosen one only.
        """
        tickets = {self.discrete_state_ticket(self._active)}
        entries: list[CacheEntry] | None = None
        if all(law.is_native for _, law in laws):
            entries = [law.declare(self, state) for state, law in laws]
            tickets |= {entry.ticket() for entry in entries}
        else:
            tickets |= {self.ticket_of(read, state) for state, law in laws for read in law.reads}
        if entries is None:
            return functools.partial(self._calc_choice, laws, None, None), None, tickets
        owners = np.array([state.number for state, _ in laws])
        choice = of_active.given(active=self._active, owners=owners, laws=entries) if entries else constant
        bound = choice.bind(self, f"choice of '{name}'", result_of(size))
        return functools.partial(self._calc_choice, laws, entries, bound), bound, tickets

    # ------------------------------------------------------------------ in a context

    def GetStateNames(self) -> list[str]:
        """The names of the states, in the order of the elements of the output port `active`."""
        return list(self.chart.states)

    def GetActiveStates(self, context: Context) -> list[str]:
        """The names of the active states, outer ones before inner ones.

        Raises:
            ValueError: the context is that of another system.
        """
        self.ValidateContext(context)
        active = context.get_discrete_state(self._active).value()
        return [state.name for state in self.chart.states.values() if number_of(active[state.number]) > 0.5]

    def IsActive(self, context: Context, state: State | str) -> bool:
        """Whether a state is active."""
        return self._state(state, "IsActive").name in self.GetActiveStates(context)

    def GetTimeInState(self, context: Context, state: State | str) -> float:
        """How long a state has been active [s].

        Raises:
            RuntimeError: it is not active.
        """
        found = self._state(state, "GetTimeInState")
        if not self.IsActive(context, found):
            raise RuntimeError(f"{self._where('GetTimeInState')}: state '{found.name}' is not active.")
        entered = context.get_discrete_state(self._entered).value()[found.number]
        return number_of(context.get_time()) - number_of(entered)

    def SetActiveState(self, context: Context, state: State | str) -> None:
        """Lets the machine be in a state, and in those that are entered with it, from now on; no actions run."""
        self.ValidateContext(context)
        draft = Draft(self, context)
        draft.start_in(self._state(state, "SetActiveState"))
        draft.put_into(context)

    def SetDefaultState(self, context: Context, state: Any) -> None:
        self._require_finalized(True, "making a Context")

    # ------------------------------------------------------------------ what a simulation asks

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return list(self._witnesses)

    def owner_of(self, witness: WitnessFunction) -> int:
        return self._witnesses[witness][0]

    def is_active(self, context: Context, number: int) -> bool:
        return number_of(context.get_discrete_state(self._active).value()[number]) > 0.5

    def event_of(self, witness: WitnessFunction) -> int:
        number = self._witnesses[witness][1]
        return -1 if number < 0 else EVENTS + number

    def decide(self, context: Context, is_first: bool) -> Draft | None:
        draft = Draft(self, context)
        make_round(draft, is_first)
        return draft if draft.has_changed() else None

    def carry_out(self, context: Context, decision: Draft) -> None:
        decision.put_into(context)

    def describe(self, decision: Draft) -> str:
        return ", ".join(str(self.chart.transitions[number]) for number in decision.taken)

    def note_end(self, context: Context, triggered: Sequence[WitnessFunction]) -> None:
        if not self._has_passages:
            return
        draft = Draft(self, context)
        note_sides(draft)
        for at in map(self.event_of, triggered):
            if at >= 0:
                draft.memory[at] = 1.0
        draft.put_into(context)

    def end_of_step(self, context: Context) -> float:
        return end_of_step(Draft(self, context))

    def _start(self, context: Context, state: Any) -> EventStatus:
        """Enters the initial states, unless the machine has started before."""
        draft = Draft(self, context)
        if number_of(draft.memory[STARTED]) > 0.5:
            return EventStatus.DidNothing()
        start(draft)
        draft.put_into(state)
        return EventStatus.Succeeded()

    # ------------------------------------------------------------------ quantities by name

    def groups(self) -> list[DiscreteStateIndex]:
        """The groups of the discrete state as a Draft has them."""
        return [self._active, self._entered, self._last_child, self._memory, *self._groups.values()]

    def signal(self, k: int, context: Any) -> float:
        """The signal of a guard in a context, by its number, as a number."""
        source, element = self._sys_signals[k]
        vector = source.Eval(context)
        return number_of((vector if isinstance(vector, np.ndarray) else vector.value())[element])

    def is_input(self, name: str) -> bool:
        """Whether this is the name of an input port."""
        return name in self._ports

    def variable_number(self, name: str) -> int | None:
        """The number of a variable; None for other names."""
        return list(self._groups).index(name) if name in self._groups else None

    def part(self, name: str) -> tuple[int, int]:
        """First element and size of a part of the continuous state."""
        return self._firsts[name], self._sizes[name]

    def value_of(self, name: str, context: Any, state: State) -> Any:
        """The value of a quantity that a law of a state reads."""
        if name in TIME_NAMES:
            return context.get_time()
        if name == ELAPSED:
            return np.array([context.get_time() - context.get_discrete_state(self._entered).value()[state.number]])
        if name in self._ports:
            return self._ports[name].Eval(context)
        if name in self._groups:
            return np.array(context.get_discrete_state(self._groups[name]).value())
        first, size = self.part(name)
        return np.array(context.get_continuous_state_vector().value()[first : first + size])

    def wire_of(self, name: str, state: State) -> PartOf:
        """What a native function reads for a quantity."""
        if name == ELAPSED:
            return PartOf(self._elapsed_entry(state), 0, 1)
        if name in self._firsts:
            return PartOf(self._x, *self.part(name))
        return PartOf(self._ports[name] if name in self._ports else self._groups[name], 0, self._sizes[name])

    def place_of(self, name: str, state: State) -> tuple[Any, int]:
        """The placeholder of the vector that a quantity is in, and the number of its first element there."""
        if name in TIME_NAMES:
            return CURRENT_TIME, 0
        if name == ELAPSED:
            return EntryOf(int(self._elapsed_entry(state).cache_index())), 0
        if name in self._firsts:
            return CONTINUOUS_STATE, self._firsts[name]
        if name in self._ports:
            return InputOf(int(self._ports[name].get_index())), 0
        return DiscreteStateOf(int(self._groups[name])), 0

    def ticket_of(self, name: str, state: State) -> DependencyTicket:
        """What a quantity depends on."""
        if name in TIME_NAMES:
            return self.time_ticket()
        if name == ELAPSED:
            return self._elapsed_entry(state).ticket()
        if name in self._firsts:
            return self.xc_ticket()
        return self._ports[name].ticket() if name in self._ports else self.discrete_state_ticket(self._groups[name])

    def _calc_choice(
        self, laws: list[tuple[State, Law]], entries: list[CacheEntry] | None, bound: Any, context: Any, output: Any
    ) -> None:
        """Computes what the innermost active state gives; see _choice. Of symbols it has conditions in it."""
        active = context.get_discrete_state(self._active).value()
        if bound is not None and not hasattr(active[0], "real"):
            bound(context, output)
            return
        chosen = [i for i, (state, _) in enumerate(laws) if number_of(active[state.number]) > 0.5]
        if not chosen:
            output.SetFromVector(np.zeros(output.size()))
        elif entries is not None:
            output.SetFromVector(entries[chosen[-1]].Eval(context).value())
        else:
            state, law = laws[chosen[-1]]
            output.SetFromVector(law.value(lambda read: self.value_of(read, context, state)))

    def _elapsed_entry(self, state: State) -> CacheEntry:
        entry = self._elapsed.get(state.number)
        if entry is None:
            calc = elapsed.given(entered=PartOf(self._entered, state.number, 1))
            tickets = {self.time_ticket(), self.discrete_state_ticket(self._entered)}
            entry = self._sys_declare_entry(f"time in state '{state.name}'", BasicVector(1), calc, tickets)
            self._elapsed[state.number] = entry
        return entry

    # ------------------------------------------------------------------ helpers of construction

    def _where(self, what: str = "") -> str:
        return f"State machine '{self.GetSystemPathname()}'" + (f", {what}" if what else "")

    def _laws(self, given: Mapping[str, Any] | None, known: Mapping[str, int], kind: str, of: str) -> Laws:
        laws: Laws = {}
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"{self._where(of)}: {kind} must be a dict of names and laws, got {given!r}.")
        for name, law in (given or {}).items():
            if name not in known:
                raise ValueError(
                    f"{self._where(of)}: {kind} has the name '{name}', but it can only have {list(known) or 'none'}."
                )
            laws[name] = law_of(law, known[name], self._sizes, self._where(f"{kind} of '{name}', {of}"))
        return laws

    def _state(self, given: State | str, what: str) -> State:
        name = given.name if isinstance(given, State) else given
        found = self.chart.states.get(name) if isinstance(name, str) else None
        if found is None or (isinstance(given, State) and given.number != found.number):
            raise ValueError(
                f"{self._where(what)}: {given!r} is no state of this machine; its states are {list(self.chart.states)}."
            )
        return found

    def _require_finalized(self, is_finalized: bool, what: str) -> None:
        if self._is_finalized != is_finalized:
            remedy = "call Finalize before" if is_finalized else "this must come before Finalize"
            raise RuntimeError(f"{self._where(what)}: {remedy}.")


def _label(kind: str, given: Mapping[str, Any]) -> str:
    """How a picture shows what an action assigns, or a state gives."""
    if not given:
        return ""
    signs = {"flow": "d{}/dt = {}"}
    texts = [signs.get(kind, "{} = {}").format(name, text_of(law)) for name, law in given.items()]
    return f"{kind} " * (kind in ("entry", "during", "exit")) + ", ".join(texts)
