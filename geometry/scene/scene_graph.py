"""SceneGraph: the leaf system that knows all geometry, takes frame poses in and gives a QueryObject out.

Sources, frames and geometries are the SceneGraph's model, a GeometryState. Each Context has its own copy of
it, as an abstract parameter, which may be changed there without touching the model.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.framework import (
    AbstractValue,
    Context,
    InputPort,
    LeafSystem,
    OutputPort,
    Value,
    ValueProducer,
)
from merganser.framework.core.scalars.scalars import ScalarArray
from merganser.framework.math import RigidTransform
from merganser.geometry.registration.ids import WORLD_FRAME_ID, FrameId, GeometryId, SourceId
from merganser.geometry.registration.properties import GeometryProperties, Role, RoleAssign
from merganser.geometry.registration.registered import GeometryFrame, GeometryInstance
from merganser.geometry.scene.collision_filters import CollisionFilterManager
from merganser.geometry.scene.geometry_state import GeometryState
from merganser.geometry.scene.inspector import SceneGraphInspector
from merganser.geometry.scene.plain_state import GeometryBox
from merganser.geometry.scene.pose_layout import PoseBuffers
from merganser.geometry.scene.query_object import QueryObject
from merganser.geometry.scene.scene_graph_config import SceneGraphConfig, default_values
from merganser.geometry.scene.source_values import (
    FramePoseVector,
    GeometryConfigurationVector,
    QuerySource,
    wrong_frames,
)
from merganser.geometry.shapes import Shape

if TYPE_CHECKING:
    from merganser.geometry.rendering.render_engine import RenderEngine


class SceneGraph(LeafSystem):
    """Holds the geometry of a diagram, and answers where it is.

    A *source* (a multibody plant, say) registers itself, its frames and its geometries, and is connected to
    the input port `get_source_pose_port(source_id)`, through which it gives the poses of its frames in their
    parents.

    Functions that change geometries come in two forms: with a Context as first argument they change that
    Context only, without one they change the model, which Contexts made later start from.

    Ports:
        input `<source name>_pose`, one for each source: FramePoseVector.
        input `<source name>_configuration`, one for each source: GeometryConfigurationVector.
        output `query`: QueryObject.

    Args:
        config: default proximity properties, see set_config().
    """

    _keeps_derivatives = True

    def __init__(self, config: SceneGraphConfig | None = None) -> None:
        super().__init__()
        self._model = GeometryState()
        self._config = SceneGraphConfig()
        if config is not None:
            default_values(config)
            self._config = copy.deepcopy(config)
        self._prototype: GeometryState | None = None  # of what Contexts get: the model with the default properties
        self._pose_ports: dict[SourceId, InputPort] = {}
        self._configuration_ports: dict[SourceId, InputPort] = {}
        self._state_index = self.DeclareAbstractParameter(GeometryBox(GeometryState()))
        # "All input ports" includes those that come later, with the sources.
        self._world_poses = self.DeclareCacheEntry(
            "world poses",
            ValueProducer(Value, self._calc_world_poses),
            {self.all_input_ports_ticket(), self.pa_ticket()},
        )
        self._query_port = self.DeclareAbstractOutputPort(
            "query",
            _allocate_query,
            self._calc_query,
            {self._world_poses.ticket(), self.pa_ticket()},
        )

    def _sys_printed_parameters(self, context: Context) -> tuple[list[Any], int]:
        return [], 2  # the geometries, and the configuration that they stand with here

    # ------------------------------------------------------------------ ports and inspection

    @staticmethod
    def world_frame_id() -> FrameId:
        """Returns the id of the world frame, the same for all SceneGraphs."""
        return WORLD_FRAME_ID

    def get_query_output_port(self) -> OutputPort[QueryObject]:
        """Returns the port that gives a QueryObject bound to the Context it is evaluated with."""
        return self._query_port

    def get_source_pose_port(self, source_id: SourceId) -> InputPort:
        """Returns the port that takes the poses of a source's frames, as a FramePoseVector.

        The port must have a value, once poses are asked for, if the source has registered frames.

        Raises:
            RuntimeError: there is no such source.
        """
        if source_id not in self._pose_ports:
            name = self._model.source(source_id).name
            raise RuntimeError(f"Source '{name}' ({source_id!r}) has no pose port.")
        return self._pose_ports[source_id]

    def get_source_configuration_port(self, source_id: SourceId) -> InputPort:
        """Returns the port that takes the vertices of a source's deformable geometries.

        It takes a GeometryConfigurationVector, which must have a value, once it is asked for, for each of them.

        Raises:
            RuntimeError: there is no such source.
        """
        if source_id not in self._configuration_ports:
            name = self._model.source(source_id).name
            raise RuntimeError(f"Source '{name}' ({source_id!r}) has no configuration port.")
        return self._configuration_ports[source_id]

    def model_inspector(self) -> SceneGraphInspector:
        """Returns the inspector of the model."""
        return SceneGraphInspector(lambda: self._model)

    # ------------------------------------------------------------------ sources and frames

    def RegisterSource(self, name: str = "") -> SourceId:
        """Registers a source, and declares the input port for the poses of its frames.

        Args:
            name: unique name; made from the id if empty.

        Returns:
            The id with which the source registers everything else.

        Raises:
            RuntimeError: there is a source of that name.
        """
        if not isinstance(name, str):
            raise TypeError(f"The name of a source must be a string; given {name!r}.")
        source_id = SourceId.get_new_id()
        name = self._model.new_source_name(source_id, name)
        port = self.DeclareAbstractInputPort(f"{name}_pose", Value(FramePoseVector()))
        self._model_to_change().register_source(source_id, name)
        self._pose_ports[source_id] = port
        self._configuration_ports[source_id] = self.DeclareAbstractInputPort(
            f"{name}_configuration", Value(GeometryConfigurationVector())
        )
        return source_id

    def SourceIsRegistered(self, source_id: SourceId) -> bool:
        """Returns whether there is such a source."""
        return source_id in self._model.sources

    @overload
    def RegisterFrame(self, source_id: SourceId, frame: GeometryFrame, /) -> FrameId: ...
    @overload
    def RegisterFrame(self, source_id: SourceId, *, frame: GeometryFrame) -> FrameId: ...
    @overload
    def RegisterFrame(self, source_id: SourceId, parent_id: FrameId, frame: GeometryFrame) -> FrameId: ...
    def RegisterFrame(self, source_id: SourceId, parent_id: Any = None, frame: Any = None) -> FrameId:
        """Registers a frame F of a source, whose pose X_PF the source will give.

        Args:
            source_id: the source.
            parent_id: the parent frame P, the world frame or another frame of the source; the world by
                default.
            frame: the frame; it gets the id `frame.id()`.

        Raises:
            RuntimeError: no such source or parent; the parent belongs to another source; the frame is
                registered already, or the source has another one of the same name.
        """
        if frame is None and isinstance(parent_id, GeometryFrame):
            parent_id, frame = WORLD_FRAME_ID, parent_id
        elif parent_id is None:
            parent_id = WORLD_FRAME_ID
        return self._model_to_change().register_frame(source_id, parent_id, frame)

    def RenameFrame(self, frame_id: FrameId, name: str) -> None:
        """Gives a frame another name.

        Raises:
            RuntimeError: no such frame, or its source has another one of that name.
        """
        self._model_to_change().rename_frame(frame_id, name)

    # ------------------------------------------------------------------ geometries

    @overload
    def RegisterGeometry(self, source_id: SourceId, frame_id: FrameId, geometry: GeometryInstance) -> GeometryId: ...
    @overload
    def RegisterGeometry(
        self, context: Context, source_id: SourceId, frame_id: FrameId, geometry: GeometryInstance
    ) -> GeometryId: ...
    def RegisterGeometry(self, *args: Any, **kwargs: Any) -> GeometryId:
        """Registers a geometry G, fixed to a frame F at X_FG, which is the pose of the GeometryInstance.

        It plays the roles for which the GeometryInstance has properties, which are copied.

        Args:
            context: the Context to change, instead of the model.
            source_id: the source, which owns the geometry.
            frame_id: the frame, of the same source, or the world frame.
            geometry: the geometry; it gets the id `geometry.id()`.

        Raises:
            RuntimeError: no such source or frame; the frame belongs to another source; the geometry is
                registered already; another geometry of the frame has the same name and one of its roles.
        """
        state, args = self._state_to_change(args, kwargs)
        return state.register_geometry(*args, **kwargs)

    def RegisterAnchoredGeometry(self, source_id: SourceId, geometry: GeometryInstance) -> GeometryId:
        """Registers a geometry G that is fixed to the world at X_WG, the pose of the GeometryInstance.

        Raises:
            RuntimeError: as for `RegisterGeometry`.
        """
        return self._model_to_change().register_geometry(source_id, WORLD_FRAME_ID, geometry)

    @overload
    def RegisterDeformableGeometry(
        self, source_id: SourceId, frame_id: FrameId, geometry: GeometryInstance, resolution_hint: float
    ) -> GeometryId: ...
    @overload
    def RegisterDeformableGeometry(
        self,
        context: Context,
        source_id: SourceId,
        frame_id: FrameId,
        geometry: GeometryInstance,
        resolution_hint: float,
    ) -> GeometryId: ...
    def RegisterDeformableGeometry(self, *args: Any, **kwargs: Any) -> GeometryId:
        """Registers a geometry of tetrahedra, whose vertices the source gives through its configuration port.

        Queries of proximity leave it out; a plant finds the contacts of its deformable bodies itself.

        Args:
            context: the Context to change, instead of the model.
            source_id: the source, which owns the geometry.
            frame_id: the world frame.
            geometry: the geometry at rest, at its pose; a Sphere, Ellipsoid, Box, Cylinder or Capsule, or a Mesh of a
                .vtk file, or of a closed surface, which the package tetgen fills.
            resolution_hint: about how long edges are to be [m]; of no effect on a Mesh.

        Raises:
            RuntimeError: as for `RegisterGeometry`; the frame is not the world's; or there are no tetrahedra of such a
                shape.
        """
        state, args = self._state_to_change(args, kwargs)
        return state.register_deformable_geometry(*args, **kwargs)

    def RenameGeometry(self, geometry_id: GeometryId, name: str) -> None:
        """Gives a geometry another name.

        Raises:
            RuntimeError: no such geometry; the name is empty; another geometry of the frame has that name and
                one of this one's roles.
        """
        self._model_to_change().rename_geometry(geometry_id, name)

    @overload
    def RemoveGeometry(self, source_id: SourceId, geometry_id: GeometryId) -> None: ...
    @overload
    def RemoveGeometry(self, context: Context, source_id: SourceId, geometry_id: GeometryId) -> None: ...
    def RemoveGeometry(self, *args: Any, **kwargs: Any) -> None:
        """Removes a geometry, from the Context if one is given, else from the model.

        Raises:
            RuntimeError: no such source or geometry, or it belongs to another source.
        """
        state, args = self._state_to_change(args, kwargs)
        state.remove_geometry(*args, **kwargs)

    @overload
    def ChangeShape(
        self, source_id: SourceId, geometry_id: GeometryId, shape: Shape, X_FG: RigidTransform | None = None
    ) -> None: ...
    @overload
    def ChangeShape(
        self,
        context: Context,
        source_id: SourceId,
        geometry_id: GeometryId,
        shape: Shape,
        X_FG: RigidTransform | None = None,
    ) -> None: ...
    def ChangeShape(self, *args: Any, **kwargs: Any) -> None:
        """Gives a geometry another shape and, if X_FG is given, another pose in its frame; see
        `RegisterGeometry`.

        Raises:
            RuntimeError: no such source or geometry, or it belongs to another source.
        """
        state, args = self._state_to_change(args, kwargs)
        state.change_shape(*args, **kwargs)

    # ------------------------------------------------------------------ roles

    @overload
    def AssignRole(
        self,
        source_id: SourceId,
        geometry_id: GeometryId,
        properties: GeometryProperties,
        assign: RoleAssign = RoleAssign.kNew,
    ) -> None: ...
    @overload
    def AssignRole(
        self,
        context: Context,
        source_id: SourceId,
        geometry_id: GeometryId,
        properties: GeometryProperties,
        assign: RoleAssign = RoleAssign.kNew,
    ) -> None: ...
    def AssignRole(self, *args: Any, **kwargs: Any) -> None:
        """Gives a geometry the role to which the properties belong.

        Args:
            context: the Context to change, instead of the model.
            source_id: the source that owns the geometry.
            geometry_id: the geometry.
            properties: ProximityProperties, IllustrationProperties or PerceptionProperties; copied.
            assign: kNew if the geometry does not have the role yet, kReplace to replace its properties.

        Raises:
            RuntimeError: no such source or geometry; it belongs to another source; it has the role (kNew) or
                does not (kReplace); another geometry of the same frame has the same name and role.
        """
        state, args = self._state_to_change(args, kwargs)
        state.assign_role(*args, **kwargs)

    @overload
    def RemoveRole(self, source_id: SourceId, frame_id: FrameId, role: Role) -> int: ...
    @overload
    def RemoveRole(self, source_id: SourceId, geometry_id: GeometryId, role: Role) -> int: ...
    @overload
    def RemoveRole(self, context: Context, source_id: SourceId, frame_id: FrameId, role: Role) -> int: ...
    @overload
    def RemoveRole(self, context: Context, source_id: SourceId, geometry_id: GeometryId, role: Role) -> int: ...
    def RemoveRole(self, *args: Any, **kwargs: Any) -> int:
        """Takes a role from a geometry, or from all geometries of this source that are fixed to a frame.

        Returns:
            How many geometries had the role.

        Raises:
            RuntimeError: no such source, frame or geometry, or it belongs to another source.
        """
        for name in ("frame_id", "geometry_id"):
            if name in kwargs:
                kwargs["item_id"] = kwargs.pop(name)
        state, args = self._state_to_change(args, kwargs)
        return state.remove_role(*args, **kwargs)

    # ------------------------------------------------------------------ renderers

    @overload
    def AddRenderer(self, name: str, renderer: RenderEngine) -> None: ...
    @overload
    def AddRenderer(self, context: Context, name: str, renderer: RenderEngine) -> None: ...
    def AddRenderer(self, *args: Any, **kwargs: Any) -> None:
        """Adds a render engine, which cameras choose by its name.

        It may be added before geometries or after them: it is offered all those of the perception role.

        Args:
            context: the Context to change, instead of the model.
            name: unique among the renderers.
            renderer: the engine, of which a clone is kept.

        Raises:
            RuntimeError: there is a renderer of that name; or a geometry is not fit for this one.
            TypeError: this is no engine.
        """
        state, args = self._state_to_change(args, kwargs)
        state.add_renderer(*args, **kwargs)

    @overload
    def RemoveRenderer(self, name: str) -> None: ...
    @overload
    def RemoveRenderer(self, context: Context, name: str) -> None: ...
    def RemoveRenderer(self, *args: Any, **kwargs: Any) -> None:
        """Removes a render engine, from the Context if one is given, else from the model.

        Raises:
            RuntimeError: no engine has that name.
        """
        state, args = self._state_to_change(args, kwargs)
        state.remove_renderer(*args, **kwargs)

    @overload
    def HasRenderer(self, name: str) -> bool: ...
    @overload
    def HasRenderer(self, context: Context, name: str) -> bool: ...
    def HasRenderer(self, *args: Any, **kwargs: Any) -> bool:
        """Returns whether the model, or a Context, has a render engine of that name."""
        state, args = self._state_to_read(args, kwargs)
        return state.renderers.has(*args, **kwargs)

    def RendererCount(self, context: Context | None = None) -> int:
        """Returns the number of render engines of the model, or of a Context."""
        state, _ = self._state_to_read((), {} if context is None else {"context": context})
        return len(state.renderers)

    @overload
    def GetRendererTypeName(self, name: str) -> str: ...
    @overload
    def GetRendererTypeName(self, context: Context, name: str) -> str: ...
    def GetRendererTypeName(self, *args: Any, **kwargs: Any) -> str:
        """Returns the type of a render engine of the model, or of a Context; empty if no engine has that name."""
        state, args = self._state_to_read(args, kwargs)
        return state.renderers.type_name(*args, **kwargs)

    @overload
    def GetRendererParameterYaml(self, name: str) -> str: ...
    @overload
    def GetRendererParameterYaml(self, context: Context, name: str) -> str: ...
    def GetRendererParameterYaml(self, *args: Any, **kwargs: Any) -> str:
        """Returns the parameters of a render engine of the model, or of a Context, as a YAML document whose one key is
        their type; empty if there is no engine of that name."""
        state, args = self._state_to_read(args, kwargs)
        return state.renderers.parameter_yaml(*args, **kwargs)

    # ------------------------------------------------------------------ collision filters, configuration

    def collision_filter_manager(self, context: Context | None = None) -> CollisionFilterManager:
        """Returns what changes the collision filters of the Context, if one is given, else of the model."""
        if context is None:
            return CollisionFilterManager(lambda: self._model, self._model_to_change)
        self.ValidateContext(context)
        return CollisionFilterManager(lambda: self._state(context), lambda: self._state_in_context_to_change(context))

    def set_config(self, config: SceneGraphConfig) -> None:
        """Sets the default proximity properties, of which a copy is kept.

        They concern Contexts that are made later, and there every geometry of the proximity role that does not have
        a property itself; the model keeps the properties as they were given.

        Raises:
            TypeError: the configuration or a value in it has the wrong type.
            RuntimeError: a value is out of its range.
        """
        default_values(config)
        self._config = copy.deepcopy(config)
        self._prototype = None

    def get_config(self, context: Context | None = None) -> SceneGraphConfig:
        """Returns a copy of the current configuration, or of that with which a Context was made."""
        if context is None:
            return copy.deepcopy(self._config)
        self.ValidateContext(context)
        return copy.deepcopy(self._state(context).config)

    # ------------------------------------------------------------------ calculations

    def SetDefaultParameters(self, context: Context, parameters: Any) -> None:
        """Gives a new Context its own copy of the model, with the default proximity properties."""
        if self._prototype is None:
            self._prototype = copy.deepcopy(self._model)
            self._prototype.apply_config(self._config)
        parameters.get_mutable_abstract_parameter(self._state_index).set_value(copy.deepcopy(self._prototype))

    def _state_to_change(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[GeometryState, tuple[Any, ...]]:
        """Takes a Context, if there is one, off the arguments.

        Returns:
            The state in that Context, of which a change is noted, or else the model; the other arguments.
        """
        context, args = _split_context(args, kwargs)
        return self._model_to_change() if context is None else self._state_in_context_to_change(context), args

    def _state_to_read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[GeometryState, tuple[Any, ...]]:
        """As `_state_to_change`, for a state that stays as it is."""
        context, args = _split_context(args, kwargs)
        if context is None:
            return self._model, args
        self.ValidateContext(context)
        return self._state(context), args

    def _model_to_change(self) -> GeometryState:
        self._prototype = None
        return self._model

    def _state_in_context_to_change(self, context: Context) -> GeometryState:
        self.ValidateContext(context)
        return context.get_mutable_abstract_parameter(self._state_index).get_value()

    def _state(self, context: Context) -> GeometryState:
        return context.get_abstract_parameter(self._state_index).get_value()

    def _calc_query(self, context: Context, output: AbstractValue) -> None:
        """Binds the QueryObject of this Context to it; nothing is computed before the first query."""
        query: QueryObject = output.get_mutable_value()
        if not query.is_bound_to(context):
            query.bind(QuerySource(self, context))

    def _calc_world_poses(self, context: Context, output: AbstractValue) -> None:
        state: GeometryState = context.peek_parameters().get_abstract_parameter(self._state_index).get_value()
        layout = state.pose_layout()
        scalar = self._scalar_of_poses(context)
        if scalar is float:
            buffers = output.get_value()
            if buffers is None or buffers.poses.layout is not layout:
                buffers = PoseBuffers(layout)
                output.set_value(buffers)
            for source_id, frame_ids, place in buffers.sources:
                if not place(self._poses_of_source(context, state, source_id, frame_ids)):
                    raise self._not_finite(context, state, source_id, frame_ids)
            buffers.update()
            return
        X_PF = ScalarArray.of((len(layout.frame_rows), 4, 4), scalar)
        X_PF[0] = np.eye(4)  # the world in itself
        for source_id, (frame_ids, rows) in layout.source_frames.items():
            X_PF[rows] = self._poses_of_source(context, state, source_id, frame_ids)
        output.set_value(layout.calc_world_poses(X_PF))

    def _scalar_of_poses(self, context: Context) -> type[Any]:
        """The scalars of a Context of objects, whatever those of the SceneGraph are; floats in one of numbers."""
        store = context.store
        return store.scalar if store.flat.dtype == object else float

    def _poses_of_source(
        self, context: Context, state: GeometryState, source_id: SourceId, frame_ids: list[FrameId]
    ) -> NDArray[Any]:
        """The poses X_PF that a source gives for its frames, in the order given."""
        port = self._pose_ports[source_id]
        value = context.read_input(port.get_index())
        poses: Any = port.Eval(context) if value is None else value.get_value()
        X_PF = poses.poses_of(frame_ids)
        if X_PF is None:
            given = poses.ids()
            if set(given) != set(frame_ids):
                raise wrong_frames(port, state, frame_ids, given)
            X_PF = poses.poses()[poses.rows(frame_ids)]
        is_of_floats = X_PF.dtype == object and self._scalar_of_poses(context) is float
        return X_PF.astype(np.float64) if is_of_floats else X_PF

    def _not_finite(
        self, context: Context, state: GeometryState, source_id: SourceId, frame_ids: list[FrameId]
    ) -> RuntimeError:
        """The error about poses of a source that are not."""
        finite = np.isfinite(self._poses_of_source(context, state, source_id, frame_ids)).all(axis=(1, 2))
        bad = [state.frames[frame_id].name for frame_id, good in zip(frame_ids, finite) if not good]
        port = self._pose_ports[source_id].GetFullDescription()
        return RuntimeError(f"{port}: the poses of frames {bad} are not finite.")


def _split_context(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Context | None, tuple[Any, ...]]:
    """The Context among the arguments, if there is one, and the other positional ones."""
    context = kwargs.pop("context", None)
    if context is None and args and isinstance(args[0], Context):
        context, args = args[0], args[1:]
    return context, args


def _allocate_query() -> Value:
    return Value(QueryObject())


def forget_from(scene_graph: SceneGraph, num_frames: int, num_geometries: int) -> GeometryState:
    """Takes out all frames and geometries of a SceneGraph but the oldest ones; returns what is left. For multibody."""
    state = scene_graph._model_to_change()
    state.forget_from(num_frames, num_geometries)
    return state
