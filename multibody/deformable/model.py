"""The deformable bodies of a plant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from numpy.typing import ArrayLike, NDArray

from merganser.framework import DiscreteStateIndex, Value
from merganser.framework.core.inside import scalar_of
from merganser.framework.math import RigidTransform
from merganser.geometry import GeometryConfigurationVector, GeometryId, GeometryInstance, Shape
from merganser.multibody.deformable.body import DeformableBody, DeformableBodyId
from merganser.multibody.fem.config import DeformableBodyConfig
from merganser.multibody.fem.force_density_field import ForceDensityField, ForceDensityFieldBase, GravityForceField
from merganser.multibody.tree.constraints import MultibodyConstraintId
from merganser.multibody.tree.indices import DeformableBodyIndex, ModelInstanceIndex, default_model_instance
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.contact_settings import ContactSettings
    from merganser.multibody.plant.geometry_registration import GeometryRegistration
    from merganser.multibody.plant.model import PlantModel

Array = NDArray[Any]


class PhysicalModel:
    """Abstract: what a plant moves beside rigid bodies."""

    def __init__(self) -> None:
        if type(self) is PhysicalModel:
            raise TypeError("PhysicalModel is abstract; MultibodyPlant.deformable_model() gives a DeformableModel.")


class DeformableModel(PhysicalModel):
    """The deformable bodies of a plant, which `MultibodyPlant.mutable_deformable_model()` gives.

    Bodies are registered before Finalize(), of discrete plants of floats that have a SceneGraph and do not use TAMSI.
    They touch rigid geometries that have a pressure field, see deformable/README.md.

    Functions that take the identifier of a body raise RuntimeError if no body has it.
    """

    def __init__(
        self,
        model: PlantModel,
        geometry: GeometryRegistration,
        settings: ContactSettings,
    ) -> None:
        super().__init__()
        self._model, self._tree = model, model.tree
        self._geometry, self._settings = geometry, settings
        self._bodies: list[DeformableBody] = []
        self._forces: list[ForceDensityFieldBase] = []

    # ------------------------------------------------------------------ adding

    @overload
    def RegisterDeformableBody(
        self, geometry_instance: GeometryInstance, config: DeformableBodyConfig, resolution_hint: float
    ) -> DeformableBodyId: ...
    @overload
    def RegisterDeformableBody(
        self,
        geometry_instance: GeometryInstance,
        model_instance: int,
        config: DeformableBodyConfig,
        resolution_hint: float,
    ) -> DeformableBodyId: ...
    def RegisterDeformableBody(self, geometry_instance: GeometryInstance, *args: Any, **kwargs: Any) -> Any:
        """Adds a body of the shape, pose and name of a geometry, which is registered with the SceneGraph.

        Args:
            geometry_instance: the geometry at rest, at its pose in W; a Sphere, Ellipsoid, Box, Cylinder or Capsule, or
                a Mesh of a .vtk file of tetrahedra, or of a closed surface, which the package tetgen fills.
            model_instance: of the body; the default one if left out.
            config: its material, of which a copy is kept.
            resolution_hint: about how long edges are to be [m]; of no effect on a Mesh.

        Returns:
            The identifier of the body.

        Raises:
            RuntimeError: the plant is finalized, continuous, of other scalars, or has no SceneGraph; there is no such
                model instance, or it has a deformable body of that name; or there are no tetrahedra of such a shape, or
                one of them is flat or inside out.
            TypeError: other arguments.
        """
        instance, config, hint = _arguments_of_body(args, kwargs)
        if not isinstance(geometry_instance, GeometryInstance) or not isinstance(config, DeformableBodyConfig):
            raise TypeError(
                "RegisterDeformableBody() takes (geometry_instance, model_instance, config, resolution_hint), or these "
                f"without a model instance; given {geometry_instance!r} and {config!r}."
            )
        name = geometry_instance.name()
        self._check_can_have("RegisterDeformableBody", f"deformable body '{name}'")
        self._tree.GetModelInstanceName(instance)  # refuses one that does not exist
        if self.HasBodyNamed(name, instance):
            raise RuntimeError(
                f"RegisterDeformableBody(): model instance '{self._tree.GetModelInstanceName(instance)}' has a "
                f"deformable body named '{name}' already. Names must be unique within a model instance."
            )
        try:
            geometry_id = self._geometry.register_deformable(geometry_instance, instance, hint)
        except RuntimeError as error:
            raise RuntimeError(f"RegisterDeformableBody(): deformable body '{name}': {error}") from error
        scene_graph = self._geometry.scene_graph
        assert scene_graph is not None
        mesh = scene_graph.model_inspector().GetReferenceMesh(geometry_id)
        assert mesh is not None
        body = DeformableBody(name, instance, geometry_id, mesh, geometry_instance.pose(), config.__deepcopy__(None))
        body._add_to(self._tree, len(self._bodies), False)
        try:
            body.fem_body()  # refuses meshes and materials that are not fit
        except RuntimeError:
            self._geometry.forget_deformable(geometry_id)
            raise
        self._bodies.append(body)
        return body.body_id()

    def SetWallBoundaryCondition(self, id: DeformableBodyId, p_WQ: ArrayLike, n_W: ArrayLike) -> None:
        """Holds the vertices of a body that are behind a plane at rest; see DeformableBody."""
        self.GetBody(id).SetWallBoundaryCondition(p_WQ, n_W)

    def AddFixedConstraint(
        self,
        body_A_id: DeformableBodyId,
        body_B: RigidBody,
        X_BA: RigidTransform,
        shape_G: Shape,
        X_BG: RigidTransform,
    ) -> MultibodyConstraintId:
        """Fixes the vertices of a body that lie in a shape to a rigid body; see DeformableBody."""
        return self.GetBody(body_A_id).AddFixedConstraint(body_B, X_BA, shape_G, X_BG)

    def AddExternalForce(self, external_force: ForceDensityFieldBase) -> None:
        """Adds a density of force that acts on all deformable bodies.

        Raises:
            RuntimeError: the plant is finalized, continuous or of other scalars.
            TypeError: it is not a ForceDensityField.
        """
        if not isinstance(external_force, ForceDensityFieldBase):
            raise TypeError(f"AddExternalForce() takes a ForceDensityField; given {external_force!r}.")
        self._check_can_have("AddExternalForce", f"the {type(external_force).__name__}", needs_geometry=False)
        self._forces.append(external_force)

    def _check_can_have(self, caller: str, what: str, needs_geometry: bool = True) -> None:
        """Raises an error if the plant cannot have deformable bodies."""
        self._tree._check_not_finalized(caller)
        plant = f"plant '{self._model.path()}'"
        if not self._model.is_discrete:
            raise RuntimeError(
                f"{caller}(): {what} needs a discrete plant, and {plant} is continuous. Give it a time step."
            )
        scalar = scalar_of(self._model.system)
        if scalar is not float:
            raise RuntimeError(f"{caller}(): {what} needs a plant of floats, and {plant} is one of {scalar.__name__}.")
        if needs_geometry and self._geometry.scene_graph is None:
            raise RuntimeError(
                f"{caller}(): {what} needs a SceneGraph. Make {plant} with AddMultibodyPlantSceneGraph(), or call "
                "RegisterAsSourceForSceneGraph() first."
            )

    # ------------------------------------------------------------------ finding

    def num_bodies(self) -> int:
        """Returns the number of deformable bodies."""
        return len(self._bodies)

    def is_empty(self) -> bool:
        """Returns whether there is neither a deformable body nor an external force."""
        return not (self._bodies or self._forces)

    @overload
    def GetBody(self, id: DeformableBodyId | DeformableBodyIndex) -> DeformableBody: ...
    @overload
    def GetBody(self, *, index: DeformableBodyIndex) -> DeformableBody: ...
    def GetBody(self, id: Any = None, index: Any = None) -> DeformableBody:
        """Returns a body by its identifier or its index.

        Raises:
            RuntimeError: the body does not exist.
        """
        key = id if index is None else index
        if isinstance(key, DeformableBodyId):
            for body in self._bodies:
                if body.body_id() == key:
                    return body
            raise RuntimeError(
                f"Plant '{self._model.path()}' has no deformable body with {key!r}; it has {self._described()}."
            )
        if isinstance(key, (DeformableBodyIndex, int)):
            if not 0 <= key < len(self._bodies):
                raise RuntimeError(
                    f"Plant '{self._model.path()}' has no deformable body {int(key)}; there are {len(self._bodies)}."
                )
            return self._bodies[key]
        raise TypeError(f"A DeformableBodyId or DeformableBodyIndex was expected; given {key!r}.")

    def GetMutableBody(self, id: DeformableBodyId) -> DeformableBody:
        """Returns a body by its identifier; the same as GetBody()."""
        return self.GetBody(id)

    def GetBodyByName(self, name: str, model_instance: int | None = None) -> DeformableBody:
        """Returns a body by its name, if need be within a model instance.

        Raises:
            RuntimeError: no body has this name, or bodies of several model instances do.
        """
        found = self._named(name, model_instance)
        if not found:
            raise RuntimeError(
                f"Plant '{self._model.path()}' has no deformable body named '{name}'; it has {self._described()}."
            )
        if len(found) > 1:
            instances = ", ".join(f"'{self._tree.GetModelInstanceName(b.model_instance())}'" for b in found)
            raise RuntimeError(f"Several model instances have a deformable body named '{name}': {instances}. Pass one.")
        return found[0]

    def HasBodyNamed(self, name: str, model_instance: int | None = None) -> bool:
        """Returns whether there is a body of this name, if need be within a model instance."""
        return bool(self._named(name, model_instance))

    def _named(self, name: str, model_instance: int | None) -> list[DeformableBody]:
        if model_instance is not None:
            self._tree.GetModelInstanceName(ModelInstanceIndex(model_instance))
        return [b for b in self._bodies if b.name() == name and model_instance in (None, b.model_instance())]

    def _described(self) -> str:
        return ", ".join(f"'{body.name()}' ({body.body_id()!r})" for body in self._bodies) or "none"

    @overload
    def GetBodyId(self, index: DeformableBodyIndex | GeometryId) -> DeformableBodyId: ...
    @overload
    def GetBodyId(self, *, geometry_id: GeometryId) -> DeformableBodyId: ...
    def GetBodyId(self, index: Any = None, geometry_id: Any = None) -> DeformableBodyId:
        """Returns the identifier of a body by its index or its geometry.

        Raises:
            RuntimeError: the body does not exist.
        """
        key = index if geometry_id is None else geometry_id
        if not isinstance(key, GeometryId):
            return self.GetBody(index=key).body_id()
        for body in self._bodies:
            if body.geometry_id() == key:
                return body.body_id()
        raise RuntimeError(f"Geometry {key!r} belongs to no deformable body of plant '{self._model.path()}'.")

    def GetBodyIds(self, model_instance: int) -> list[DeformableBodyId]:
        """Returns the identifiers of the bodies of a model instance."""
        self._tree.GetModelInstanceName(ModelInstanceIndex(model_instance))
        return [body.body_id() for body in self._bodies if body.model_instance() == model_instance]

    def GetBodyIndex(self, id: DeformableBodyId) -> DeformableBodyIndex:
        """Returns the index of a body."""
        index: DeformableBodyIndex = self.GetBody(id).index()
        return index

    def GetGeometryId(self, id: DeformableBodyId) -> GeometryId:
        """Returns the geometry of a body."""
        return self.GetBody(id).geometry_id()

    def GetReferencePositions(self, id: DeformableBodyId) -> Array:
        """Returns the vertices of a body at rest, as they were registered, in W [m], shape [3 num_vertices]."""
        return self.GetBody(id).reference_positions()

    def GetDiscreteStateIndex(self, id: DeformableBodyId) -> DiscreteStateIndex:
        """Returns which group of the plant's discrete state is that of a body, after Finalize()."""
        return self.GetBody(id).discrete_state_index()

    def GetExternalForces(self, id: DeformableBodyId) -> list[ForceDensityFieldBase]:
        """Returns the force densities that act on a body, after Finalize()."""
        return self.GetBody(id).external_forces()

    def HasConstraint(self, id: DeformableBodyId) -> bool:
        """Returns whether vertices of a body are fixed to a rigid body."""
        return self.GetBody(id).has_fixed_constraint()

    # ------------------------------------------------------------------ in a Context

    def GetPositions(self, context: Context, id: DeformableBodyId) -> Array:
        """Returns the positions of a body's vertices in W [m], shape [3, num_vertices]."""
        return self.GetBody(id).GetPositions(context)

    def GetVelocities(self, context: Context, id: DeformableBodyId) -> Array:
        """Returns the velocities of a body's vertices in W [m/s], shape [3, num_vertices]."""
        return self.GetBody(id).GetVelocities(context)

    def GetPositionsAndVelocities(self, context: Context, id: DeformableBodyId) -> Array:
        """Returns positions [m] and, to their right, velocities [m/s], in W, shape [3, 2 num_vertices]."""
        return self.GetBody(id).GetPositionsAndVelocities(context)

    def SetPositions(self, context: Context, id: DeformableBodyId, q: ArrayLike) -> None:
        """Sets the positions of a body's vertices; see DeformableBody."""
        self.GetBody(id).SetPositions(context, q)

    def SetVelocities(self, context: Context, id: DeformableBodyId, v: ArrayLike) -> None:
        """Sets the velocities of a body's vertices; see DeformableBody."""
        self.GetBody(id).SetVelocities(context, v)

    def SetPositionsAndVelocities(self, context: Context, id: DeformableBodyId, q: ArrayLike, v: ArrayLike) -> None:
        """Sets positions and velocities of a body's vertices; see DeformableBody."""
        self.GetBody(id).SetPositionsAndVelocities(context, q, v)

    def Disable(self, id: DeformableBodyId, context: Context) -> None:
        """Stops a body where it is; see DeformableBody."""
        self.GetBody(id).Disable(context)

    def Enable(self, id: DeformableBodyId, context: Context) -> None:
        """Lets a body move again."""
        self.GetBody(id).Enable(context)

    def is_enabled(self, id: DeformableBodyId, context: Context) -> bool:
        """Returns whether a body moves."""
        return self.GetBody(id).is_enabled(context)

    # ------------------------------------------------------------------ for the plant

    def get(self) -> DeformableModel:
        """Returns the deformable bodies of the plant."""
        return self

    def get_mutable(self) -> DeformableModel:
        """Returns the deformable bodies of the plant, to which others can be added.

        Raises:
            RuntimeError: after Finalize().
        """
        self._tree._check_not_finalized("mutable_deformable_model")
        return self

    def check(self) -> None:
        """Refuses what Finalize() cannot complete."""
        if not self._bodies:
            return
        name = self._bodies[0].name()
        if self._settings.is_tamsi():
            raise RuntimeError(
                f"Plant '{self._model.path()}' has deformable body '{name}', and kTamsi is for rigid ones only. Choose "
                "kSap, kSimilar or kLagged with set_discrete_contact_approximation()."
            )

    def declare(self) -> None:
        """Declares state and parameters, once the tree is finalized."""
        system = self._model.system
        for field in self._forces:
            if isinstance(field, ForceDensityField):
                field.DeclareSystemResources(system)
        for body in self._bodies:
            gravity = GravityForceField(self._tree.gravity_vector(), body.config().mass_density())
            gravity.DeclareSystemResources(system)
            state = system.DeclareDiscreteState(body._default_state())
            parameter = system.DeclareAbstractParameter(Value(True))
            body._complete(int(state), int(parameter), [gravity, *self._forces])
        if self._bodies:
            self._model.default_setters.append(self.set_default_state)

    def set_default_state(self, context: Context) -> None:
        """Sets all bodies to their default positions, at rest."""
        for body in self._bodies:
            context.get_mutable_discrete_state(body._state_index).SetFromVector(body._default_state())

    def bodies(self) -> list[DeformableBody]:
        """Returns all bodies, by index."""
        return list(self._bodies)

    def bodies_with_contact(self) -> list[DeformableBody]:
        """Returns the bodies whose geometries have proximity properties."""
        if self._geometry.scene_graph is None:
            return []
        inspector = self._geometry.scene_graph.model_inspector()
        return [b for b in self._bodies if inspector.GetProximityProperties(b.geometry_id()) is not None]

    def calc_configurations(self, context: Context, output: Any) -> None:
        """Positions of the vertices of all bodies, for the SceneGraph."""
        configurations: GeometryConfigurationVector = output.get_mutable_value()
        configurations.clear()
        for body in self._bodies:
            configurations.set_value(body.geometry_id(), body._state(context)[0].ravel())


def _arguments_of_body(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ModelInstanceIndex, Any, Any]:
    """Model instance, material and resolution hint, by position or by name."""
    names = ["model_instance", "config", "resolution_hint"]
    if (args and isinstance(args[0], DeformableBodyConfig)) or (not args and "model_instance" not in kwargs):
        names = names[1:]
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) or given.keys() & kwargs.keys() or {*given, *kwargs} != set(names):
        raise TypeError(
            "RegisterDeformableBody() takes (geometry_instance, config, resolution_hint) or (geometry_instance, "
            f"model_instance, config, resolution_hint); given {len(args) + 1} arguments and {sorted(kwargs)} by name."
        )
    given.update(kwargs)
    instance = ModelInstanceIndex(given.get("model_instance", default_model_instance()))
    return instance, given["config"], given["resolution_hint"]
