"""Scenes with deformable bodies that touch things, of Merganser or of pydrake."""

from __future__ import annotations

from typing import Any

import numpy as np

import merganser.all as ours


class SoftScene:
    """A plant with a floor, to which deformable and rigid bodies are added.

    Args:
        lib: merganser.all or pydrake.all.
        h: time step [s].
        approximation: of contact.
        gravity: [m/s^2].
        floor: whether there is one, the top of a box in the plane z = 0.
        mu: coefficient of friction of all.
        dissipation: of the deformable bodies [s/m]; None to leave it out.
    """

    def __init__(
        self, lib: Any = ours, h: float = 0.01, approximation: str = "kLagged", gravity: Any = (0.0, 0.0, -9.81),
        floor: bool = True, mu: float = 0.5, dissipation: float | None = 10.0,
    ) -> None:  # fmt: skip
        self.lib, self.mu, self.dissipation = lib, mu, dissipation
        self.builder = lib.DiagramBuilder()
        self.plant, self.scene_graph = lib.AddMultibodyPlantSceneGraph(self.builder, h)
        self.plant.set_discrete_contact_approximation(getattr(lib.DiscreteContactApproximation, approximation))
        self.plant.mutable_gravity_field().set_gravity_vector(np.array(gravity))
        self.model = self.plant.mutable_deformable_model()
        self.ids: list[Any] = []
        if floor:
            X_WG = lib.RigidTransform([0.0, 0.0, -0.5])
            self.floor_id = self.plant.RegisterCollisionGeometry(
                self.plant.world_body(), X_WG, lib.Box(2.0, 2.0, 1.0), "floor", self.properties()
            )

    def properties(self, dissipation: float | None = None) -> Any:
        """Proximity properties."""
        properties = self.lib.ProximityProperties()
        friction = self.lib.CoulombFriction(self.mu, self.mu)
        self.lib.AddContactMaterial(dissipation=dissipation, friction=friction, properties=properties)
        return properties

    def add_soft(
        self, shape: Any, p: Any, hint: float = 1.0, name: str = "", rpy: Any = (0.0, 0.0, 0.0), E: float = 1e5,
        model: str = "kLinearCorotated", damping: float = 0.01,
    ) -> Any:  # fmt: skip
        """Adds a deformable body; returns its identifier."""
        lib = self.lib
        X_WD = lib.RigidTransform(lib.RollPitchYaw(*rpy), np.array(p, float))
        geometry = lib.GeometryInstance(X_WD, shape, name or f"soft {len(self.ids)}")
        geometry.set_proximity_properties(self.properties(self.dissipation))
        material = lib.DeformableBodyConfig()
        material.set_material_model(getattr(lib.MaterialModel, model))
        material.set_youngs_modulus(E)
        material.set_poissons_ratio(0.3)
        material.set_mass_density(1000.0)
        material.set_stiffness_damping_coefficient(damping)
        self.ids.append(self.model.RegisterDeformableBody(geometry, material, hint))
        return self.ids[-1]

    def add_rigid(self, shape: Any, mass: float = 0.5, name: str = "rigid", modulus: float = 1e6) -> Any:
        """Adds a rigid body with a pressure field; returns it."""
        lib = self.lib
        body = self.plant.AddRigidBody(name, lib.SpatialInertia.SolidBoxWithMass(mass, 0.1, 0.1, 0.1))
        properties = self.properties()
        lib.AddCompliantHydroelasticProperties(
            resolution_hint=0.05, hydroelastic_modulus=modulus, properties=properties
        )
        self.plant.RegisterCollisionGeometry(body, lib.RigidTransform(), shape, name, properties)
        return body

    def add_stiff_ground(self, modulus: float, name: str = "table") -> str:
        """Adds a table of 0.1 m with its top in the plane z = 0; returns its name."""
        lib, properties = self.lib, self.properties()
        lib.AddCompliantHydroelasticProperties(resolution_hint=1.0, hydroelastic_modulus=modulus, properties=properties)
        X_WG, shape = lib.RigidTransform([0.0, 0.0, -0.05]), lib.Box(1.0, 1.0, 0.1)
        self.plant.RegisterCollisionGeometry(self.plant.world_body(), X_WG, shape, name, properties)
        return name

    def finish(self) -> SoftScene:
        """Builds the diagram."""
        self.plant.Finalize()
        self.diagram = self.builder.Build()
        self.simulator = self.lib.Simulator(self.diagram)
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        return self

    def advance(self, time: float) -> SoftScene:
        """Goes on to a time [s]."""
        self.simulator.AdvanceTo(time)
        return self

    def vertices(self, k: int = 0) -> np.ndarray:
        """Positions of the vertices of a deformable body [m], shape [3, n]."""
        return self.model.GetPositions(self.context, self.ids[k])

    def velocities(self, k: int = 0) -> np.ndarray:
        """Velocities of the vertices of a deformable body [m/s], shape [3, n]."""
        return self.model.GetVelocities(self.context, self.ids[k])

    def throw(self, k: int, v: Any) -> None:
        """Gives all vertices of a deformable body a velocity [m/s]."""
        n = self.velocities(k).shape[1]
        self.model.SetVelocities(self.context, self.ids[k], np.tile(np.reshape(v, (3, 1)), (1, n)))

    def forces(self) -> list[Any]:
        """F_Ac_W of all contacts of deformable bodies, by the names of A and B."""
        results = self.plant.get_contact_results_output_port().Eval(self.context)
        infos = [results.deformable_contact_info(i) for i in range(results.num_deformable_contacts())]
        inspector = self.scene_graph.model_inspector()
        named = [(inspector.GetName(i.id_A()), inspector.GetName(i.id_B()), i.F_Ac_W().translational()) for i in infos]
        return sorted(named, key=lambda one: one[:2])
