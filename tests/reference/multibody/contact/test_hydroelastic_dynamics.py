"""Motions of plants in hydroelastic contact, and what they report, in pydrake."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
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
from hydroelastic_scenes import make_shape

pytestmark = pytest.mark.reference

OURS, DRAKE = contact_library("ours"), contact_library("drake")
H = 1e-3


def spheres(lib: SimpleNamespace, plant: Any) -> None:
    """Two compliant spheres, one on the other, on a rigid floor."""
    for i in range(2):
        soft = hydroelastic(lib, 1e5 * (i + 1), 0.03, relaxation_time=0.05, dissipation=10.0)
        add_free_body(lib, plant, f"ball{i}", lib.Sphere(0.1), soft)
    add_ground(lib, plant, hydroelastic(lib, None))


def slab(lib: SimpleNamespace, plant: Any) -> None:
    """A rigid box on a compliant half space, and a compliant cylinder on it."""
    add_free_body(lib, plant, "box", lib.Box(0.3, 0.2, 0.1), hydroelastic(lib, None), 3.0)
    add_free_body(lib, plant, "can", lib.Cylinder(0.05, 0.1), hydroelastic(lib, 3e5, 0.04, friction=0.3))
    add_ground(lib, plant, hydroelastic(lib, 1e5, slab=0.05, dissipation=3.0))


def mixed(lib: SimpleNamespace, plant: Any) -> None:
    """A compliant capsule on a rigid floor; a point contact of two spheres without a hydroelastic patch."""
    add_free_body(lib, plant, "capsule", lib.Capsule(0.06, 0.2), hydroelastic(lib, 2e5, 0.03))
    add_free_body(lib, plant, "ball", lib.Sphere(0.1), material(lib, 0.4))
    add_ground(lib, plant, hydroelastic(lib, None))


SCENES: dict[str, tuple[Fill, Any]] = {
    "spheres": (spheres, free_state([0.0, 0.0, 0.095], [0.05, 0.0, 0.275])),
    "slab": (slab, free_state([0.01, 0.0, 0.0493], [0.0, 0.0, 0.1485])),
    "mixed": (mixed, free_state([0.0, 0.0, 0.157], [0.5, 0.0, 0.0998])),
}


def both(name: str, approximation: str, time_step: float) -> tuple[Scene, Scene]:
    fill, _ = SCENES[name]
    return tuple(  # type: ignore[return-value]
        Scene(lib, time_step, fill, approximation, "kHydroelasticWithFallback") for lib in (OURS, DRAKE)
    )


def start_of(name: str) -> Any:
    state = SCENES[name][1].copy()
    state[-12:] = np.linspace(-0.2, 0.3, 12)
    state[-1] = -0.05  # towards the other body
    return state


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_steps_and_their_contacts_agree(name: str, approximation: str) -> None:
    """Each step from the same state; the first one, of which pydrake's solution is coarse (2e-3 rad/s), is let off."""
    ours, theirs = both(name, approximation, H)
    state = ours.run(1, start_of(name))[-1]
    theirs.run(1, start_of(name))
    for _ in range(10):
        found, expected = ours.run(1, state)[-1], theirs.run(1, state)[-1]
        np.testing.assert_allclose(found, expected, rtol=0, atol=5e-6)
        assert_same_surfaces(ours, theirs, 1e-4)
        assert_same_forces(ours, theirs, 1e-4)
        state = found


@pytest.mark.parametrize("name", SCENES)
def test_continuous_time_agrees(name: str) -> None:
    scenes = both(name, "kLagged", 0.0)
    derivatives = []
    for scene in scenes:
        scene.plant.SetPositionsAndVelocities(scene.context, start_of(name))
        derivatives.append(scene.plant.EvalTimeDerivatives(scene.context).CopyToVector())
    np.testing.assert_allclose(*derivatives, rtol=1e-9, atol=1e-7)
    assert_same_surfaces(*scenes, 1e-9)
    assert_same_forces(*scenes, 1e-9)


@pytest.mark.parametrize("representation", ["kPolygon", "kTriangle"])
def test_in_continuous_time_all_faces_of_a_surface_act(representation: str, tmp_path: Path) -> None:
    """Also those whose pressure does not grow along the normal; in a discrete step they do not, in either library."""

    def wedge(lib: SimpleNamespace, plant: Any) -> None:
        plant.set_contact_surface_representation(getattr(lib.HydroelasticContactRepresentation, representation))
        add_free_body(lib, plant, "wedge", make_shape(lib, "vtk", tmp_path), hydroelastic(lib, 1e5), inertia=unit)
        add_ground(lib, plant, hydroelastic(lib, None))

    rotation = OURS.RotationMatrix(OURS.RollPitchYaw(0.1, 0.2, 0.3)).ToQuaternion().wxyz()
    start = np.concatenate([rotation, [0.0, 0.0, 0.08], np.zeros(6)])
    scenes, derivatives = [], []
    for lib in (OURS, DRAKE):
        unit = lib.SpatialInertia.SolidSphereWithMass(1.0, 0.05)
        scenes.append(Scene(lib, 0.0, wedge, contact_model="kHydroelastic"))
        scenes[-1].plant.SetPositionsAndVelocities(scenes[-1].context, start)
        derivatives.append(scenes[-1].plant.EvalTimeDerivatives(scenes[-1].context).CopyToVector())
    np.testing.assert_allclose(*derivatives, rtol=1e-9, atol=1e-7)
    assert_same_surfaces(*scenes, 1e-9)


def assert_same_surfaces(ours: Scene, theirs: Scene, tolerance: float) -> None:
    found, expected = ours.surfaces(), theirs.surfaces()
    assert len(found) == len(expected) > 0
    names = [sorted(map(scene_names(scene), scene.surfaces())) for scene in (ours, theirs)]
    assert names[0] == names[1]
    by_name = {scene_names(theirs)(info): info for info in expected}
    for info in found:
        other = by_name[scene_names(ours)(info)]
        surface, other_surface = info.contact_surface(), other.contact_surface()
        assert surface.num_faces() == other_surface.num_faces()
        assert surface.total_area() == pytest.approx(other_surface.total_area(), rel=10 * tolerance)
        np.testing.assert_allclose(surface.centroid(), other_surface.centroid(), rtol=0, atol=tolerance)
        force, other_force = info.F_Ac_W(), other.F_Ac_W()
        size = np.linalg.norm(other_force.translational())
        np.testing.assert_allclose(force.translational(), other_force.translational(), rtol=0, atol=tolerance * size)
        np.testing.assert_allclose(force.rotational(), other_force.rotational(), rtol=0, atol=tolerance * size)


def scene_names(scene: Scene) -> Any:
    """The names of the geometries M and N of a contact."""
    inspector = scene.scene_graph.model_inspector()

    def names(info: Any) -> tuple[str, str]:
        surface = info.contact_surface()
        return inspector.GetName(surface.id_M()), inspector.GetName(surface.id_N())

    return names


def assert_same_forces(ours: Scene, theirs: Scene, tolerance: float) -> None:
    results = [scene.plant.get_contact_results_output_port().Eval(scene.context) for scene in (ours, theirs)]
    assert results[0].num_point_pair_contacts() == results[1].num_point_pair_contacts()
    forces = [
        scene.plant.get_generalized_contact_forces_output_port(scene.lib.default_model_instance()).Eval(scene.context)
        for scene in (ours, theirs)
    ]
    np.testing.assert_allclose(*forces, rtol=0, atol=tolerance * np.abs(forces[1]).max())


def test_rigid_pairs_are_refused_by_the_strict_model_and_points_by_the_other() -> None:
    def rigid_ball(lib: SimpleNamespace, plant: Any) -> None:
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), hydroelastic(lib, None))
        add_ground(lib, plant, hydroelastic(lib, None))

    for lib in (OURS, DRAKE):
        strict = Scene(lib, H, rigid_ball, contact_model="kHydroelastic")
        with pytest.raises(RuntimeError, match="rigid"):
            strict.run(1, free_state([0.0, 0.0, 0.0999]))
        lenient = Scene(lib, H, rigid_ball, contact_model="kHydroelasticWithFallback")
        lenient.run(1, free_state([0.0, 0.0, 0.0999]))
        assert (len(lenient.contacts()), len(lenient.surfaces())) == (1, 0)
