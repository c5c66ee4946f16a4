"""RobotDiagram: a plant and its SceneGraph in one diagram that knows both, and the builder that makes it."""

from __future__ import annotations

from typing import Any

from merganser.framework import Context, Diagram, DiagramBuilder, System
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.templates import SystemTemplate, instantiate
from merganser.geometry import SceneGraph
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant

_NAMES = ("plant", "scene_graph")


class RobotDiagram(Diagram):
    """A plant, its SceneGraph and whatever was added to them; made by `RobotDiagramBuilder`.

    Unless the builder was used for more, or one of the two has another name, all their ports that are not wired to each
    other are ports of the diagram: `plant_actuation`, `plant_state`, ..., `scene_graph_query`.
    """

    _plant: MultibodyPlant
    _scene_graph: SceneGraph

    def plant(self) -> MultibodyPlant:
        """Returns the plant."""
        return self._plant

    def scene_graph(self) -> SceneGraph:
        """Returns the SceneGraph."""
        return self._scene_graph

    def mutable_scene_graph(self) -> SceneGraph:
        """Returns the SceneGraph."""
        return self._scene_graph

    def plant_context(self, root_context: Context) -> Any:
        """Returns the plant's part of the Context of the outermost diagram.

        Raises:
            ValueError: the Context is a part itself, or of another diagram.
        """
        return self._plant.GetMyContextFromRoot(root_context)

    def mutable_plant_context(self, root_context: Context) -> Any:
        """Returns the plant's part of the Context of the outermost diagram.

        Raises:
            ValueError: the Context is a part itself, or of another diagram.
        """
        return self._plant.GetMyMutableContextFromRoot(root_context)

    def scene_graph_context(self, root_context: Context) -> Any:
        """Returns the SceneGraph's part of the Context of the outermost diagram.

        Raises:
            ValueError: the Context is a part itself, or of another diagram.
        """
        return self._scene_graph.GetMyContextFromRoot(root_context)

    def mutable_scene_graph_context(self, root_context: Context) -> Any:
        """Returns the SceneGraph's part of the Context of the outermost diagram.

        Raises:
            ValueError: the Context is a part itself, or of another diagram.
        """
        return self._scene_graph.GetMyMutableContextFromRoot(root_context)


class RobotDiagramBuilder:
    """Makes a `RobotDiagram`: a DiagramBuilder with a plant and a SceneGraph in it, and a parser for the plant.

    Args:
        time_step: of the plant [s], 0 for a continuous one.

    Raises:
        ValueError: the time step is negative or not finite.
    """

    _scalar: type[Any] = float

    def __init__(self, time_step: float = 0.001) -> None:
        self._builder: DiagramBuilder = instantiate(DiagramBuilder, scalar_of(self))()
        self._plant, self._scene_graph = AddMultibodyPlantSceneGraph(self._builder, time_step)
        self._own_wires = self._builder.connection_map()
        self._parser: Parser | None = None
        self._is_built = False

    def _check(self) -> None:
        if self._is_built:
            raise RuntimeError(
                "RobotDiagramBuilder: Build() has made its RobotDiagram already. Use that, or a new builder."
            )

    def builder(self) -> DiagramBuilder:
        """Returns the builder of the diagram, to add and connect systems; `Build()` is called here, not there.

        Raises:
            RuntimeError: the diagram is built already.
        """
        self._check()
        return self._builder

    def parser(self) -> Parser:
        """Returns a parser that adds models to the plant, always the same one.

        Raises:
            RuntimeError: the diagram is built already, or its scalars are not floats.
        """
        self._check()
        if scalar_of(self) is not float:
            raise RuntimeError(f"RobotDiagramBuilder_[{scalar_of(self).__name__}] has no parser: models are of floats.")
        if self._parser is None:
            self._parser = Parser(self._plant)
        return self._parser

    def plant(self) -> MultibodyPlant:
        """Returns the plant.

        Raises:
            RuntimeError: the diagram is built already.
        """
        self._check()
        return self._plant

    def scene_graph(self) -> SceneGraph:
        """Returns the SceneGraph.

        Raises:
            RuntimeError: the diagram is built already.
        """
        self._check()
        return self._scene_graph

    def IsDiagramBuilt(self) -> bool:
        """Returns whether `Build()` has been called."""
        return self._is_built or self._builder.already_built()

    def Build(self) -> RobotDiagram:
        """Finalizes the plant, unless it is, and returns the diagram.

        Raises:
            RuntimeError: the diagram is built already, or the plant cannot be finalized or the diagram not be built.
        """
        self._check()
        if not self._plant.is_finalized():
            self._plant.Finalize()
        if self._is_as_made():
            self._export_all()
        diagram: RobotDiagram = instantiate(RobotDiagram, scalar_of(self))()
        self._builder.BuildInto(diagram)
        diagram._plant, diagram._scene_graph = self._plant, self._scene_graph
        self._is_built = True
        return diagram

    def _is_as_made(self) -> bool:
        """Whether nothing was added, connected, exported or renamed."""
        builder, systems = self._builder, (self._plant, self._scene_graph)
        return (
            builder.GetSystems() == list(systems)
            and builder.connection_map() == self._own_wires
            and not builder.num_input_ports()
            and not builder.num_output_ports()
            and tuple(system.get_name() for system in systems) == _NAMES
        )

    def _export_all(self) -> None:
        systems: tuple[System, ...] = (self._plant, self._scene_graph)
        for system in systems:
            for index in range(system.num_input_ports()):
                port = system.get_input_port(index)
                if (system, port.get_index()) not in self._own_wires:
                    self._builder.ExportInput(port, f"{system.get_name()}_{port.get_name()}")
        for system in systems:
            for index in range(system.num_output_ports()):
                out = system.get_output_port(index)
                self._builder.ExportOutput(out, f"{system.get_name()}_{out.get_name()}")


RobotDiagram_ = SystemTemplate(RobotDiagram)
RobotDiagramBuilder_ = SystemTemplate(RobotDiagramBuilder)
