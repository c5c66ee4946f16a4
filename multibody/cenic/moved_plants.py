"""The plants that an integrator moves by steps of contact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from merganser.framework import Context, Diagram, System
from merganser.multibody.cenic.arrays import PlantArrays
from merganser.multibody.contact import make_settings
from merganser.multibody.plant import MultibodyPlant


class MovedPlant:
    """A continuous plant in the Context of the whole.

    Args:
        plant: the plant.
        context: of it.
        first: where the continuous state of the whole begins among all values.

    Attributes:
        plant: as given.
        steps: its steps, see ../plant/step/variable_steps.py.
        state, velocities: slices of its state and its velocities in the continuous state of the whole.
    """

    def __init__(self, plant: MultibodyPlant, context: Context, first: int) -> None:
        self.plant, self.steps = plant, plant._dynamics.variable_steps_in(context)
        start, end = (place - first for place in context.layout.xc_range)
        self.state, self._solver = slice(start, end), (0.0, 0, 0.0, False)
        rates = start + plant.num_positions()
        self.velocities = slice(rates, rates + plant.num_velocities())

    def stiction_tolerance(self) -> float:
        """Velocity up to which bodies that stick may slip [m/s]."""
        return self.plant._settings.choices.stiction_tolerance

    def solve_to(self, tolerance: float, max_iterations: int, relaxation: float, looks_ahead: bool) -> None:
        """Sets the relative tolerance of the momentum of contact problems.

        Args:
            tolerance: as given.
            max_iterations: of Newton's method.
            relaxation: time in which errors of rigid constraints decay at the fastest [s].
            looks_ahead: whether steps see what the fastest body may meet within them.
        """
        self._solver = tolerance, max_iterations, relaxation, looks_ahead
        settings = make_settings(
            stiction_tolerance=self.stiction_tolerance(), relative_tolerance=tolerance, max_iterations=max_iterations,
            shortest_relaxation=relaxation,
        )  # fmt: skip
        self.steps.buffers.solve_by(settings, looks_ahead)

    def moved_in(self, context: Context) -> MovedPlant:
        """The same plant in another Context of the whole, solved as here."""
        first, _ = context.layout.xc_range
        moved = MovedPlant(self.plant, self.plant.GetMyContextFromRoot(context), first)
        moved.solve_to(*self._solver)
        return moved

    def arrays(self) -> PlantArrays:
        """What attempts work on."""
        steps, num_q = self.steps, self.plant.num_positions()
        slopes, sample = (slot.value.value() for slot in (steps.step_slot, steps.inputs_slot))
        of_inputs = steps.columns, steps.acted_on, sample.copy(), *np.zeros((2, len(steps.columns)))
        return PlantArrays(self.state.start, num_q, steps.arguments, slopes, sample, *of_inputs)

    def name_of(self, place: int) -> str:
        """Describes the element at this index of its state."""
        plant, k = self.plant, place - self.state.start
        positions = [f"position {name}" for name in plant.GetPositionNames()]
        velocities = [f"velocity {name}" for name in plant.GetVelocityNames()]
        actuators = map(plant.get_joint_actuator, plant.GetJointActuatorIndices())
        laws = [(a.name(), a.law()) for a in actuators]
        activations = [f"activation of {name}" for name, law in laws if law for _ in range(law.num_states())]
        activations += [f"displacement of the surface of {body.name()}" for body in plant._tree.belts()]
        return f"{[*positions, *velocities, *activations][k]} of plant '{plant.GetSystemPathname()}'"


def moved_plants(system: System, context: Context) -> list[MovedPlant]:
    """The continuous plants of a system.

    Raises:
        ValueError: the system has no continuous plant, or one with time derivatives of its own.
    """
    first, _ = context.layout.xc_range
    leaves = [leaf for leaf in _leaves(system) if isinstance(leaf, MultibodyPlant)]
    plants = [MovedPlant(leaf, leaf.GetMyContextFromRoot(context), first) for leaf in leaves if not leaf.is_discrete()]
    if not plants:
        discrete = f" Plant '{leaves[0].GetSystemPathname()}' is discrete." if leaves else ""
        raise ValueError(
            f"CenicIntegrator: system '{system.GetSystemPathname()}' has no continuous MultibodyPlant to move."
            f"{discrete} Give a plant the time step 0, or take another integrator."
        )
    return plants


def _leaves(system: System) -> Iterator[System]:
    if isinstance(system, Diagram):
        for part in system.GetSystems():
            yield from _leaves(part)
    else:
        yield system
