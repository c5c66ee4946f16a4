"""Functions of MultibodyPlant: frames and shapes in a SceneGraph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    FrameId,
    GeometryId,
    GeometryInstance,
    GeometrySet,
    IllustrationProperties,
    ProximityProperties,
    SceneGraph,
    SceneGraphInspector,
    Shape,
    SourceId,
)
from merganser.multibody.plant.contact_geometry import ContactGeometry
from merganser.multibody.plant.coulomb_friction import CoulombFriction
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.tree import RigidBody, SpatialInertia

__all__ = ["GeometryFace"]


class GeometryFace:
    """Frames of the bodies in a SceneGraph, and the shapes fixed to them."""

    _geometry: GeometryRegistration
    _contact_geometry: ContactGeometry

    # ------------------------------------------------------------------ source and frames

    def RegisterAsSourceForSceneGraph(self, scene_graph: SceneGraph) -> SourceId:
        """Registers the plant as a source of geometry, with a frame for every body; returns its id.

        Raises:
            RuntimeError: the plant is registered already, or finalized; or another source of the SceneGraph
                has the plant's name.
            TypeError: the argument is not a SceneGraph.
        """
        return self._geometry.register_as_source_for_scene_graph(scene_graph)

    def geometry_source_is_registered(self) -> bool:
        """Returns whether the plant is registered with a SceneGraph."""
        return self._geometry.geometry_source_is_registered()

    def get_source_id(self) -> SourceId | None:
        """Returns the plant's id as a source of geometry; None if it is not registered."""
        return self._geometry.get_source_id()

    def AddRigidBody(
        self,
        name: str,
        model_instance: int | SpatialInertia | None = None,
        M_BBo_B: SpatialInertia | None = None,
    ) -> RigidBody:
        """Adds a body with its body frame; arguments and errors as MultibodyTree.AddRigidBody."""
        return self._geometry.add_rigid_body(name, model_instance, M_BBo_B)

    def RenameModelInstance(self, model_instance: int, name: str) -> None:
        """Changes the name of a model instance, also in the names of its frames and shapes in the SceneGraph.

        Raises:
            RuntimeError: there is no such instance, the name is taken, or after Finalize().
        """
        self._geometry.rename_model_instance(model_instance, name)

    def GetBodyFrameIdIfExists(self, body_index: int) -> FrameId | None:
        """Returns the frame that the SceneGraph has for a body, if there is one."""
        return self._geometry.get_body_frame_id_if_exists(body_index)

    def GetBodyFrameIdOrThrow(self, body_index: int) -> FrameId:
        """Returns the frame that the SceneGraph has for a body.

        Raises:
            RuntimeError: there is no such body, or the plant is not registered with a SceneGraph.
        """
        return self._geometry.get_body_frame_id_or_throw(body_index)

    def GetBodyFromFrameId(self, frame_id: FrameId) -> RigidBody | None:
        """Returns the body to which a frame of the SceneGraph belongs, None for a frame of another source."""
        return self._geometry.get_body_from_frame_id(frame_id)

    # ------------------------------------------------------------------ shapes

    def RegisterVisualGeometry(
        self,
        body: RigidBody,
        X_BG: RigidTransform | None = None,
        shape: Shape | None = None,
        name: str | None = None,
        diffuse_color: Any = None,
        properties: IllustrationProperties | None = None,
        *,
        geometry_instance: GeometryInstance | None = None,
    ) -> GeometryId:
        """Registers a geometry for people and cameras to see, fixed to a body.

        It gets the illustration and the perception role, unless a `geometry_instance` has one of them already; then
        it has those that it has. In label images it has the number of the body, unless it has a `('label', 'id')`.

        Args:
            body: a body of this plant, or the world.
            X_BG: pose of the geometry in the body frame.
            shape: a Shape.
            name: unique among the visual geometries of the body.
            diffuse_color: red, green, blue, alpha, each from 0 to 1; or
            properties: illustration properties, which are perception properties, too.
            geometry_instance: in place of all the others but the body, a geometry with its pose, name and
                perhaps properties; it may also be the second argument by position.

        Raises:
            RuntimeError: the plant has no SceneGraph, or is finalized; the name is taken.
            TypeError: other arguments.
        """
        return self._geometry.register_visual_geometry(
            body, X_BG, shape, name, diffuse_color, properties, geometry_instance=geometry_instance
        )

    def RegisterCollisionGeometry(
        self,
        body: RigidBody,
        X_BG: RigidTransform,
        shape: Shape,
        name: str,
        properties: ProximityProperties | CoulombFriction | None = None,
        *,
        coulomb_friction: CoulombFriction | None = None,
    ) -> GeometryId:
        """Registers a geometry for contact, fixed to a body.

        Args:
            body: a body of this plant, or the world.
            X_BG: pose of the geometry in the body frame.
            shape: a Shape.
            name: unique among the collision geometries of the body.
            properties: proximity properties, or a CoulombFriction; or
            coulomb_friction: friction alone.

        Raises:
            RuntimeError: the plant has no SceneGraph, or is finalized; the name is taken.
            TypeError: neither properties nor friction are given, or both.
        """
        return self._geometry.register_collision_geometry(
            body, X_BG, shape, name, properties, coulomb_friction=coulomb_friction
        )

    def GetVisualGeometriesForBody(self, body: RigidBody) -> list[GeometryId]:
        """Returns the geometries registered for drawing a body."""
        return self._geometry.get_visual_geometries_for_body(body)

    def GetCollisionGeometriesForBody(self, body: RigidBody) -> list[GeometryId]:
        """Returns the geometries registered for contact with a body."""
        return self._geometry.get_collision_geometries_for_body(body)

    def num_collision_geometries(self) -> int:
        """Returns the number of geometries registered for contact."""
        return self._geometry.num_collision_geometries()

    def num_visual_geometries(self) -> int:
        """Returns the number of geometries registered for drawing."""
        return self._geometry.num_visual_geometries()

    # ------------------------------------------------------------------ collision filters

    def CollectRegisteredGeometries(self, bodies: Iterable[RigidBody]) -> GeometrySet:
        """Returns all geometries fixed to some bodies, for use in a CollisionFilterDeclaration.

        Raises:
            RuntimeError: the plant is not registered with a SceneGraph.
            TypeError: something else than bodies of this plant is given.
        """
        return self._geometry.collect_registered_geometries(bodies)

    def EvalSceneGraphInspector(self, context: Any) -> SceneGraphInspector:
        """Returns the inspector of the SceneGraph that is connected to the port `geometry_query`.

        It knows the geometries as they are in this Context, with what has been added, changed and removed there.

        Raises:
            ValueError: the context is not one of this plant.
            UnconnectedInputError: no SceneGraph is connected.
        """
        return self._contact_geometry.eval_inspector(context)
