"""The counts of a simulation in words."""

from __future__ import annotations

import json
import math
from typing import Any

from merganser.analysis.simulation.simulator import Simulator
from merganser.framework import LeafContext
from merganser.framework.core.inside import declared_events


def PrintSimulatorStatistics(simulator: Simulator) -> None:
    """Prints how many steps, events and derivatives a simulation took, to standard output.

    Of plants it says how many of these Python has computed, and why compiled code did not.
    """
    integrator = simulator.get_integrator()
    control = "at fixed steps" if integrator.get_fixed_step_mode() else "with error control"
    summary = dict(integrator.GetStatisticsSummary())
    print("Simulator:")
    print(f"  steps: {simulator.get_num_steps_taken()}")
    print(f"  publishes: {simulator.get_num_publishes()}")
    print(f"  discrete updates: {simulator.get_num_discrete_updates()}")
    print(f"  unrestricted updates: {simulator.get_num_unrestricted_updates()}")
    if integrator.get_num_steps_taken() == 0:
        print(f"{type(integrator).__name__} {control} took no steps.")
    else:
        print(f"{type(integrator).__name__} {control}:")
        for name, value in summary.items():
            label = name.removeprefix("integrator_").removeprefix("num_").replace("_", " ")
            print(f"  {label}: {value:g}{' s' if name.endswith(('size_taken', 'time_taken')) else ''}")
    # What blocks with compiled code say of what Python has computed of it
    lines: dict[str, None] = {}
    for context in simulator.get_context().parts():
        if not isinstance(context, LeafContext):
            continue
        leaf: Any = context.system
        codes = [entry.native for entry in leaf._sys_cache_entries]
        for code in [*codes, *(event.native for _, event in declared_events(leaf, context))]:
            describe = getattr(code, "describe_calls", None)
            if describe is not None and (text := describe(context)):
                lines[f"{leaf.GetSystemPathname()}: {text}."] = None
    for line in lines:
        print(line)
    print("JSON:")
    print(json.dumps({name: value if math.isfinite(value) else None for name, value in summary.items()}, indent=2))
