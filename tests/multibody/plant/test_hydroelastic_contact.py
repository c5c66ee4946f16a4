"""Hydroelastic contact as ports, settings, samples and derivatives of a plant show it."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import (
    APPROXIMATIONS,
    Fill,
    Scene,
    add_free_body,
    add_ground,
    contact_library,
    free_state,
    hydroelastic,
    material,
)

from merganser.analysis import BatchSimulator
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.geometry import HydroelasticContactRepresentation
from merganser.multibody.plant import HydroelasticContactInfo

pytest_plugins = ["compile_policy"]

LIB = contact_library("ours")
H = 1e-3
G = 9.81
HINT = 0.03


def balls(lib: SimpleNamespace, plant: Any) -> None:
    """Two compliant balls, one on the other, on a rigid floor."""
    for i in range(2):
        soft = hydroelastic(lib, 1e5 * (i + 1), HINT, relaxation_time=0.05, dissipation=10.0)
        add_free_body(lib, plant, f"ball{i}", lib.Sphere(0.1), soft)
    add_ground(lib, plant, hydroelastic(lib, None))


def tower(lib: SimpleNamespace, plant: Any) -> None:
    """The same, and a box beside them that touches the floor at points."""
    balls(lib, plant)
    add_free_body(lib, plant, "box", lib.Box(0.1, 0.1, 0.1), material(lib))


def start(has_box: bool = True) -> Any:
    box = [[0.5, 0.0, 0.0499]] if has_box else []
    state = free_state([0.0, 0.0, 0.095], [0.03, 0.0, 0.285], *box)
    begin = 7 * (2 + has_box)
    state[begin : begin + 12] = np.linspace(-0.1, 0.2, 12)
    return state


def scene_of(fill: Fill = tower, approximation: str = "kLagged", time_step: float = H) -> Scene:
    return Scene(LIB, time_step, fill, approximation, "kHydroelasticWithFallback")


def results_of(scene: Scene) -> Any:
    return scene.plant.get_contact_results_output_port().Eval(scene.context)


def test_surfaces_and_points_are_distinguished() -> None:
    scene = scene_of()
    scene.run(5, start())
    results = results_of(scene)
    assert (results.num_hydroelastic_contacts(), results.num_point_pair_contacts()) == (2, 4)
    info = results.hydroelastic_contact_info(0)
    assert isinstance(info, HydroelasticContactInfo)
    assert info is results.hydroelastic_contact_info(0)
    assert info.contact_surface().representation() == HydroelasticContactRepresentation.kPolygon
    for i in (-1, 2):
        with pytest.raises(IndexError, match=r"there are 2 hydroelastic contacts"):
            results.hydroelastic_contact_info(i)


def test_surfaces_may_be_selected_and_results_copied() -> None:
    scene = scene_of()
    scene.run(5, start())
    results = results_of(scene)
    areas = [results.hydroelastic_contact_info(i).contact_surface().total_area() for i in range(2)]
    small = results.SelectHydroelastic(lambda info: info.contact_surface().total_area() == min(areas))
    assert (small.num_hydroelastic_contacts(), small.num_point_pair_contacts()) == (1, 4)
    for other in (copy.copy(small), copy.deepcopy(small)):
        assert other.hydroelastic_contact_info(0).contact_surface().total_area() == min(areas)
    assert results.num_hydroelastic_contacts() == 2


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_forces_of_surfaces_are_those_that_accelerate_bodies(approximation: str) -> None:
    scene = scene_of(approximation=approximation)
    before, after = scene.run(5, start())[-2:]
    inspector = scene.scene_graph.model_inspector()
    forces = {"ball0": np.zeros(3), "ball1": np.zeros(3)}
    for info in scene.surfaces():
        surface = info.contact_surface()
        for id, sign in ((surface.id_M(), 1.0), (surface.id_N(), -1.0)):
            name = inspector.GetName(id)
            if name in forces:
                forces[name] += sign * info.F_Ac_W().translational()
    for i, name in enumerate(forces):
        places = slice(21 + 6 * i + 3, 21 + 6 * i + 6)
        momentum = (after - before)[places] / H - [0.0, 0.0, -G]
        np.testing.assert_allclose(forces[name], momentum, rtol=0, atol=2e-4 * G)
    port = scene.plant.get_generalized_contact_forces_output_port(LIB.default_model_instance())
    np.testing.assert_allclose(port.Eval(scene.context)[3:6], forces["ball0"], rtol=1e-9, atol=1e-9)
    spatial = scene.plant.get_body_spatial_accelerations_output_port().Eval(scene.context)
    expected = forces["ball1"] + [0.0, 0.0, -G]
    np.testing.assert_allclose(spatial[2].translational(), expected, rtol=1e-3, atol=1e-3)


def test_reaction_forces_carry_what_presses_on_a_welded_body() -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), hydroelastic(lib, 1e5, HINT, dissipation=20.0))
        table = add_free_body(lib, plant, "table", lib.Box(0.5, 0.5, 0.1), hydroelastic(lib, None))
        plant.WeldFrames(plant.world_frame(), table.body_frame(), lib.RigidTransform())

    scene = scene_of(fill)
    scene.run(300, free_state([0.0, 0.0, 0.145]))
    reactions = scene.plant.get_reaction_forces_output_port().Eval(scene.context)
    (place,) = (
        i
        for i, joint in enumerate(scene.plant.GetJointIndices())
        if scene.plant.get_joint(joint).child_body().name() == "table"
    )
    np.testing.assert_allclose(reactions[place].translational(), [0.0, 0.0, 2.0 * G], atol=0.02)


def test_strict_contact_refuses_what_has_no_surface_by_the_names_of_both() -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "stone", lib.Sphere(0.1), hydroelastic(lib, None))
        add_ground(lib, plant, hydroelastic(lib, None))

    for time_step in (H, 0.0):
        scene = Scene(LIB, time_step, fill, contact_model="kHydroelastic")
        state = free_state([0.0, 0.0, 0.0999])
        scene.plant.SetPositionsAndVelocities(scene.context, state)
        with pytest.raises(RuntimeError, match=r"'stone' \(rigid\) and 'ground' \(rigid\) of plant") as raised:
            scene.simulator.AdvanceTo(0.01)
        assert "kHydroelasticWithFallback" in str(raised.value)
        np.testing.assert_array_equal(scene.state, state)


def test_point_contact_looks_at_no_surface() -> None:
    scene = Scene(LIB, H, tower, contact_model="kPoint")
    scene.run(3, start())
    results = results_of(scene)
    assert (results.num_hydroelastic_contacts(), results.num_point_pair_contacts()) == (0, 6)


@pytest.mark.parametrize(("time_step", "expected"), [(H, "kPolygon"), (0.0, "kTriangle")])
def test_faces_are_polygons_or_triangles_as_in_pydrake(time_step: float, expected: str) -> None:
    scene = scene_of(time_step=time_step)
    assert scene.plant.get_contact_surface_representation().name == expected
    scene.plant.SetPositionsAndVelocities(scene.context, start())
    if time_step:
        scene.simulator.AdvanceTo(H)
    assert scene.surfaces()[0].contact_surface().representation().name == expected


@pytest.mark.parametrize("approximation", ["kSap", "kTamsi"])
def test_faces_of_triangles_carry_the_same_weight(approximation: str) -> None:
    ends = []
    for name in ("kPolygon", "kTriangle"):

        def fill(lib: SimpleNamespace, plant: Any, name: str = name) -> None:
            tower(lib, plant)
            plant.set_contact_surface_representation(getattr(HydroelasticContactRepresentation, name))

        scene = scene_of(fill, approximation)
        ends.append(scene.run(20, start())[-1])
        assert scene.surfaces()[0].contact_surface().representation().name == name
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-3)
    assert np.abs(ends[0] - ends[1]).max() > 1e-9


def test_patches_are_saved_for_other_programs(tmp_path: Any) -> None:
    import trimesh

    scene = scene_of()
    scene.run(5, start())
    info = scene.surfaces()[0]
    surface = info.contact_surface()
    info.Save(tmp_path / "patch.ply")
    mesh = trimesh.load(tmp_path / "patch.ply", process=False)
    assert mesh.area == pytest.approx(surface.total_area(), rel=1e-9)
    info.Save(tmp_path / "patch.vtk")
    lines = (tmp_path / "patch.vtk").read_text().splitlines()
    assert f"POLYGONS {surface.num_faces()}" in next(line for line in lines if line.startswith("POLYGONS"))
    begin = lines.index("LOOKUP_TABLE default") + 1
    pressures = [float(line) for line in lines[begin : begin + surface.num_vertices()]]
    expected = [surface.poly_e_MN().EvaluateAtVertex(v) for v in range(surface.num_vertices())]
    np.testing.assert_array_equal(pressures, expected)
    with pytest.raises(ValueError, match=r"patch.stl.*must end in \.vtk or \.ply"):
        info.Save(tmp_path / "patch.stl")


def test_samples_with_surfaces_go_into_files(tmp_path: Any) -> None:
    from merganser.framework import LoadContext

    scene = scene_of()
    scene.run(5, start())
    scene.simulator.get_context().Save(tmp_path / "state.npz")
    root = LoadContext(scene.simulator.get_system(), tmp_path / "state.npz")
    results = scene.plant.get_contact_results_output_port().Eval(scene.plant.GetMyContextFromRoot(root))
    found = [results.hydroelastic_contact_info(i) for i in range(results.num_hydroelastic_contacts())]
    expected = scene.surfaces()
    assert len(found) == len(expected) == 2
    for i, j in zip(found, expected):
        np.testing.assert_array_equal(i.F_Ac_W().get_coeffs(), j.F_Ac_W().get_coeffs())
        assert i.contact_surface().num_faces() == j.contact_surface().num_faces()


@pytest.mark.usefixtures("compile_at_once")
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_compiled_simulations_are_those_in_python_bit_for_bit(
    approximation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []
    for way in ("never", "always"):
        monkeypatch.setenv("MERGANSER_PLAN", way)
        scene = scene_of(approximation=approximation)
        scene.plant.SetPositionsAndVelocities(scene.context, start())
        scene.simulator.AdvanceTo(0.05)
        forces = [info.F_Ac_W().get_coeffs() for info in scene.surfaces()]
        ends.append((scene.state, np.concatenate(forces)))
        assert (scene.plant._dynamics.native.num_calls == 0) == (way == "always")
    for of_python, of_plan in zip(*ends):
        np.testing.assert_array_equal(of_python, of_plan)


def test_batches_give_what_single_simulations_give() -> None:
    states = np.column_stack([start() + 0.01 * i * np.eye(39)[13] for i in range(6)])  # a ball begins higher
    diagram = scene_of().simulator.get_system()
    together = BatchSimulator(diagram, parallelize=2).simulate(states, 0.05).states
    for state, found in zip(states.T, together.T):
        scene = scene_of()
        scene.plant.SetPositionsAndVelocities(scene.context, state)
        scene.simulator.AdvanceTo(0.05)
        np.testing.assert_array_equal(found, scene.state)


@pytest.mark.parametrize("approximation", [*APPROXIMATIONS, "continuous"])
def test_derivatives_are_those_of_differences(approximation: str) -> None:
    is_continuous = approximation == "continuous"
    name, time_step = ("kLagged", 0.0) if is_continuous else (approximation, H)
    scene = scene_of(balls, name, time_step)
    diagram, plant = scene.simulator.get_system(), scene.plant
    if is_continuous:
        plant.SetPositionsAndVelocities(scene.context, start(False))
    else:
        scene.run(20, start(False))
        plant._settings.of_solver()["relative_tolerance"] = 1e-13
    x = scene.state
    with_derivatives = diagram.ToAutoDiffXd()
    found = ExtractGradient(_advanced(with_derivatives, plant, InitializeAutoDiff(x).ravel(), is_continuous))
    directions, h, columns = np.random.default_rng(1).normal(size=(3, len(x))), 1e-7, []
    for along in directions:
        ends = [_advanced(diagram, plant, x + sign * h * along, is_continuous) for sign in (1.0, -1.0)]
        columns.append((ends[0] - ends[1]) / (2 * h))
    expected = np.stack(columns, axis=1)
    np.testing.assert_allclose(found @ directions.T, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def _advanced(diagram: Any, of_floats: Any, x: Any, is_continuous: bool) -> Any:
    """The derivatives of a continuous plant, or the state after a step."""
    root = diagram.CreateDefaultContext()
    plant = diagram.GetSubsystemByName(of_floats.get_name())
    context = plant.GetMyMutableContextFromRoot(root)
    plant.SetPositionsAndVelocities(context, x)
    if is_continuous:
        return plant.EvalTimeDerivatives(context).CopyToVector()
    plant.ExecuteForcedEvents(context)
    return plant.GetPositionsAndVelocities(context)


def test_results_of_derivatives_have_them() -> None:
    scene = scene_of(balls, time_step=0.0)
    diagram = scene.simulator.get_system().ToAutoDiffXd()
    plant = diagram.GetSubsystemByName(scene.plant.get_name())
    context = plant.GetMyMutableContextFromRoot(diagram.CreateDefaultContext())
    plant.SetPositionsAndVelocities(context, InitializeAutoDiff(start(False)).ravel())
    info = plant.get_contact_results_output_port().Eval(context).hydroelastic_contact_info(0)
    assert info.F_Ac_W().translational()[2].derivatives().shape == (26,)
    assert info.contact_surface().total_area().derivatives()[6] != 0.0


@pytest.mark.usefixtures("compile_at_once", "compiled_loop")
def test_warm_steps_of_a_compiled_simulation_allocate_nothing() -> None:
    from numba.core import runtime

    scene = scene_of()
    scene.plant.SetPositionsAndVelocities(scene.context, start())
    scene.simulator.AdvanceTo(0.1)
    counts = []
    for time in (0.101, 0.201):  # one step, and a hundred
        runtime._nrt_python.memsys_enable_stats()
        before = runtime.rtsys.get_allocation_stats().alloc
        scene.simulator.AdvanceTo(time)
        counts.append(runtime.rtsys.get_allocation_stats().alloc - before)
        runtime._nrt_python.memsys_disable_stats()
    assert counts[0] == counts[1]


def test_geometries_that_cannot_move_have_no_surface() -> None:
    def fill(lib: SimpleNamespace, plant: Any) -> None:
        soft = hydroelastic(lib, 1e5, HINT)
        plant.RegisterCollisionGeometry(plant.world_body(), lib.RigidTransform(), lib.Sphere(0.1), "bump", soft)
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), soft)
        add_ground(lib, plant, hydroelastic(lib, None))

    scene = scene_of(fill)
    scene.run(1, free_state([0.0, 0.0, 0.195]))
    assert len(scene.surfaces()) == 1
    surface = scene.surfaces()[0].contact_surface()
    names = {scene.scene_graph.model_inspector().GetName(id) for id in (surface.id_M(), surface.id_N())}
    assert names == {"bump", "ball"}
