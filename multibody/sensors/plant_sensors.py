"""Sensors of any kind on a plant: what each measures, from the ports of the plant, and the system that has them.

    def calc_height(sensor, ports):
        return [ports.pose(sensor.frames[0]).translation()[2]]

    HEIGHT = SensorKind("height", 1, calc_height, ("body_poses",))

Those of MJCF files are in mjcf_sensors.py. `AddSensor` adds a sensor of any kind to a diagram.

The frame F of a sensor is fixed to a body B; W is the world.

    p_WF = p_WB + R_WB p_BF,   v_WF = v_WB + w_WB x p_BF_W                                (1)
    a_WF = a_WB + alpha_WB x p_BF_W + w_WB x (w_WB x p_BF_W)                              (2)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import BasicVector, Context, DiagramBuilder, DiscreteValues, InputPort, LeafSystem, OutputPort
from merganser.framework.common.errors import nearest_names
from merganser.framework.core.values.arguments import require_types
from merganser.framework.math import RigidTransform
from merganser.geometry import FrameId
from merganser.geometry.scene.query_object import RayCaster
from merganser.multibody.parsing.description import ShapeDescription
from merganser.multibody.parsing.instrument_description import SensorSampling
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, Transmission

Array = NDArray[Any]
FrameOnBody = tuple[int, RigidTransform]  # the index of a body, and a pose in it


@dataclass(frozen=True)
class Weighed:
    """A body with its mass, mass centre and central inertia, in its frame [kg, m, kg m^2]."""

    index: int
    mass: float
    p_BoBcm_B: Array
    I_BBcm_B: Array


@dataclass(frozen=True, eq=False)
class Measured:
    """The object of one sensor, in terms of a finalized plant.

    Attributes:
        frames: of the sensor, and perhaps one that it is measured against.
        transmission: whose length it measures, a Context to compute it in, and the gear of the length.
        pulls: indices of actuators along transmissions, these, and a Context to compute their moment arms in.
        coordinates: places of positions, of velocities among the states, and coefficients.
        joint: indices of its two bodies, its frames on these, and its index; of ball joints, and of reaction forces.
        actuators: their indices, and gears by which forces are divided.
        whole: the plant whose energy it measures, and a Context to compute it in.
        bodies: of a subtree.
        shape: in which contacts or the first frame count, around the last frame.
        gravity: in the world [m/s^2].
        limits: whose distance counts [rad or m].
        constants: numbers of the sensor.
        rays: casts those of a range finder, which pass the geometries of the frames `passed`.
    """

    frames: tuple[FrameOnBody, ...] = ()
    transmission: tuple[Transmission, Context, float] | None = None
    pulls: tuple[tuple[int, Transmission, Context], ...] = ()
    coordinates: tuple[tuple[int, int, float], ...] = ()
    joint: tuple[int, RigidTransform, int, RigidTransform, int] | None = None
    actuators: tuple[tuple[int, float], ...] = ()
    whole: tuple[MultibodyPlant, Context] | None = None
    bodies: tuple[Weighed, ...] = ()
    shape: ShapeDescription | None = None
    gravity: Array | None = None
    limits: tuple[float, float] = (-math.inf, math.inf)
    constants: Array | None = None
    rays: RayCaster | None = None
    passed: tuple[FrameId, ...] = ()


class Ports:
    """Values of the ports of the plant, each read when needed: `ports["state"]`.

    Args:
        kind: of the sensor, which says what it reads.
        inputs: of its system, by the names of the ports.
        context: of its system.
    """

    def __init__(self, kind: SensorKind, inputs: Mapping[str, InputPort], context: Context) -> None:
        self._kind, self._inputs, self._context = kind, inputs, context
        self.time = context.get_time()

    def __getitem__(self, name: str) -> Any:
        if name not in self._kind.inputs:
            raise RuntimeError(
                f"SensorKind '{self._kind.name}' reads the port '{name}', which is not among its inputs "
                f"{self._kind.inputs}; add it there."
            )
        return self._inputs[name].Eval(self._context)

    def pose(self, frame: FrameOnBody) -> RigidTransform:
        """X_WF (1)."""
        X_WB: RigidTransform = self["body_poses"][frame[0]]
        return X_WB @ frame[1]

    def velocity(self, frame: FrameOnBody) -> tuple[Array, Array]:
        """w_WF and v_WF (1)."""
        X_WB, V = self["body_poses"][frame[0]], self["body_spatial_velocities"][frame[0]]
        moved = V.Shift(X_WB.rotation() @ frame[1].translation())
        return moved.rotational(), moved.translational()

    def acceleration(self, frame: FrameOnBody) -> tuple[Array, Array]:
        """alpha_WF and a_WF (2)."""
        X_WB, V = self["body_poses"][frame[0]], self["body_spatial_velocities"][frame[0]]
        A = self["body_spatial_accelerations"][frame[0]]
        moved = A.Shift(X_WB.rotation() @ frame[1].translation(), V.rotational())
        return moved.rotational(), moved.translational()


@dataclass(frozen=True, eq=False)
class SensorKind:
    """One kind of sensor.

    Attributes:
        name: such as "gyro".
        size: how many numbers it measures.
        calc: (sensor, ports) computes them: of a `Measured`, from the `Ports` of its plant.
        inputs: names of the output ports of the plant that `calc` reads; "geometry_query" is that of the scene graph.
        is_positive: whether what it measures is never negative, so that a cutoff is a bound from above alone.
    """

    name: str
    size: int
    calc: Callable[[Measured, Ports], Any]
    inputs: tuple[str, ...]
    is_positive: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.inputs, str):
            raise TypeError(f"SensorKind '{self.name}': inputs must be names of ports, got the text {self.inputs!r}.")


_QUERY = "geometry_query"  # an input of the plant, too: all other ports that kinds read are its outputs


class PlantSensors(LeafSystem):
    """Sensors of a finalized plant, each with an output port of its name, a vector.

    Inputs are ports of the plant: those that some sensor reads, under their names there, and `geometry_query` of a
    scene graph. Made by AddSensor() and AddMjcfSensors().

    Args:
        plant: finalized.
        sensors: the name of each, its kind, what it is about, its cutoff (a bound of what it measures, 0 for none), and
            when it measures; None for always.

    Raises:
        RuntimeError: a sensor measures at the time steps of a plant that has none.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        sensors: Iterable[tuple[str, SensorKind, Measured, float, SensorSampling | None]],
    ) -> None:
        super().__init__()
        self._names: list[str] = []
        self._inputs: dict[str, InputPort] = {}
        for name, kind, measured, cutoff, sampling in sensors:
            if "limit_forces" in kind.inputs:
                plant.get_limit_forces_output_port()  # declared when it is asked for
            for port in kind.inputs:
                if port not in self._inputs:
                    found = plant.get_geometry_query_input_port() if port == _QUERY else plant.GetOutputPort(port)
                    self._inputs[port] = self.DeclareInputPort(port, found.get_data_type(), found.size())
            self._names.append(name)
            measure = self._measurement(name, kind, measured, cutoff)
            if sampling is None:
                tickets = {self._inputs[port].ticket() for port in kind.inputs}
                calc = _writer(measure)
                self.DeclareVectorOutputPort(name, kind.size, calc, tickets or {self.time_ticket()})
            else:
                self._add_samples(name, kind.size, measure, sampling, sampling.period or plant.time_step())

    def _measurement(
        self, name: str, kind: SensorKind, measured: Measured, cutoff: float
    ) -> Callable[[Context], NDArray[np.float64]]:
        def measure(context: Context) -> NDArray[np.float64]:
            found = kind.calc(measured, Ports(kind, self._inputs, context))
            value = np.atleast_1d(np.asarray(found, float))
            if found is None or value.shape != (kind.size,):
                raise ValueError(
                    f"Sensor '{name}': calc of SensorKind '{kind.name}' must return {kind.size} numbers, got {found!r}."
                )
            if cutoff > 0.0:
                value = np.clip(value, 0.0 if kind.is_positive else -cutoff, cutoff)
            return value

        return measure

    def _add_samples(
        self,
        name: str,
        size: int,
        measure: Callable[[Context], NDArray[np.float64]],
        sampling: SensorSampling,
        period: float,
    ) -> None:
        """An output port of what was measured at the events of a sensor, which are kept in a discrete state."""
        if period == 0.0:
            raise RuntimeError(
                f"Sensor '{name}' measures at time steps, but its plant is continuous. Give it a period (`interval` "
                "of MJCF), or use a discrete plant."
            )
        state = self.DeclareDiscreteState(sampling.start(period, size).ravel())

        def kept(context: Context) -> NDArray[np.float64]:
            return context.get_discrete_state(state).value().reshape(-1, 1 + size)

        def sample(context: Context, discrete_state: DiscreteValues) -> None:
            last = np.r_[context.get_time(), measure(context)]
            discrete_state.set_value(state, np.vstack([kept(context)[1:], last]).ravel())

        self.DeclarePeriodicDiscreteUpdateEvent(period, sampling.offset, sample)
        tickets = {self.time_ticket(), self.discrete_state_ticket(state)}
        calc = _writer(lambda context: sampling.read(kept(context), context.get_time(), period))
        self.DeclareVectorOutputPort(name, size, calc, tickets)

    def sensor_names(self) -> list[str]:
        """Returns the names of all sensors; of a file in the order of MuJoCo's `sensordata`."""
        return list(self._names)

    def get_sensor_output_port(self, name: str) -> OutputPort:
        """Returns the port of a sensor.

        Raises:
            RuntimeError: there is no sensor of that name.
        """
        if name not in self._names:
            raise RuntimeError(f"There is no sensor '{name}'. {nearest_names(name, self._names)}")
        return self.GetOutputPort(name)

    def EvalSensors(self, context: Context) -> Any:
        """Returns what all sensors measure, one after the other as in MuJoCo's `sensordata`.

        Args:
            context: of this system.
        """
        values = [self.GetOutputPort(name).Eval(context) for name in self._names]
        return np.concatenate(values) if values else np.zeros(0)


def _writer(calc: Callable[[Context], NDArray[np.float64]]) -> Callable[[Context, BasicVector], None]:
    return lambda context, output: output.SetFromVector(calc(context))


def AddSensor(
    builder: DiagramBuilder,
    plant: MultibodyPlant,
    kind: SensorKind,
    frames: Sequence[Frame] = (),
    constants: ArrayLike = (),
    name: str = "",
    sampling: SensorSampling | None = None,
) -> PlantSensors:
    """Adds a sensor of any kind to a diagram, wired to its plant.

    Args:
        builder: of the diagram that has the plant; a kind that reads `geometry_query` sees the scene graph named
            "scene_graph" in it.
        plant: finalized.
        kind: what it measures.
        frames: of the plant, which the kind finds in `sensor.frames`.
        constants: numbers, which it finds in `sensor.constants`.
        name: of the system and of its output port; that of the kind by default.
        sampling: when it measures, and how late its output says what; None for always and at once.

    Returns:
        The system; its only output port is the measurement.

    Raises:
        RuntimeError: the plant is not finalized, or has no output port that the kind reads, or has no time steps at
            which to measure.
    """
    require_types("AddSensor", builder=(builder, DiagramBuilder), plant=(plant, MultibodyPlant))
    require_types("AddSensor", kind=(kind, SensorKind))
    if sampling is not None:
        require_types("AddSensor", sampling=(sampling, SensorSampling))
    if not plant.is_finalized():
        raise RuntimeError("AddSensor(): the plant is not finalized; call Finalize() first.")
    placed = [(frame.body(), frame.GetFixedPoseInBodyFrame()) for frame in frames]
    measured = find_measured(plant, kind, placed, constants=np.array(constants, float))
    name = name or kind.name
    made = PlantSensors(plant, [(name, kind, measured, 0.0, sampling)])
    system: PlantSensors = add_sensors(builder, plant, made, name)
    return system


def add_sensors(builder: DiagramBuilder, plant: MultibodyPlant, system: Any, name: str) -> Any:
    """Adds sensors to a diagram, wired to its plant and scene graph."""
    builder.AddNamedSystem(name, system)
    for port_name, port in system._inputs.items():
        if port_name != _QUERY:
            builder.Connect(plant.GetOutputPort(port_name), port)
        elif builder.HasSubsystemNamed("scene_graph"):
            scene_graph: Any = builder.GetSubsystemByName("scene_graph")
            builder.Connect(scene_graph.get_query_output_port(), port)
    return system


def find_measured(
    plant: MultibodyPlant,
    kind: SensorKind,
    frames: Sequence[tuple[Any, RigidTransform]],
    joint: Any = None,
    **others: Any,
) -> Measured:
    """What a sensor is about, by the bodies and poses of its frames.

    Args:
        plant: finalized.
        kind: of the sensor; one that reads reaction forces is about the joint of the body of its first frame.
        frames: bodies, and poses in them.
        joint: that it is about.
        others: attributes of Measured.
    """
    if "reaction_forces" in kind.inputs:
        joints = map(plant.get_joint, plant.GetJointIndices())
        joint = next(joint for joint in joints if joint.child_body() is frames[0][0])
    if joint is not None:
        F, M = joint.frame_on_parent(), joint.frame_on_child()
        others["joint"] = (
            int(F.body().index()), F.GetFixedPoseInBodyFrame(), int(M.body().index()), M.GetFixedPoseInBodyFrame(),
            int(joint.index()),
        )  # fmt: skip
    if _QUERY in kind.inputs:
        others["rays"] = RayCaster()
        if plant.geometry_source_is_registered():
            others["passed"] = tuple(plant.GetBodyFrameIdOrThrow(body.index()) for body, _ in frames)
    placed = tuple((int(body.index()), X_BF) for body, X_BF in frames)
    return Measured(frames=placed, gravity=plant.gravity_field().gravity_vector(), **others)
