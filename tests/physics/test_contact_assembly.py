"""From poses and materials to the equations of a step: all assembled a second time from functions of the plant.

Where contacts are comes from the SceneGraph, what they are worth from the materials that were given, how bodies move
from Jacobians, masses and forces of the plant. The step must solve these equations with the forces that it
reports: M (v+ - v*) = J^T gamma, with gamma and J v+ as the law of the approximation has it. Nothing of the solver's
own arrays is looked at, so that an error in its list of contacts, in a Jacobian, a normal or a material shows.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from contact_optimality import Row, StepData, cone_violation, hunt_crossley_violation
from contact_scenes import APPROXIMATIONS, Scene, add_ground, contact_library, material

from merganser.multibody.contact.layout import LAGGED, SAP, SIMILAR, TAMSI

LIB = contact_library("ours")
H, BETA, STICTION = 2e-3, 0.5, 1e-3
NUMBERS = {"kTamsi": TAMSI, "kSap": SAP, "kSimilar": SIMILAR, "kLagged": LAGGED}
NAMES = ("ground", "box", "capsule", "ball", "upper", "lower")


class RandomScene:
    """Free bodies and an arm of two links that overlap with each other and the ground; materials by name."""

    def __init__(self, seed: int, approximation: str) -> None:
        self.rng = np.random.default_rng(seed)
        self.materials = {name: self._draw() for name in NAMES}
        self.scene = Scene(LIB, H, self._fill, approximation)
        plant, context = self.scene.plant, self.scene.context
        for name in NAMES[1:4]:
            R_WB = LIB.RotationMatrix(LIB.RollPitchYaw(*self.rng.uniform(-1.5, 1.5, 3)))
            X_WB = LIB.RigidTransform(R_WB, self.rng.uniform([-0.1, -0.1, 0.0], [0.1, 0.1, 0.1]))
            plant.SetFreeBodyPose(context, plant.GetBodyByName(name), X_WB)
        for joint in ("shoulder", "elbow"):
            plant.GetJointByName(joint).set_angle(context, self.rng.uniform(-1.0, 1.0))
        plant.SetVelocities(context, self.rng.normal(size=plant.num_velocities()))

    def _draw(self) -> dict[str, float]:
        low, high = [1e3, 0.1, 0.0, 0.0], [1e5, 1.0, 2.0, 0.1]
        values = self.rng.uniform(low, high)
        return dict(zip(("point_stiffness", "friction", "dissipation", "relaxation_time"), values))

    def _fill(self, lib: SimpleNamespace, plant: Any) -> None:
        plant.set_sap_near_rigid_threshold(BETA)
        plant.set_stiction_tolerance(STICTION)
        shapes = lib.Box(0.1, 0.15, 0.2), lib.Capsule(0.05, 0.15), lib.Sphere(0.08), lib.Capsule(0.04, 0.2)
        shapes = dict(zip(NAMES[1:], (*shapes, lib.Cylinder(0.05, 0.2))))
        properties = {name: material(lib, **values) for name, values in self.materials.items()}
        for name, shape in shapes.items():
            properties[name].AddProperty("material", "single_contact_point", True)
            inertia = lib.SpatialInertia.SolidBoxWithMass(self.rng.uniform(0.2, 3.0), 0.1, 0.15, 0.2)
            body = plant.AddRigidBody(name, inertia)
            plant.RegisterCollisionGeometry(body, lib.RigidTransform(), shape, name, properties[name])
        add_ground(lib, plant, properties["ground"])
        parent, place = plant.world_frame(), [0.0, 0.0, 0.25]
        for joint, name in (("shoulder", "upper"), ("elbow", "lower")):
            body = plant.GetBodyByName(name)
            frames = (
                plant.AddFrame(lib.FixedOffsetFrame(f"{name}_F", parent, lib.RigidTransform(place))),
                plant.AddFrame(lib.FixedOffsetFrame(f"{name}_M", body.body_frame(), lib.RigidTransform([0, 0, 0.1]))),
            )
            plant.AddJoint(lib.RevoluteJoint(joint, *frames, [0.2, 1.0, 0.1]))
            parent, place = body.body_frame(), [0.0, 0.0, -0.1]

    def overlaps(self) -> dict[tuple[str, str], Any]:
        """The point pairs of the SceneGraph, by the names of their bodies."""
        query = self.scene.plant.get_geometry_query_input_port().Eval(self.scene.context)
        pairs = query.ComputePointPairPenetration()
        return {(self.name_of(pair.id_A), self.name_of(pair.id_B)): pair for pair in pairs}

    def name_of(self, geometry: Any) -> str:
        inspector = self.scene.scene_graph.model_inspector()
        return str(inspector.GetName(geometry).split("::")[-1])

    def combined(self, A: str, B: str) -> dict[str, float]:
        """Two springs in a row; dissipations by their deformations, friction by the harmonic mean."""
        a, b = self.materials[A], self.materials[B]
        k_A, k_B = a["point_stiffness"], b["point_stiffness"]
        return {
            "stiffness": k_A * k_B / (k_A + k_B),
            "damping": (k_B * a["dissipation"] + k_A * b["dissipation"]) / (k_A + k_B),
            "relaxation_time": a["relaxation_time"] + b["relaxation_time"],
            "friction": 2.0 * a["friction"] * b["friction"] / (a["friction"] + b["friction"]),
            "beta": BETA,
        }

    def point(self, pair: Any, A: str, B: str) -> Any:
        k_A, k_B = self.materials[A]["point_stiffness"], self.materials[B]["point_stiffness"]
        return (k_A * np.array(pair.p_WCa) + k_B * np.array(pair.p_WCb)) / (k_A + k_B)

    def jacobian(self, body: str, p_WC: Any) -> Any:
        """Of the velocity in W of the point of a body that is at C, shape [3, num_v]."""
        plant, context = self.scene.plant, self.scene.context
        frame = plant.world_frame() if body == "ground" else plant.GetBodyByName(body).body_frame()
        p_BC = frame.CalcPoseInWorld(context).inverse() @ p_WC
        world, kind = plant.world_frame(), LIB.JacobianWrtVariable.kV
        return plant.CalcJacobianTranslationalVelocity(context, kind, frame, p_BC, world, world)


def axes(normal: Any) -> Any:
    """Rows t1, t2, n of a frame, shape [3, 3]."""
    t1 = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    t1 /= np.linalg.norm(t1)
    return np.array([t1, np.cross(normal, t1), normal])


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_step_solves_the_equations_that_poses_materials_and_jacobians_make(approximation: str) -> None:
    num_contacts = num_corners = 0
    for seed in range(12):
        made = RandomScene(seed, approximation)
        plant, context = made.scene.plant, made.scene.context
        M, v = plant.CalcMassMatrix(context), plant.GetVelocities(context)
        forces = plant.CalcGravityGeneralizedForces(context) - plant.CalcBiasTerm(context)
        v_star = v + H * np.linalg.solve(M, forces)
        step, before, overlaps = StepData(H, M, v, v_star, STICTION), made.scene.state, made.overlaps()
        v_next = made.scene.run(1)[-1][-len(v) :]
        contacts = made.scene.contacts()
        made.scene.run(0, before)  # Jacobians are those of the poses at the start
        impulse = np.zeros(len(v))
        assert len(contacts) == len(overlaps)
        for info in contacts:
            A, B = (made.name_of(geometry) for geometry in (info.point_pair().id_A, info.point_pair().id_B))
            pair, p_WC = overlaps.pop((A, B)), info.contact_point()
            # Of edges and faces that lie on each other it is the middle that counts, not the deepest point.
            offset = p_WC - made.point(pair, A, B)
            assert abs(offset @ pair.nhat_BA_W) < 0.2 * pair.depth + 1e-12 and np.linalg.norm(offset) < 0.1
            num_corners += np.linalg.norm(offset) < 1e-9
            R = axes(-np.array(pair.nhat_BA_W))
            J = R @ (made.jacobian(B, p_WC) - made.jacobian(A, p_WC))
            gamma = H * R @ info.contact_force()
            row = Row(step, J, v_next, np.array([0.0, 0.0, -pair.depth]), gamma)
            law = made.combined(A, B)
            law["elastic_force"] = law["stiffness"] * pair.depth
            if approximation == "kSap":
                assert cone_violation(law, row) < 1e-7
            else:
                assert hunt_crossley_violation(law, row, NUMBERS[approximation]) < 1e-7
            impulse += J.T @ gamma
            num_contacts += 1
        D = np.diag(M) ** -0.5
        sizes = [np.linalg.norm(D * (M @ v_next)), np.linalg.norm(D * impulse)]
        assert np.linalg.norm(D * (M @ (v_next - v_star) - impulse)) < 2e-6 * max(sizes)
    assert num_contacts > 40 and num_corners > 0.5 * num_contacts
