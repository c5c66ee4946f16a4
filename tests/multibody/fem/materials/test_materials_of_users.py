"""Materials that are defined outside the package, as a user would: bodies of them bend, fall, rest and are refused."""

import copy
import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from soft_bodies import bar_mesh, clamped_bar, config
from soft_materials import FIBERS, SAINT_VENANT_KIRCHHOFF

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, GeometryInstance
from merganser.multibody.fem import DeformableBodyConfig, MaterialModel, differentiate_equilibrium
from merganser.multibody.fem.body import FemBody
from merganser.multibody.fem.layout import report_dtype
from merganser.multibody.fem.newton import free_motion
from merganser.multibody.fem.stress import cauchy_stresses
from merganser.multibody.plant import AddMultibodyPlantSceneGraph

E = 1e5


def fibers_along(direction, stiffness, nu=0.2):
    material = config(MaterialModel.kNeoHookean, E, nu)
    material.set_material_model(FIBERS, [stiffness, *direction])
    return material


def test_forces_of_a_body_are_the_derivatives_of_its_energy():
    for material in (config(SAINT_VENANT_KIRCHHOFF), config(SAINT_VENANT_KIRCHHOFF, averages_volume=True),
                     fibers_along([0.6, 0.8, 0.0], 3e5)):  # fmt: skip
        body = FemBody(bar_mesh(cells=(2, 1, 1)), material)
        random = np.random.default_rng(3)
        q = body.mesh.vertex_array().ravel() + random.uniform(-0.01, 0.01, 3 * body.num_nodes)
        change = random.normal(size=q.size)
        slope = (body.elastic_energy(q + 1e-6 * change) - body.elastic_energy(q - 1e-6 * change)) / 2e-6
        assert slope == pytest.approx(-body.elastic_forces(q) @ change, rel=1e-7)


@pytest.mark.parametrize("averages_volume", [False, True])
def test_a_step_is_the_same_compiled_and_interpreted(averages_volume):
    material = config(SAINT_VENANT_KIRCHHOFF, damping=0.01, averages_volume=averages_volume)
    mesh = bar_mesh((0.2, 0.1, 0.1), (1, 1, 1))
    body = FemBody(mesh, material, mesh.vertex_array()[:, 0] < 1e-9)
    q, v = mesh.vertex_array().ravel(), np.random.default_rng(2).normal(size=3 * body.num_nodes)
    v[np.repeat(body.is_held, 3)] = 0.0
    results = []
    for step in (free_motion, free_motion.interpreted):
        out, report = np.full((2, q.size), np.nan), np.zeros(1, report_dtype)[0]
        assert step(0.02, body.arrays, q, q, v, np.zeros(q.size), body.make_work(), out[0], out[1], report) == 0
        results.append(out)
    assert results[0] == pytest.approx(results[1], abs=1e-11)


def test_fibers_make_a_body_stiffer_along_them_alone():
    k, strain = 4e5, 1e-4
    tensions = {}
    for name, direction in (("along", [1.0, 0.0, 0.0]), ("across", [0.0, 1.0, 0.0])):
        body = FemBody(bar_mesh(), fibers_along(direction, k))
        points = body.deformed_points((body.mesh.vertex_array() * [1.0 + strain, 1.0, 1.0]).ravel())
        tensions[name] = float(points["P"][0, 0, 0])
    assert (tensions["along"] - tensions["across"]) / strain == pytest.approx(k, rel=1e-3)  # k (|Fa|^2 - 1) / 2


def test_stress_of_a_material_that_is_not_linear_is_that_of_cauchy():
    body = FemBody(bar_mesh(), config(SAINT_VENANT_KIRCHHOFF))
    F = np.diag([1.2, 0.9, 1.0])
    strain = 0.5 * (F @ F - np.eye(3))
    mu, second = body.arrays.material["mu"], body.arrays.material["lambda"]
    expected = F @ (2.0 * mu * strain + second * np.trace(strain) * np.eye(3)) @ F / np.linalg.det(F)
    for stress in cauchy_stresses(body, (body.mesh.vertex_array() @ F).ravel()):
        assert stress == pytest.approx(expected, rel=1e-9, abs=1e-6)


def hanging_bar(material):
    """A plant with a bar that is held at x = 0."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.01)
    model = plant.mutable_deformable_model()
    instance = GeometryInstance(RigidTransform([0.2, 0.0, 0.0]), Box(0.4, 0.1, 0.1), "bar")
    id = model.RegisterDeformableBody(instance, material, 0.1)
    model.SetWallBoundaryCondition(id, [1e-6, 0.0, 0.0], [1.0, 0.0, 0.0])
    plant.Finalize()
    simulator = Simulator(builder.Build())
    return plant, model.GetBody(id), simulator


def test_bodies_of_plants_sag_less_with_fibers_and_their_rest_has_derivatives():
    sags = []
    for stiffness in (0.0, 1e6):
        material = fibers_along([1.0, 0.0, 0.0], stiffness)
        material.set_mass_damping_coefficient(30.0)
        plant, body, simulator = hanging_bar(material)
        simulator.AdvanceTo(0.5)
        context = plant.GetMyContextFromRoot(simulator.get_context())
        sags.append(-body.GetPositions(context)[2].min())
    assert sags[1] < 0.6 * sags[0]
    rests = []
    for stiffness in (E - 10.0, E, E + 10.0):
        material.set_youngs_modulus(stiffness)
        rests.append(differentiate_equilibrium(body, context, ["youngs_modulus"], material))
    difference = (rests[2].p_WV - rests[0].p_WV) / 20.0
    assert rests[1].dp_WV["youngs_modulus"] == pytest.approx(difference, abs=1e-4 * abs(difference).max())


def test_copies_have_the_kind_and_its_numbers():
    material = fibers_along([0.0, 0.0, 1.0], 7.0)
    for twin in (copy.copy(material), copy.deepcopy(material)):
        assert twin.material_model() is FIBERS and twin.constants() == (7.0, 0.0, 0.0, 1.0)
    assert "fibers" in repr(material)
    material.set_material_model(MaterialModel.kCorotated)
    assert material.constants() == ()


def test_what_no_body_can_be_made_of_is_refused_and_changes_nothing():
    material = fibers_along([0.0, 0.0, 1.0], 7.0)
    for constants in (range(9), [float("nan")]):
        with pytest.raises(RuntimeError, match="takes up to 8 finite constants"):
            material.set_material_model(FIBERS, constants)
    assert material.constants() == (7.0, 0.0, 0.0, 1.0)
    with pytest.raises(TypeError, match="takes a MaterialModel or a MaterialKind; given 'fibers'"):
        material.set_material_model("fibers")
    with pytest.raises(RuntimeError, match=r"'bar': .* kind 'fibers' is stable at rest for .* above 1/8; given 0.1"):
        clamped_bar(fibers_along([0.0, 0.0, 1.0], 7.0, nu=0.1))
    weak = dataclasses.replace(FIBERS, name="weak", stable_for="")
    material.set_material_model(weak, [-1e9, 1.0, 0.0, 0.0])
    with pytest.raises(RuntimeError, match=r"kind 'weak' must resist all strains at rest; one has .* of -1e\+09"):
        clamped_bar(material)
    stiff = dataclasses.replace(SAINT_VENANT_KIRCHHOFF, name="stiff", set_growth=None)
    with pytest.raises(RuntimeError, match="kind 'stiff' has no set_growth, so that its elements cannot change"):
        clamped_bar(config(stiff, averages_volume=True))
    assert DeformableBodyConfig().constants() == ()


def test_a_pickled_simulation_goes_on_in_another_process(tmp_path):
    plant, body, simulator = hanging_bar(fibers_along([1.0, 0.0, 0.0], 1e6))
    simulator.AdvanceTo(0.1)
    (tmp_path / "simulator.pickle").write_bytes(pickle.dumps((simulator, plant, body)))
    program = (
        "import pickle, sys\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "with open(sys.argv[1], 'rb') as file:\n"
        "    simulator, plant, body = pickle.load(file)\n"
        "simulator.AdvanceTo(0.2)\n"
        "print(body.GetPositions(plant.GetMyContextFromRoot(simulator.get_context()))[2].min())\n"
    )
    support = str(Path(__file__).resolve().parents[3] / "support")
    command = [sys.executable, "-c", program, str(tmp_path / "simulator.pickle"), support]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    simulator.AdvanceTo(0.2)
    assert float(done.stdout) == body.GetPositions(plant.GetMyContextFromRoot(simulator.get_context()))[2].min()


def test_materials_of_earlier_pickles_have_no_numbers_of_their_own():
    material = config()
    state = {name: value for name, value in vars(material).items() if name != "_constants"}
    twin = object.__new__(DeformableBodyConfig)
    vars(twin).update(state)
    assert twin.constants() == copy.copy(twin).constants() == ()
