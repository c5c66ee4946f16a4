"""Plants in contact, built by the same lines for either library."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from explicit_products import as_pydrake
from numpy.typing import NDArray

APPROXIMATIONS = ("kTamsi", "kSap", "kSimilar", "kLagged")

Array = NDArray[np.float64]
Fill = Callable[[SimpleNamespace, Any], None]


@contextlib.contextmanager
def steps_in_lanes() -> Iterator[None]:
    """Here plants of AutoDiffXd take no steps on values."""
    from merganser.multibody.plant.step.dynamics import PlantDynamics

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlantDynamics, "advance_on_values", lambda *_arguments, **_options: None)
        yield


def contact_library(name: str) -> SimpleNamespace:
    """All names that a scene takes: of merganser for "ours", or else of pydrake."""
    if name == "ours":
        modules = ["framework", "framework.math", "geometry", "analysis"]
        root = "merganser"
    else:
        modules = ["systems.framework", "math", "geometry", "systems.analysis"]
        root = "pydrake"
    names: dict[str, Any] = {}
    for module in (*modules, "multibody.math", "multibody.tree", "multibody.plant"):
        package = importlib.import_module(f"{root}.{module}")
        names |= {name: getattr(package, name) for name in dir(package)}  # also those loaded when asked for
    return SimpleNamespace(**names)


def material(
    lib: SimpleNamespace, friction: float = 0.5, relaxation_time: float | None = None, **compliance: float
) -> Any:
    """Proximity properties; `compliance` may have point_stiffness and dissipation."""
    properties = lib.ProximityProperties()
    lib.AddContactMaterial(friction=lib.CoulombFriction(friction, friction), properties=properties, **compliance)
    if relaxation_time is not None:
        properties.AddProperty("material", "relaxation_time", relaxation_time)
    return properties


def hydroelastic(
    lib: SimpleNamespace,
    modulus: float | None,
    hint: float = 0.05,
    slab: float | None = None,
    friction: float = 0.5,
    relaxation_time: float | None = None,
    **compliance: float,
) -> Any:
    """Properties of a rigid geometry (modulus None), a compliant one, or a half space with a compliant slab."""
    properties = material(lib, friction, relaxation_time, **compliance)
    if modulus is None:
        lib.AddRigidHydroelasticProperties(hint, properties)
    elif slab is None:
        lib.AddCompliantHydroelasticProperties(hint, modulus, properties)
    else:
        lib.AddCompliantHydroelasticPropertiesForHalfSpace(slab, modulus, properties)
    return properties


def add_ground(lib: SimpleNamespace, plant: Any, properties: Any, height: float = 0.0, shape: Any = None) -> None:
    """A half space, or another shape with its middle at that height."""
    X_WG = lib.RigidTransform([0.0, 0.0, height])
    shape = lib.HalfSpace() if shape is None else shape
    plant.RegisterCollisionGeometry(plant.world_body(), X_WG, shape, "ground", properties)


def add_free_body(
    lib: SimpleNamespace, plant: Any, name: str, shape: Any, properties: Any, mass: float = 1.0, inertia: Any = None
) -> Any:
    """A body that may fall, of even density unless its inertia is given."""
    if inertia is None:
        of_unit_density = lib.CalcSpatialInertia(shape, 1.0)
        inertia = lib.SpatialInertia(mass, of_unit_density.get_com(), of_unit_density.get_unit_inertia())
    body = plant.AddRigidBody(name, inertia)
    plant.RegisterCollisionGeometry(body, lib.RigidTransform(), shape, name, properties)
    return body


class Scene:
    """A diagram of a plant and a SceneGraph, with a Simulator.

    Args:
        lib: whose plant.
        time_step: 0 for a continuous plant [s].
        fill: adds bodies, before Finalize().
        approximation: of a discrete plant.
        contact_model: of the plant.
    """

    def __init__(
        self,
        lib: SimpleNamespace,
        time_step: float,
        fill: Fill,
        approximation: str = "kLagged",
        contact_model: str = "kPoint",
    ) -> None:
        builder = lib.DiagramBuilder()
        self.lib, self.time_step = lib, time_step
        self.plant, self.scene_graph = lib.AddMultibodyPlantSceneGraph(builder, time_step)
        as_pydrake(self.plant)
        if time_step > 0.0:
            self.plant.set_discrete_contact_approximation(getattr(lib.DiscreteContactApproximation, approximation))
        self.plant.set_contact_model(getattr(lib.ContactModel, contact_model))
        fill(lib, self.plant)
        self.plant.Finalize()
        self.simulator = lib.Simulator(builder.Build())
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        self._num_steps = 0

    @property
    def state(self) -> Array:
        """[q; v], a copy."""
        return np.array(self.plant.GetPositionsAndVelocities(self.context))

    def run(self, num_steps: int, start: Sequence[float] | Array | None = None) -> Array:
        """Steps on, from a state if one is given; returns all states, shape [num_steps + 1, num_q + num_v]."""
        if start is not None:
            self.plant.SetPositionsAndVelocities(self.context, start)
        states = [self.state]
        for _ in range(num_steps):
            self._num_steps += 1
            self.simulator.AdvanceTo(self._num_steps * self.time_step)
            states.append(self.state)
        return np.array(states)

    def contacts(self) -> list[Any]:
        """The contacts of the last step."""
        results = self.plant.get_contact_results_output_port().Eval(self.context)
        return [results.point_pair_contact_info(i) for i in range(results.num_point_pair_contacts())]

    def surfaces(self) -> list[Any]:
        """The hydroelastic contacts of the last step."""
        results = self.plant.get_contact_results_output_port().Eval(self.context)
        return [results.hydroelastic_contact_info(i) for i in range(results.num_hydroelastic_contacts())]


def free_state(*positions: Sequence[float]) -> Array:
    """[q; v] at rest of free bodies at these places, upright; shape [13 num_bodies]."""
    q = np.concatenate([[1.0, 0.0, 0.0, 0.0, *p_WB] for p_WB in positions])
    return np.concatenate([q, np.zeros(6 * len(positions))])
