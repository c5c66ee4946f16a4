"""The plants of textbooks against pydrake's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

theirs = pytest.importorskip("pydrake.examples")

import merganser.examples as ours  # noqa: E402

PLANTS = {
    "PendulumPlant": 1, "AcrobotPlant": 1, "QuadrotorPlant": 4, "VanDerPolOscillator": 0, "CompassGait": 1,
    "RimlessWheel": 0,
}  # fmt: skip


@pytest.mark.parametrize(("name", "num_inputs"), PLANTS.items())
def test_derivatives_of_random_states(name: str, num_inputs: int) -> None:
    rng = np.random.default_rng(0)
    plants = [getattr(package, name)() for package in (theirs, ours)]
    contexts = [plant.CreateDefaultContext() for plant in plants]
    for _ in range(20):
        x, u = rng.uniform(-1.2, 1.2, contexts[0].num_continuous_states()), rng.normal(size=num_inputs)
        for plant, context in zip(plants, contexts):
            context.SetContinuousState(x)
            if num_inputs:
                plant.get_input_port(0).FixValue(context, u)
        there, here = (p.EvalTimeDerivatives(c).CopyToVector() for p, c in zip(plants, contexts))
        np.testing.assert_allclose(here, there, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("name", PLANTS)
def test_ports_outputs_and_energies_in_random_states(name: str) -> None:
    rng = np.random.default_rng(5)
    plants = [getattr(package, name)() for package in (theirs, ours)]
    ports = [
        [(port.get_name(), port.size()) for port in [*map(plant.get_input_port, range(plant.num_input_ports()))]]
        + [(port.get_name(), port.size()) for port in [*map(plant.get_output_port, range(plant.num_output_ports()))]]
        for plant in plants
    ]
    assert ports[0] == ports[1]
    contexts = [plant.CreateDefaultContext() for plant in plants]
    for flag in (False, True, True):
        x, toe = rng.normal(size=contexts[0].num_continuous_states()), rng.normal(size=1)
        for context in contexts:
            context.SetContinuousState(x)
            if context.num_abstract_states():
                context.SetDiscreteState(0, toe)
                context.SetAbstractState(0, flag)
        for index in range(plants[0].num_output_ports()):
            there, here = (p.get_output_port(index).Eval(c) for p, c in zip(plants, contexts))
            if name == "RimlessWheel" and index == 1:
                there[6:9] *= -1.0  # pydrake's velocity of the hub is not that of its position
            np.testing.assert_allclose(here, there, atol=1e-12)
        for energy in ("CalcKineticEnergy", "CalcPotentialEnergy"):
            there, here = (getattr(p, energy)(c) for p, c in zip(plants, contexts))
            assert here == pytest.approx(there, abs=1e-9)


def _walk(name: str, state: list[float], ours_too: bool) -> np.ndarray:
    """States of a plant every 0.25 s, on its way through several landings."""
    if ours_too:
        from merganser.analysis import Simulator

        plant = getattr(ours, name)()
    else:
        from pydrake.systems.analysis import Simulator

        plant = getattr(theirs, name)()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    simulator.get_mutable_integrator().set_target_accuracy(1e-11)
    context.SetAccuracy(1e-11)
    context.SetContinuousState(state)
    rows = []
    for n in range(1, 7):
        simulator.AdvanceTo(0.25 * n)
        x, toe = context.get_continuous_state_vector().CopyToVector(), context.get_discrete_state(0).CopyToVector()
        rows.append([*x, *toe, float(context.get_abstract_state(0).get_value())])
    return np.array(rows)


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("CompassGait", [0.0, 0.0, 0.4, -2.0]),
        ("CompassGait", [0.0, 0.0, 0.4, -2.2]),
        ("RimlessWheel", [0.0, 5.0]),  # rolls
        ("RimlessWheel", [0.1, -3.0]),  # uphill first
        ("RimlessWheel", [-0.2, 0.0]),  # rocks and comes to rest
    ],
)
def test_walks_through_landings(name: str, state: list[float]) -> None:
    there, here = _walk(name, state, False), _walk(name, state, True)
    assert np.ptp(here[:, -2]) > 0.0
    np.testing.assert_allclose(here, there, atol=1e-9)


def test_the_regulator_of_the_quadrotor() -> None:
    there, here = (
        package.StabilizingLQRController(package.QuadrotorPlant(), [1.0, -2.0, 3.0]) for package in (theirs, ours)
    )
    np.testing.assert_allclose(here.D(), there.D(), atol=1e-9)
    np.testing.assert_allclose(here.y0(), there.y0(), atol=1e-9)


GEOMETRIES = {
    "Pendulum": ("PendulumPlant", [0.3, 0.0]), "Acrobot": ("AcrobotPlant", [0.3, 0.4, 0.0, 0.0]),
    "RimlessWheel": ("RimlessWheel", [0.1, 0.2]), "CompassGait": ("CompassGait", [0.1, 0.2, 0.3, 0.4]),
}  # fmt: skip


def _looks(package: Any, framework: Any, geometry: Any, name: str) -> dict[str, list[float]]:
    """Positions of frames and geometries by name, and sizes."""
    plant_name, state = GEOMETRIES[name]
    builder = framework.DiagramBuilder()
    plant, scene_graph = builder.AddSystem(getattr(package, plant_name)()), builder.AddSystem(geometry.SceneGraph())
    port = plant.get_output_port(plant.num_output_ports() - 1)
    block = getattr(package, f"{name}Geometry").AddToBuilder(builder, port, scene_graph)
    context = builder.Build().CreateDefaultContext()
    context.SetContinuousState(state)
    query = scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(context))
    inspector = query.inspector()
    found = {
        inspector.GetName(id): [
            *query.GetPoseInWorld(id).translation(), *query.GetPoseInWorld(inspector.GetFrameId(id)).translation(),
            geometry.CalcVolume(inspector.GetShape(id)),
        ]
        for id in inspector.GetAllGeometryIds()
    }  # fmt: skip
    return found | {port.get_name(): [0.0] for port in (block.get_input_port(0), block.get_output_port(0))}


@pytest.mark.parametrize("name", GEOMETRIES)  # that of the quadrotor is a mesh of a package that pydrake downloads
def test_what_plants_look_like(name: str) -> None:
    import pydrake.geometry
    import pydrake.systems.framework

    import merganser.framework
    import merganser.geometry

    there = _looks(theirs, pydrake.systems.framework, pydrake.geometry, name)
    here = _looks(ours, merganser.framework, merganser.geometry, name)
    assert here.keys() == there.keys()
    for each in here:
        np.testing.assert_allclose(here[each], there[each], rtol=1e-9, atol=1e-12, err_msg=each)


def test_torques_of_the_swing_up_controller() -> None:
    rng = np.random.default_rng(1)
    blocks = [package.AcrobotSpongController() for package in (theirs, ours)]
    contexts = [block.CreateDefaultContext() for block in blocks]
    for n in range(60):
        x = rng.normal(size=4) * 2.0 if n < 30 else np.array([np.pi, 0.0, 0.0, 0.0]) + 0.03 * rng.normal(size=4)
        for block, context in zip(blocks, contexts):
            block.get_input_port(0).FixValue(context, x)
        there, here = (block.get_output_port(0).Eval(context)[0] for block, context in zip(blocks, contexts))
        assert here == pytest.approx(there, abs=1e-8)


@pytest.mark.parametrize(
    "name", [name for name in ours.__all__ if name.endswith(("Params", "State", "Input"))]
)
def test_elements_of_vectors(name: str) -> None:
    there, here = getattr(theirs, name)(), getattr(ours, name)()
    assert here.CopyToVector().tolist() == pytest.approx(there.CopyToVector().tolist())
    for index, element in enumerate(here.GetCoordinateNames()):
        getattr(here, f"set_{element}")(0.5)
        there[index] = 0.5
        assert here[index] == getattr(here, element)() == 0.5
        assert not hasattr(there, element) or getattr(there, element)() == 0.5  # pydrake forgot one of them


def test_the_limit_cycle() -> None:
    there, here = (package.VanDerPolOscillator.CalcLimitCycle() for package in (theirs, ours))
    np.testing.assert_allclose(here, there, atol=1e-10)
