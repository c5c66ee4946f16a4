"""DiagramBuilder: adds systems, connects their ports and builds the Diagram."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeVar

from merganser.framework.common.errors import DiagramError
from merganser.framework.common.indices import InputPortIndex, OutputPortIndex, UseDefaultName, kUseDefaultName
from merganser.framework.common.keywords import also_named
from merganser.framework.core.declarations.ports import InputPort, OutputPort
from merganser.framework.core.diagram.diagram import Diagram, find_system, refuse_algebraic_loops, require_ports
from merganser.framework.core.inside import in_scalar_of
from merganser.framework.core.scalars.templates import generic_class, instantiate
from merganser.framework.core.system.system import System
from merganser.framework.core.values.arguments import checked_index

SystemT = TypeVar("SystemT", bound=System)


class DiagramBuilder:
    """Collects systems and wires; `Build` turns them into a Diagram, once.

    builder = DiagramBuilder()
    plant = builder.AddNamedSystem("plant", Plant())
    controller = builder.AddNamedSystem("controller", Controller())
    builder.Connect(plant.get_output_port(), controller.get_input_port())
    builder.Connect(controller.get_output_port(), plant.get_input_port())
    diagram = builder.Build()
    """

    _scalar: type[Any] = float  # of all systems in the diagram

    def __init__(self) -> None:
        self._systems: dict[System, None] = {}  # in the order in which they were added
        self._names: Counter[str] = Counter()  # of the systems; they count here when they are renamed
        self._free_numbers: dict[str, int] = {}  # below which there is no free name with the given beginning
        self._connections: dict[tuple[System, int], tuple[System, int]] = {}
        self._inputs: dict[str, list[InputPort]] = {}  # what each input port of the diagram feeds
        self._outputs: dict[str, OutputPort] = {}
        self._exported: dict[InputPort, str] = {}  # the input port of the diagram that feeds one of a subsystem
        self._is_built = False

    # ------------------------------------------------------------------ systems

    def AddSystem(self, system: SystemT) -> SystemT:
        """Adds a system and returns it; one without a name is named after its class.

        Raises:
            RuntimeError: a system of that name is there already.
            RuntimeError: the system has been added to a diagram before, this one or another.
        """
        self._require_not_built()
        if not isinstance(system, System):
            raise TypeError(f"AddSystem takes a System, got {type(system).__name__}.")
        if system._scalar is not self._scalar:
            raise TypeError(
                f"System '{system.GetSystemPathname()}' has the scalar type {system._scalar.__name__}, the diagram "
                f"being built has {self._scalar.__name__}. Convert the system with system.ToScalarType"
                f"[{self._scalar.__name__}](), or build the diagram with DiagramBuilder_[{system._scalar.__name__}]."
            )
        if system in self._systems or system._sys_parent is not None:
            where = "this diagram" if system in self._systems else "another diagram"
            raise RuntimeError(
                f"System '{system.GetSystemPathname()}' has been added to {where} before. A system is a part of one "
                "diagram, once: make another one, or a copy with system.Clone()."
            )
        if system._sys_has_suggested_name:
            system._sys_name = self._free_name(system._sys_name)
        elif system._sys_name and self.HasSubsystemNamed(system._sys_name):
            raise DiagramError(f"The diagram already has a system named '{system._sys_name}'; names must be unique.")
        if not system._sys_name:
            system._sys_name = self._free_name(generic_class(type(system)).__name__)
        self._systems[system] = None
        self._names[system._sys_name] += 1
        system._sys_names_around = self._names
        return system

    def AddNamedSystem(self, name: str, system: SystemT) -> SystemT:
        """Adds a system under the given name and returns it."""
        if not isinstance(name, str):
            raise TypeError(f"AddNamedSystem takes a name and a System; got {name!r}.")
        if not isinstance(system, System):
            raise TypeError(f"AddNamedSystem('{name}', ...) takes a System, got {type(system).__name__}.")
        if self.HasSubsystemNamed(name):
            raise DiagramError(f"The diagram already has a system named '{name}'; names must be unique.")
        previous = system._sys_name
        system._sys_name = name
        try:
            return self.AddSystem(system)
        except Exception:
            system._sys_name = previous
            raise

    def _free_name(self, base: str) -> str:
        number = self._free_numbers.get(base, 1)
        name = base if number == 1 else f"{base}_{number}"
        while self._names[name]:
            number += 1
            name = f"{base}_{number}"
        self._free_numbers[base] = number
        return name

    def RemoveSystem(self, system: System) -> None:
        """Removes a system, its wires and its exported ports."""
        self._require_not_built()
        self.require_member(system)
        del self._systems[system]
        self._names[system._sys_name] -= 1
        self._free_numbers.clear()
        system._sys_names_around = None
        self._connections = {
            key: value for key, value in self._connections.items() if key[0] is not system and value[0] is not system
        }
        left = {name: [port for port in ports if port._system is not system] for name, ports in self._inputs.items()}
        self._inputs = {name: ports for name, ports in left.items() if ports}
        self._exported = {port: name for port, name in self._exported.items() if port._system is not system}
        self._outputs = {name: port for name, port in self._outputs.items() if port._system is not system}

    def GetSystems(self) -> list[System]:
        """Returns the systems added so far."""
        return list(self._systems)

    GetMutableSystems = GetSystems

    def HasSubsystemNamed(self, name: str) -> bool:
        """Whether a system of that name has been added."""
        return self._names[name] > 0

    def GetSubsystemByName(self, name: str) -> System:
        """Returns the system of that name."""
        return find_system(self.GetSystems(), name, "The diagram being built")

    def GetMutableSubsystemByName(self, name: str) -> System:
        """Returns the system of that name."""
        return self.GetSubsystemByName(name)

    def empty(self) -> bool:
        """Whether no system has been added."""
        return not self._systems

    def already_built(self) -> bool:
        """Whether `Build` or `BuildInto` has been called."""
        return self._is_built

    def num_input_ports(self) -> int:
        """Number of input ports that the diagram will have."""
        return len(self._inputs)

    def num_output_ports(self) -> int:
        """Number of output ports that the diagram will have."""
        return len(self._outputs)

    # ------------------------------------------------------------------ wires

    def Connect(self, *args: Any, convert_units: bool = False) -> None:
        """`Connect(output_port, input_port)`; for a port, also its name, or a system that has only this one.

        `Connect("motor.speed", "pid.measured")` connects port `speed` of system `motor` to port `measured` of system
        `pid`; `Connect("motor", "pid")` the only ports of both. With `convert_units`, a `UnitConversion` is added where
        both ports have units, of one dimension, that are not the same.

        Raises:
            RuntimeError: sizes, types or units differ, the input is taken, a port belongs to a system that was not
                added, or no system has the name.
            ValueError: the system has no port of the name.
        """
        self._require_not_built()
        if len(args) != 2:
            raise TypeError(f"Connect takes an output port and an input port, or two systems; got {len(args)} values.")
        output, input = args
        if not isinstance(output, OutputPort):
            output = self._port(output, "output")
        if not isinstance(input, InputPort):
            input = self._port(input, "input")
        require_ports(output, input, "Connect")
        self.require_member(output._system, output)
        self._require_free(input)
        if output._size != input._size:
            raise DiagramError(
                f"Cannot connect {output.GetFullDescription()} ({_kind(output)}) to "
                f"{input.GetFullDescription()} ({_kind(input)})."
            )
        if input._units is not None and output.get_units() not in (None, input._units):
            output = self._in_units(output, input, convert_units)
        self._connections[input._system, int(input._index)] = (output._system, int(output._index))

    def _port(self, given: Any, kind: str) -> Any:
        """The port of a system, of a system's name, or of 'system.port'; anything else as it is.

        Names of systems and of ports may have dots: the longest name that a system has counts.
        """
        if isinstance(given, str):
            system = given
            while "." in system and not self.HasSubsystemNamed(system):
                system = system.rpartition(".")[0]
            found, port = self.GetSubsystemByName(system), given[len(system) + 1 :]
            if system != given:
                return found.GetOutputPort(port) if kind == "output" else found.GetInputPort(port)
            given = found
        if isinstance(given, System):
            return given.get_output_port() if kind == "output" else given.get_input_port()
        return given

    def _in_units(self, output: OutputPort[Any], input: InputPort[Any], may_convert: bool) -> OutputPort[Any]:
        """The port whose value, in the units of `input`, is that of `output`."""
        from merganser.framework.core.diagram.units import UnitConversion, conversion, require_same_units

        units, wanted = str(output.get_units()), str(input.get_units())
        if not may_convert or conversion(units, wanted) in (None, (1.0, 0.0)):
            require_same_units(output, input, "Connect them with convert_units=True, or a UnitConversion between.")
            return output
        block = self.AddSystem(in_scalar_of(self, UnitConversion(units, wanted, input.size())))
        self.Connect(output, block.get_input_port())
        found: OutputPort[Any] = block.get_output_port()
        return found

    def Cascade(self, src: System, dest: System) -> None:
        """Connects the only output port of `src` to the only input port of `dest`."""
        if not isinstance(src, System) or not isinstance(dest, System):
            raise TypeError(f"Cascade takes two systems; got {type(src).__name__} and {type(dest).__name__}.")
        self.Connect(src.get_output_port(), dest.get_input_port())

    def Disconnect(self, source: OutputPort[Any], dest: InputPort[Any]) -> None:
        """Removes a wire."""
        self._require_not_built()
        require_ports(source, dest, "Disconnect")
        key = (dest._system, int(dest._index))
        if self._connections.get(key) != (source._system, int(source._index)):
            raise DiagramError(f"{source.GetFullDescription()} is not connected to {dest.GetFullDescription()}.")
        del self._connections[key]

    def ExportInput(self, input: InputPort[Any] | str, name: str | UseDefaultName = kUseDefaultName) -> InputPortIndex:
        """Makes an input port of a subsystem an input port of the diagram; returns its index.

        The port may be given by its name, 'system.port'. By default it is named after the system and the port,
        '<system>_<port>'.
        """
        self._require_not_built()
        input = self._port(input, "input") if isinstance(input, str) else input
        self._require_free(input)
        if name is kUseDefaultName:
            name = f"{input._system.GetSystemName()}_{input._name}"
        if not isinstance(name, str) or not name:
            raise DiagramError(f"ExportInput: port names are non-empty strings, got {name!r}.")
        if name in self._inputs:
            raise DiagramError(f"The diagram already has an input port named '{name}'; use ConnectInput to share it.")
        self._inputs[name] = [input]
        self._exported[input] = name
        return InputPortIndex(len(self._inputs) - 1)

    @also_named(diagram_port_name="diagram_port", diagram_port_index="diagram_port")
    def ConnectInput(self, diagram_port: str | int, input: InputPort[Any]) -> None:
        """Feeds one more subsystem's input port from an input port that the diagram already has."""
        self._require_not_built()
        self._require_free(input)
        if not isinstance(diagram_port, str):
            names = list(self._inputs)
            diagram_port = names[checked_index(diagram_port, len(names), "The diagram", "input port")]
        elif diagram_port not in self._inputs:
            raise DiagramError(f"The diagram has no input port named '{diagram_port}'; it has {list(self._inputs)}.")
        targets = self._inputs[diagram_port]
        if targets[0]._size != input._size:
            raise DiagramError(
                f"{input.GetFullDescription()} ({_kind(input)}) cannot share an input of the diagram with "
                f"{targets[0].GetFullDescription()} ({_kind(targets[0])})."
            )
        if input._units is not None:
            from merganser.framework.core.diagram.units import require_same_units

            for target in targets:
                require_same_units(target, input, "Give the diagram an input port of its own for each.")
        targets.append(input)
        self._exported[input] = diagram_port

    def ConnectToSame(self, exemplar: InputPort[Any], dest: InputPort[Any]) -> bool:
        """Feeds `dest` from whatever feeds `exemplar`; returns False if nothing does."""
        self._require_input(exemplar)
        self.require_member(exemplar._system, exemplar)
        self._require_free(dest)
        upstream = self._connections.get((exemplar._system, int(exemplar._index)))
        if upstream is not None:
            self.Connect(upstream[0].get_output_port(upstream[1]), dest)
            return True
        if exemplar in self._exported:
            self.ConnectInput(self._exported[exemplar], dest)
            return True
        return False

    def ExportOutput(
        self, output: OutputPort[Any] | str, name: str | UseDefaultName = kUseDefaultName
    ) -> OutputPortIndex:
        """Makes an output port of a subsystem, or 'system.port', an output port of the diagram; returns its index."""
        self._require_not_built()
        output = self._port(output, "output") if isinstance(output, str) else output
        if not isinstance(output, OutputPort):
            raise TypeError(f"ExportOutput takes an output port, got {_what(output)}.")
        self.require_member(output._system, output)
        if name is kUseDefaultName:
            name = f"{output._system.GetSystemName()}_{output._name}"
        if not isinstance(name, str) or not name:
            raise DiagramError(f"ExportOutput: port names are non-empty strings, got {name!r}.")
        if name in self._outputs:
            raise DiagramError(f"The diagram already has an output port named '{name}'.")
        self._outputs[name] = output
        return OutputPortIndex(len(self._outputs) - 1)

    def IsConnectedOrExported(self, port: InputPort[Any]) -> bool:
        """Whether an input port is connected or exported."""
        self._require_input(port)
        return (port._system, int(port._index)) in self._connections or port in self._exported

    def connection_map(self) -> dict[tuple[System, int], tuple[System, int]]:
        """Returns {(system, input port index): (system, output port index)} of all wires."""
        return dict(self._connections)

    # ------------------------------------------------------------------ building

    def Build(self) -> Diagram:
        """Returns the Diagram; the builder is then empty and of no more use.

        Raises:
            AlgebraicLoopError: some outputs depend on themselves at the same instant.
        """
        diagram: Diagram = instantiate(Diagram, self._scalar)()
        self.BuildInto(diagram)
        return diagram

    def BuildInto(self, target: Diagram) -> None:
        """Makes `target`, an empty Diagram, consist of the systems and wires collected here."""
        self._require_not_built()
        if not self._systems:
            raise RuntimeError("DiagramBuilder: cannot build an empty diagram; add a system first.")
        if not isinstance(target, Diagram):
            raise TypeError(f"BuildInto takes a Diagram, got {type(target).__name__}.")
        if target._scalar is not self._scalar:
            raise TypeError(
                f"Diagram '{target.GetSystemPathname()}' has the scalar type {target._scalar.__name__}, the builder "
                f"has {self._scalar.__name__}; derive the Diagram from Diagram_[{self._scalar.__name__}]."
            )
        if target._sys_systems:
            raise RuntimeError(f"Diagram '{target.GetSystemPathname()}' has been built before.")
        for system in self._systems:
            if system._sys_parent is not None:
                raise RuntimeError(
                    f"System '{system.GetSystemPathname()}' has become part of another diagram since it was added."
                )
        systems = list(self._systems)
        refuse_algebraic_loops(systems, self._connections)
        self._is_built = True
        target._wire(systems, self._connections, self._inputs, self._outputs)

    # ------------------------------------------------------------------ checks

    def _require_not_built(self) -> None:
        if self._is_built:
            raise RuntimeError("DiagramBuilder: the diagram has been built; a builder serves once.")

    def require_member(self, system: System, port: Any = None) -> None:
        """Raises a DiagramError if a system, or that of a port, has not been added."""
        if not isinstance(system, System):
            raise TypeError(f"DiagramBuilder: expected a System, got {type(system).__name__}.")
        if system not in self._systems:
            what = (
                f"{port.GetFullDescription()}: its system" if port is not None else f"System '{system.GetSystemName()}'"
            )
            raise DiagramError(f"{what} has not been added to this builder; call AddSystem first.")

    def _require_input(self, port: Any) -> None:
        if not isinstance(port, InputPort):
            raise TypeError(f"DiagramBuilder: expected an input port, got {_what(port)}.")

    def _require_free(self, input: InputPort[Any]) -> None:
        self._require_input(input)
        self.require_member(input._system, input)
        upstream = self._connections.get((input._system, int(input._index)))
        if upstream is not None:
            port = upstream[0].get_output_port(upstream[1])
            raise DiagramError(f"{input.GetFullDescription()} is already connected to {port.GetFullDescription()}.")
        if input in self._exported:
            raise DiagramError(f"{input.GetFullDescription()} is already exported as an input of the diagram.")


def _what(port: Any) -> str:
    """Names a port that stands where another kind is expected, or the type of what is no port."""
    return port.GetFullDescription() if isinstance(port, (InputPort, OutputPort)) else type(port).__name__


def _kind(port: Any) -> str:
    return "abstract" if port._size is None else f"vector of size {port._size}"
