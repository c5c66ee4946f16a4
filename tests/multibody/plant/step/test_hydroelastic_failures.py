"""Hydroelastic contact that fails or may not be: what is raised, and that the next advance is right or raises again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_scenes import Scene, add_free_body, add_ground, contact_library, free_state, hydroelastic

import merganser.geometry.hydroelastic.representation as representation
import merganser.multibody.plant.step.dynamics as dynamics_module
from merganser.analysis import Simulator, Simulator_
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import AutoDiffXd, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, HalfSpace, Mesh, SceneGraph, Sphere
from merganser.multibody.contact.layout import NOT_CONVERGED
from merganser.multibody.dynamics.records import NOT_SOLVED
from merganser.multibody.plant import ContactModel, MultibodyPlant

LIB = contact_library("ours")
H = 5e-3
MODELS = ("kHydroelastic", "kHydroelasticWithFallback")


def ball_on_ground(lib: SimpleNamespace, plant: Any) -> None:
    add_free_body(lib, plant, "ball", lib.Sphere(0.1), hydroelastic(lib, 1e5, 0.05))
    add_ground(lib, plant, hydroelastic(lib, None))


def scene_of(fill: Any, model: str, time_step: float) -> Scene:
    scene = Scene(LIB, time_step, fill, "kLagged", model)
    positions = [[0.0, 0.0, 0.095], [3.0, 0.0, 2.0]][: scene.plant.num_positions() // 7]
    scene.plant.SetPositionsAndVelocities(scene.context, free_state(*positions))
    return scene


def outcome(scene: Scene) -> list[Any]:
    contacts = scene.plant.get_contact_results_output_port().Eval(scene.context)
    x = scene.plant.GetPositionsAndVelocities(scene.context).tolist()
    return [x, contacts.num_point_pair_contacts(), contacts.num_hydroelastic_contacts()]


@pytest.mark.parametrize("time_step", [H, 0.0])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_interrupts_while_surfaces_are_made_do_not_change_later_contact(
    error: type[BaseException], model: str, time_step: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed, struck = (scene_of(ball_on_ground, model, time_step) for _ in range(2))
    undisturbed.simulator.AdvanceTo(0.02)

    def fail(*_given: Any) -> Any:
        raise error("while surfaces are made")

    with monkeypatch.context() as patch:
        patch.setattr(representation, "make_representation", fail)
        for _ in range(2):
            with pytest.raises(error):
                struck.simulator.AdvanceTo(0.02)
    struck.simulator.AdvanceTo(0.02)
    assert outcome(struck) == outcome(undisturbed)
    assert outcome(struck)[1:] == [0, 1]


@pytest.mark.parametrize("time_step", [H, 0.0])
@pytest.mark.parametrize("model", MODELS)
def test_a_mesh_that_is_not_closed_is_named_with_its_file_at_each_advance(
    model: str, time_step: float, tmp_path: Path
) -> None:
    path = tmp_path / "open.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n")

    def fill(lib: SimpleNamespace, plant: Any) -> None:
        ball_on_ground(lib, plant)
        body = plant.AddRigidBody("far", lib.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        plant.RegisterCollisionGeometry(body, RigidTransform(), Mesh(str(path)), "open", hydroelastic(lib, 1e5))

    scene = scene_of(fill, model, time_step)
    before = scene.plant.GetPositionsAndVelocities(scene.context).tolist()
    messages = []
    for _ in range(3):
        with pytest.raises(RuntimeError, match=rf"(?s)'open'.*{path}.*not closed") as caught:
            scene.simulator.AdvanceTo(0.1)
        messages.append(str(caught.value))
        assert scene.plant.GetPositionsAndVelocities(scene.context).tolist() == before
    assert len(set(messages)) == 1


def test_a_step_interrupted_while_solved_by_another_law_restores_the_plants_law(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the chosen approximation has no solution a step is taken by SAP, and that step alone."""
    scene = scene_of(ball_on_ground, "kHydroelastic", H)
    settings, used = scene.plant._settings.of_solver(), []

    def take_step(*given: Any) -> int:
        used.append(given[0].contact.settings)
        if used[-1] is not settings:
            raise KeyboardInterrupt
        given[-1].found["outcome"] = NOT_CONVERGED
        return NOT_SOLVED

    monkeypatch.setattr(dynamics_module, "take_step", take_step)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), pytest.warns(RuntimeWarning, match="SAP"):
            scene.plant.ExecuteForcedEvents(scene.context)
    assert [each is settings for each in used] == [True, False, True, False]


# ---------------------------------------------------------------------- geometry that another plant moves


class TwoPlants:
    """Two plants on one SceneGraph, each with a body that is free to move, and no gravity."""

    def __init__(self, time_step: float, model: ContactModel, own: tuple[Any, Any], foreign: tuple[Any, Any]) -> None:
        builder = DiagramBuilder()
        scene_graph = builder.AddSystem(SceneGraph())
        self.plants = []
        for i, (shape, properties) in enumerate((own, foreign)):
            plant = builder.AddNamedSystem(f"plant{i}", MultibodyPlant(time_step))
            source = plant.RegisterAsSourceForSceneGraph(scene_graph)
            plant.set_contact_model(model)
            plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
            inertia = LIB.SpatialInertia.SolidSphereWithMass(1.0 + 9.0 * i, 0.1)
            body = plant.AddRigidBody(f"body{i}", inertia)
            plant.RegisterCollisionGeometry(body, RigidTransform(), shape, f"body{i}", properties)
            plant.Finalize()
            builder.Connect(plant.get_geometry_pose_output_port(), scene_graph.get_source_pose_port(source))
            builder.Connect(scene_graph.get_query_output_port(), plant.get_geometry_query_input_port())
            self.plants.append(plant)
        self.diagram = builder.Build()
        self.context = self.diagram.CreateDefaultContext()

    def place(self, i: int, height: float) -> None:
        plant = self.plants[i]
        pose = RigidTransform([0.0, 0.0, height])
        plant.SetFreeBodyPose(plant.GetMyMutableContextFromRoot(self.context), plant.get_body(LIB.BodyIndex(1)), pose)


SOFT, HARD = hydroelastic(LIB, 1e5), hydroelastic(LIB, None)
FOREIGN = {
    "rigid sphere": (Sphere(0.1), HARD),
    "compliant box": (Box(0.2, 0.2, 0.2), SOFT),
    "rigid half space": (HalfSpace(), HARD),
}


@pytest.mark.parametrize("time_step", [H, 0.0])
@pytest.mark.parametrize("model", ["kPoint", *MODELS])
@pytest.mark.parametrize("name", FOREIGN)
def test_contact_with_what_another_plant_moves_is_refused_on_points_and_surfaces(
    name: str, model: str, time_step: float
) -> None:
    """It would act on one side only, and momentum would come out of nothing."""
    scene = TwoPlants(time_step, getattr(ContactModel, model), (Sphere(0.1), SOFT), FOREIGN[name])
    scene.place(0, 0.11 if name == "rigid half space" else 0.21)
    Simulator(scene.diagram, scene.context.Clone()).AdvanceTo(0.01)  # nothing touches
    scene.place(0, 0.09 if name == "rigid half space" else 0.19)
    message = r"body0' .*touches geometry '.*body1', which belongs to the source '.*plant1'"
    for _ in range(2):
        with pytest.raises(RuntimeError, match=message):
            Simulator(scene.diagram, scene.context.Clone()).AdvanceTo(0.01)


@pytest.mark.parametrize("time_step", [H, 0.0])
def test_a_compliant_half_space_that_another_plant_moves_is_refused(time_step: float) -> None:
    half_space = HalfSpace(), hydroelastic(LIB, 1e5, slab=0.1)
    scene = TwoPlants(time_step, ContactModel.kHydroelastic, (Box(0.1, 0.1, 0.1), HARD), half_space)
    scene.place(0, 0.04)
    with pytest.raises(RuntimeError, match="knows nothing of the masses behind it"):
        Simulator(scene.diagram, scene.context).AdvanceTo(0.01)


@pytest.mark.parametrize("time_step", [H, 0.0])
def test_derivatives_of_contact_with_what_another_plant_moves_are_refused(time_step: float) -> None:
    scene = TwoPlants(time_step, ContactModel.kHydroelastic, (Sphere(0.1), SOFT), FOREIGN["rigid sphere"])
    scene.place(0, 0.19)
    diagram = scene.diagram.ToAutoDiffXd()
    context = diagram.CreateDefaultContext()
    plant, of_floats = diagram.GetSubsystemByName("plant0"), scene.plants[0]
    x = of_floats.GetPositionsAndVelocities(of_floats.GetMyContextFromRoot(scene.context))
    plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(context), InitializeAutoDiff(x)[:, 0])
    with pytest.raises(RuntimeError, match="knows nothing of the masses behind it"):
        Simulator_[AutoDiffXd](diagram, context).AdvanceTo(0.01)
