"""What touches a plant: geometries of a SceneGraph, their materials, and points at which they overlap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import GeometryId, ProximityProperties, SceneGraphInspector
from merganser.geometry.hydroelastic.engine import HydroelasticArrays
from merganser.geometry.hydroelastic.representation import compliance_of
from merganser.geometry.registration.materials import HydroelasticType
from merganser.multibody.contact.contact_pairs import material_dtype
from merganser.multibody.dynamics.records import StepResults
from merganser.multibody.plant.contact_settings import ContactSettings
from merganser.multibody.plant.geometry_registration import CoulombFriction, GeometryRegistration
from merganser.multibody.plant.input_ports import InputPorts
from merganser.multibody.plant.model import ContactModel, PlantModel
from merganser.multibody.plant.step.failures import WarnOnce, time_of
from merganser.multibody.plant.step.sample import found_in

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.step_buffers import StepBuffers

Array = NDArray[Any]

_RELAXATION_TIME = 0.1  # of SAP, where a geometry does not say [s]


class CollisionGeometry(NamedTuple):
    """What the geometries of a SceneGraph are to a plant, see ContactGeometry.read(); rows are those of the layout.

    Attributes:
        layout: of proximity queries (geometry/scene/proximity_layout.py); None if no geometry has been read.
        penetration_allowance: for which their stiffness was chosen [m].
        bodies: indices of the bodies that they belong to, 0 for those of other sources.
        materials: records of material_dtype.
        mobods, X_BG: which they are fixed to, and where.
        is_own: whether all are fixed to bodies of the plant.
        is_foreign: which of them others than the plant move; has_foreign: any.
        hydroelastic: what they are on contact surfaces; None without such.
        margin: at which distance surfaces may begin [m].
    """

    layout: Any = None
    penetration_allowance: float = 0.0
    bodies: Array = np.zeros(0, np.int64)
    materials: Array = np.zeros(0, material_dtype)
    mobods: Array = np.zeros(0, np.int64)
    X_BG: Array = np.zeros((0, 4, 4))
    is_own: bool = False
    is_foreign: Array = np.zeros(0, bool)
    has_foreign: bool = False
    hydroelastic: HydroelasticArrays | None = None
    margin: float = 0.0

    def ids(self) -> list[GeometryId]:
        """The geometries, row by row."""
        ids: list[GeometryId] = [] if self.layout is None else self.layout.geometry_ids
        return ids


class ContactGeometry:
    """The points at which geometries overlap, in a Context.

    Args:
        model, registration, settings, inputs: of the plant.
        warn_once: warns users, once.

    Attributes:
        may_touch: whether there is anything with contact, after Finalize().
        has_surfaces: whether some Context has had geometries with contact surfaces.
    """

    def __init__(
        self,
        model: PlantModel,
        registration: GeometryRegistration,
        settings: ContactSettings,
        inputs: InputPorts,
        warn_once: WarnOnce,
    ) -> None:
        self._model, self._tree = model, model.tree
        self._registration, self._settings, self._inputs, self._warn_once = registration, settings, inputs, warn_once
        self.may_touch = self.has_surfaces = False

    def freeze(self) -> None:
        """Takes over what has been registered."""
        self.may_touch = any(self._registration.collision_geometries.values())

    def update_poses(self, context: Context, buffers: StepBuffers) -> None:
        """Lets the geometries of a step be where the SceneGraph says, if others than the plant move some of them."""
        geometry = buffers.model.contact.geometry
        if self.may_touch and buffers.model.can_constrain and not geometry.is_moved_by_plant:
            query = self.query_object(context)
            X_WG = buffers.geometry.layout.world_poses(query.world_poses())
            if X_WG.dtype == object:  # of AutoDiffXd
                X_WG, _ = query.proximity_queries().poses(query.world_poses())
            geometry.X_WG[:] = X_WG

    def check_contacts(self, context: Context, buffers: StepBuffers, out: StepResults) -> None:
        """Raises if something that another plant or system moves touches a body of this plant that moves."""
        if buffers.geometry.has_foreign:
            found = found_in(out)
            of_points = found.candidates[found.contacts["pair"]]
            of_surfaces = found.surface_pairs[np.unique(found.owners[:, 0])]
            self._refuse_foreign_contacts(context, buffers, np.concatenate([of_points, of_surfaces]))

    def eval_inspector(self, context: Context) -> SceneGraphInspector:
        """Returns the inspector of the SceneGraph that is connected to the port `geometry_query`.

        It knows the geometries as they are in this Context, with what has been added, changed and removed there.

        Raises:
            ValueError: the context is not one of this plant.
            UnconnectedInputError: no SceneGraph is connected.
        """
        self._model.system.ValidateContext(context)
        inspector: SceneGraphInspector = self.query_object(context).inspector()
        return inspector

    def query_object(self, context: Context) -> Any:
        """What the port `geometry_query` receives.

        Raises:
            UnconnectedInputError: there is no SceneGraph to ask.
        """
        value = context.read_input(self._inputs.geometry_query.get_index())
        if value is not None:
            return value.get_value()
        from merganser.framework import UnconnectedInputError

        count = self._registration.num_collision_geometries()
        raise UnconnectedInputError(
            f"{self._inputs.geometry_query.GetFullDescription()} is not connected"
            + (f", but plant '{self._model.path()}' has {count} collision geometries" if count else "")
            + ". Make the plant with AddMultibodyPlantSceneGraph(), or connect the port to "
            "scene_graph.get_query_output_port()."
        )

    def read(self, layout: Any, inspector: Any) -> CollisionGeometry:
        """Reads what the geometries say about contact.

        Those of other sources that are fixed to the world are part of it. Those that move may not touch this plant's.
        """
        of_bodies = {id: index for index, ids in self._registration.collision_geometries.items() for id in ids}
        ids, compliance, frames = layout.geometry_ids, self._default_compliance(), self._registration.frame_ids
        materials = np.zeros(len(ids), material_dtype)
        bodies = np.array([of_bodies.get(id, 0) for id in ids], np.int64)
        materials["mobod"] = self._tree.mobod_of_body[bodies]
        for record, id, properties in zip(materials, ids, layout.properties):
            self._set_material(record, inspector.GetName(id), properties, *compliance)
            is_compliant = compliance_of(properties) is HydroelasticType.kCompliant
            modulus = properties.GetPropertyOrDefault("hydroelastic", "hydroelastic_modulus", math.inf)
            record["modulus"] = modulus if is_compliant else math.inf
        for body in self._tree.belts():
            for k in np.flatnonzero(bodies == int(body.index())):
                R_BG = inspector.GetPoseInFrame(ids[k]).rotation().matrix()
                materials["belt_axis_G"][k] = R_BG.T @ body._surface_axis
        world, frame_of = inspector.world_frame_id(), inspector.GetFrameId
        is_own = all(id in of_bodies and frame_of(id) == frames[of_bodies[id]] for id in ids)
        is_foreign = np.array([id not in of_bodies and frame_of(id) != world for id in ids], bool)
        surfaces, margin = None, 0.0
        has_surfaces = self._settings.get_contact_model() is not ContactModel.kPoint
        if has_surfaces and any(compliance_of(of) is not HydroelasticType.kUndefined for of in layout.properties):
            surfaces, margin = layout.hydroelastic, layout.hydroelastic_margin()
            self.has_surfaces = True
        X_BG = np.array([inspector.GetPoseInFrame(id).GetAsMatrix4() for id in ids]).reshape(-1, 4, 4)
        mobods, allowance = np.ascontiguousarray(materials["mobod"]), self._settings.choices.penetration_allowance
        of_others = is_own, is_foreign, bool(is_foreign.any())
        return CollisionGeometry(layout, allowance, bodies, materials, mobods, X_BG, *of_others, surfaces, margin)

    def refuse_points(self, context: Context, buffers: StepBuffers, out: StepResults) -> None:
        """Raises about geometries that touch at points, where contact is to be surfaces alone."""
        found, inspector = found_in(out), self.query_object(context).inspector()
        names = []
        for row in found.candidates[found.contacts["pair"][0]].tolist():
            kind = compliance_of(buffers.geometry.layout.properties[row])
            what = "no hydroelastic properties" if kind is HydroelasticType.kUndefined else kind.value
            names.append(f"'{inspector.GetName(buffers.geometry.layout.geometry_ids[row])}' ({what})")
        described = " and ".join(names)
        raise RuntimeError(
            f"Geometries {described} of plant '{self._model.path()}' overlap at time {time_of(context)} s, but "
            "their contact is no surface, and the contact model is kHydroelastic. Make one of them compliant and the "
            "other rigid or compliant (AddCompliantHydroelasticProperties(), AddRigidHydroelasticProperties()), choose "
            "set_contact_model(ContactModel.kHydroelasticWithFallback), where they touch at points, or filter their "
            "collisions."
        )

    def _refuse_foreign_contacts(self, context: Context, buffers: StepBuffers, pairs: Array) -> None:
        """Raises if one of the pairs of geometries that touch, shape [.., 2], is of a moving body and a foreign one."""
        is_moving = self._model.contact.tree_of_mobod[buffers.geometry.mobods] >= 0
        for i, k in pairs.tolist():
            first, second = (k, i) if buffers.geometry.is_foreign[k] else (i, k)
            if buffers.geometry.is_foreign[first] and is_moving[second]:
                ids, inspector = buffers.geometry.ids(), self.query_object(context).inspector()
                foreign, own = inspector.GetName(ids[first]), inspector.GetName(ids[second])
                raise RuntimeError(
                    f"Geometry '{own}' of plant '{self._model.path()}' touches geometry '{foreign}', which "
                    f"belongs to the source '{inspector.GetOwningSourceName(ids[first])}' and moves: the plant knows "
                    "nothing of the masses behind it. Put all bodies that may touch into one plant, give each plant a "
                    "SceneGraph of its own, or filter their collisions (collision_filter_manager())."
                )

    def set_deformable_material(self, record: Any, name: str, properties: ProximityProperties) -> None:
        """Writes what a deformable geometry says about contact, a record of material_dtype.

        It has no stiffness as points have, and no dissipation if it names none.
        """
        self._set_material(record, name, properties, math.inf, 0.0)

    def _set_material(
        self, record: Any, name: str, properties: ProximityProperties, stiffness: float, dissipation: float
    ) -> None:
        """What a geometry says about contact, with the given compliance if it does not say."""
        read = properties.GetPropertyOrDefault
        friction = read("material", "coulomb_friction", None)
        if not isinstance(friction, CoulombFriction):
            raise RuntimeError(
                f"Geometry '{name}' of plant '{self._model.path()}' takes part in contact, but its proximity "
                "properties have no ('material', 'coulomb_friction'). Set it by AddContactMaterial(properties, "
                "friction=CoulombFriction(static, dynamic))."
            )
        record["stiffness"] = read("material", "point_contact_stiffness", stiffness)
        record["dissipation"] = read("material", "hunt_crossley_dissipation", dissipation)
        record["relaxation_time"] = read("material", "relaxation_time", _RELAXATION_TIME)
        record["static_friction"], record["dynamic_friction"] = friction.static_friction(), friction.dynamic_friction()
        has_one_point = read("material", "single_contact_point", False)
        if not isinstance(has_one_point, (bool, np.bool_)):
            raise RuntimeError(
                f"The property ('material', 'single_contact_point') of geometry '{name}' of plant "
                f"'{self._model.path()}' must be True or False, but is {has_one_point!r}."
            )
        record["has_one_point"] = has_one_point
        adhesion = read("material", "adhesion", 0.0)
        if not (isinstance(adhesion, (int, float, np.number)) and 0.0 <= adhesion < math.inf):
            raise RuntimeError(
                f"The property ('material', 'adhesion') of geometry '{name}' of plant '{self._model.path()}' must be a "
                f"force that is finite and not negative [N], but is {adhesion!r}."
            )
        record["adhesion"] = adhesion
        record["v_GS_G"] = self._surface_velocity(name, read("material", "surface_velocity", None))

    def _surface_velocity(self, name: str, given: Any) -> Any:
        """The velocity of a geometry's surface, shape [3]; zero if it has none."""
        if given is None:
            return 0.0
        velocity = np.asarray(given, dtype=object)
        try:
            numbers = velocity.astype(float)
        except (TypeError, ValueError):
            numbers = np.full(1, math.nan)
        if numbers.shape != (3,) or not np.isfinite(numbers).all():
            raise RuntimeError(
                f"The property ('material', 'surface_velocity') of geometry '{name}' of plant '{self._model.path()}' "
                f"must be three finite numbers, the velocity of its surface in its own frame [m/s], but is {given!r}."
            )
        return numbers

    def _default_compliance(self) -> tuple[float, float]:
        """Stiffness [N/m] and dissipation [s/m] of a geometry that does not say.

        Two of them together, on which the heaviest body rests, give way by the penetration allowance and are
        critically damped.
        """
        g = float(np.linalg.norm(self._tree.gravity_vector())) or 9.81
        mass = max((body.default_mass() for body in self._tree.bodies), default=0.0)
        allowance = self._settings.choices.penetration_allowance
        return 2.0 * mass * g / allowance, math.sqrt(allowance / g) / allowance


def listed(names: list[str]) -> str:
    """The first of some names."""
    shown = ", ".join(f"'{name}'" for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} others"
