"""Rows about deformable bodies: a bar of 360 cells, clamped or falling, a ball on a table, a ball in a gripper.

The bars are meshes of 2160 tetrahedra with 539 vertices, the balls have 129.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from libraries import Call, Library, Row

STEPS = 20  # in each call
CELLS, SIDE = (10, 6, 6), 0.02  # of the bar [m]


class Scene:
    """A plant of either package with a deformable body.

    Args:
        library: which package.
        time_step: of the plant [s].
    """

    def __init__(self, library: Library, time_step: float) -> None:
        root = library.plant.__name__.split(".")[0]
        self.plant_module, self._analysis = library.plant, library.analysis
        self.tree, self._time_step = library.tree, time_step
        self.geometry = importlib.import_module(f"{root}.geometry")
        self.fem = importlib.import_module(f"{root}.multibody.fem")
        self.math = importlib.import_module(f"{root}.framework.math" if root == "merganser" else f"{root}.math")
        self.files = self.geometry if root == "merganser" else importlib.import_module("pydrake.common")
        self.builder = library.framework.DiagramBuilder()
        self.plant, _ = library.plant.AddMultibodyPlantSceneGraph(self.builder, time_step)
        self.plant.set_discrete_contact_approximation(library.plant.DiscreteContactApproximation.kSap)

    def properties(self, modulus: float | None = None) -> Any:
        """Friction, and of rigid geometries a pressure field."""
        properties, friction = self.geometry.ProximityProperties(), self.plant_module.CoulombFriction(0.8, 0.8)
        self.geometry.AddContactMaterial(dissipation=5.0, friction=friction, properties=properties)
        if modulus is not None:
            self.geometry.AddCompliantHydroelasticProperties(
                resolution_hint=0.02, hydroelastic_modulus=modulus, properties=properties
            )
        return properties

    def add_soft(
        self, shape: Any, height: float, hint: float, model: str = "kLinearCorotated", tolerance: float | None = None
    ) -> Any:
        """Adds the deformable body; the tolerance is of our package."""
        config = self.fem.DeformableBodyConfig()
        config.set_material_model(getattr(self.fem.MaterialModel, model))
        if tolerance is not None and hasattr(config, "set_relative_tolerance"):
            config.set_relative_tolerance(tolerance)
        config.set_youngs_modulus(3e4)
        config.set_poissons_ratio(0.4)
        config.set_mass_density(1000.0)
        config.set_stiffness_damping_coefficient(0.01)
        instance = self.geometry.GeometryInstance(self.math.RigidTransform([0.0, 0.0, height]), shape, "soft")
        instance.set_proximity_properties(self.properties())
        self.id = self.plant.mutable_deformable_model().RegisterDeformableBody(instance, config, hint)
        return self.id

    def add_rigid(self, body: Any, size: tuple[float, float, float], height: float) -> None:
        """Adds a box to a rigid body."""
        X_BG = self.math.RigidTransform([0.0, 0.0, height])
        self.plant.RegisterCollisionGeometry(body, X_BG, self.geometry.Box(*size), "box", self.properties(1e6))

    def start(self, settled: float, targets: Any = None, instance: Any = None) -> Call:
        """Returns what takes steps and gives the vertices, after some time [s] with the gripper closed."""
        self.plant.Finalize()
        simulator = self._analysis.Simulator(self.builder.Build())
        context = self.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        if targets is not None:
            self.plant.SetPositions(context, [0.04, 0.055, 0.055])
            self.plant.get_desired_state_input_port(instance).FixValue(context, targets)
        simulator.AdvanceTo(settled)

        def advance() -> Any:
            simulator.AdvanceTo(simulator.get_context().get_time() + STEPS * self._time_step)
            return self.plant.deformable_model().GetPositions(context, self.id)

        return advance


def bar(
    is_clamped: bool, library: Library, model: str = "kLinearCorotated", tolerance: float | None = None
) -> Call:
    """A bar along x; clamped, it bends down and swings."""
    scene = Scene(library, 0.01)
    size = np.array(CELLS) * SIDE
    file = scene.files.MemoryFile(_bar_text(), ".vtk", "bar.vtk")
    shape = scene.geometry.Mesh(scene.geometry.InMemoryMesh(mesh_file=file))
    id = scene.add_soft(shape, 0.5, 1.0, model, tolerance)
    if is_clamped:
        middle_of_first_cells = [0.5 * (SIDE - size[0]), 0.0, 0.0]
        scene.plant.mutable_deformable_model().SetWallBoundaryCondition(id, middle_of_first_cells, [1.0, 0.0, 0.0])
    return scene.start(0.05)


def _bar_text() -> str:
    """The mesh of the bar as a file, of cells of six tetrahedra around a diagonal."""
    nx, ny, nz = CELLS
    grid = np.stack(np.meshgrid(*(np.arange(n + 1) for n in CELLS), indexing="ij"), axis=-1).reshape(-1, 3)
    strides = np.array([(ny + 1) * (nz + 1), nz + 1, 1])
    corners = np.stack(np.meshgrid(*map(np.arange, (nx, ny, nz)), indexing="ij"), axis=-1).reshape(-1, 3) @ strides
    ways = [(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (1, 0, 2), (2, 1, 0)]
    paths = np.array([np.cumsum([0, *strides[list(way)]]) for way in ways])
    paths[3:, 1:3] = paths[3:, 2:0:-1]  # all with the same orientation
    cells = (corners[:, np.newaxis, np.newaxis] + paths).reshape(-1, 4)
    vertices = (grid - np.array(CELLS) / 2.0) * SIDE
    points = "\n".join(" ".join(f"{x:.17g}" for x in p) for p in vertices.tolist())
    lines = "\n".join("4 " + " ".join(map(str, cell)) for cell in cells.tolist())
    n = len(cells)
    return (
        "# vtk DataFile Version 3.0\nbar\nASCII\nDATASET UNSTRUCTURED_GRID\n"
        f"POINTS {len(vertices)} double\n{points}\nCELLS {n} {5 * n}\n{lines}\nCELL_TYPES {n}\n" + "10\n" * n
    )


def ball_on_table(library: Library) -> Call:
    """A ball that has come to rest."""
    scene = Scene(library, 0.005)
    scene.add_rigid(scene.plant.world_body(), (1.0, 1.0, 0.1), -0.05)
    scene.add_soft(scene.geometry.Sphere(0.05), 0.05, 0.03)
    return scene.start(0.3)


def gripper(library: Library) -> Call:
    """Two fingers with effort limits that have lifted a ball."""
    scene = Scene(library, 0.01)
    plant, tree = scene.plant, scene.tree
    scene.add_rigid(plant.world_body(), (0.6, 0.4, 0.1), -0.05)
    scene.add_soft(scene.geometry.Sphere(0.04), 0.04, 0.022)
    inertia = tree.SpatialInertia.SolidBoxWithMass(0.3, 0.05, 0.05, 0.05)
    hand = plant.AddModelInstance("hand")
    palm = plant.AddRigidBody("palm", hand, inertia)
    axes: list[tuple[Any, Any, list[float]]] = [(plant.world_body(), palm, [0.0, 0.0, 1.0])]
    for name, side in (("left", -1.0), ("right", 1.0)):
        finger = plant.AddRigidBody(name, hand, inertia)
        scene.add_rigid(finger, (0.02, 0.05, 0.06), 0.0)
        axes.append((palm, finger, [side, 0.0, 0.0]))
    for (parent, child, axis), limit in zip(axes, (200.0, 8.0, 8.0)):
        joint = tree.PrismaticJoint(f"slide of {child.name()}", parent.body_frame(), child.body_frame(), axis)
        motor = plant.AddJointActuator(f"motor of {child.name()}", plant.AddJoint(joint), limit)
        motor.set_controller_gains(tree.PdControllerGains(p=8000.0, d=800.0))
    return scene.start(0.5, np.array([0.09, 0.03, 0.03, 0.0, 0.0, 0.0]), hand)


class Case(NamedTuple):
    """The name of a row, and the tolerance between both [m]."""

    name: str
    make: Callable[[Library], Call]
    tolerance: float


CASES = (
    Case("clamped bar of 2160 tetrahedra", functools.partial(bar, True), 1e-8),
    Case("clamped neo-Hookean bar", functools.partial(bar, True, model="kNeoHookean"), 1e-2),
    Case(
        "clamped neo-Hookean bar, tolerance 1e-4",
        functools.partial(bar, True, model="kNeoHookean", tolerance=1e-4), 1e-2,
    ),
    Case("falling bar of 2160 tetrahedra", functools.partial(bar, False), 1e-8),
    Case("soft ball on a table", ball_on_table, 1e-6),
    Case("soft ball in a gripper", gripper, 1e-4),
)


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Steps of each scene."""
    for name, make, tolerance in CASES:
        reference = None if theirs is None else functools.partial(make, theirs)
        yield Row(f"{name}, {STEPS} steps", functools.partial(make, ours), reference, 1, tolerance)
