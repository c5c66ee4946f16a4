"""What pages of a Meshcat control, and see of it.

SimulationControls: a simulation in real time that pages pause, step, reset and stop.
DragSpring: a spring from the mouse in a page to a body, as a force on a plant; and cards of clicked bodies.
CameraPreview: what a camera at the pose of a page's camera sees, as a picture in that page.
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis import Simulator, SimulatorStatus
from merganser.framework import BasicVector, Context, Diagram, DiagramBuilder, LeafSystem, System, Value
from merganser.framework.common.running_time import running_time
from merganser.framework.core.values.arguments import checked_number, require_types
from merganser.geometry.rendering import EnvironmentMap, EquirectangularMap, LightParameter, RenderEngineVtkParams
from merganser.geometry.visualizers import Meshcat
from merganser.geometry.visualizers.client_messages import Drag
from merganser.multibody.math import SpatialForce
from merganser.multibody.planning import RobotDiagramBuilder
from merganser.multibody.plant import ExternallyAppliedSpatialForce, MultibodyPlant
from merganser.multibody.sensors import ApplyCameraConfig, CameraConfig
from merganser.multibody.tree import BodyIndex, JacobianWrtVariable, RigidBody, default_model_instance

_REACHED_BOUNDARY = SimulatorStatus.ReturnReason.kReachedBoundaryTime
_PERIOD = 1 / 64  # between two looks at the bar, by the clock [s]
_SHORTEST = 1e-4  # part of a period of simulated time between two looks, for simulations that are slow
_BEHIND = 0.1  # of the clock, beyond which lost time is not caught up [s]
_STEP = 0.01  # of simulations without a discrete plant [s]
_FREQUENCY = 10.0  # by which what is dragged would swing, if it were not damped [rad/s]
_PREFIXES = ("illustration", "proximity")  # of the viewers of a plant
_FIELD_OF_VIEW = 75.0  # of pages, in the vertical [degrees]
_QUALITY = 90  # of JPEG


class SimulationControls:
    """Advances a simulation in real time, controlled by users of the page.

        controls = SimulationControls(meshcat, simulator)
        controls.AdvanceTo(math.inf)  # until the stop button is clicked, or Ctrl-C is pressed

    The page has a bar to pause and continue, take one step, go back to the start, set the speed, and stop. Beyond
    pydrake, whose programs have `target_realtime_rate` and a button of their own.

    Args:
        meshcat: whose pages have the bar.
        simulator: of the simulation; it starts, and is reset to, what its context holds now.
        is_paused: whether it waits at first.
        rate: simulated time per time of the clock; 0 for as fast as possible.
        step: simulated time of one step [s]; by default that of the plants in the diagram, the shortest, or 0.01 s
            without plants.

    Raises:
        TypeError: an argument has another type.
        ValueError: the rate or the step is out of its range.
    """

    def __init__(
        self,
        meshcat: Meshcat,
        simulator: Simulator,
        *,
        is_paused: bool = False,
        rate: float = 1.0,
        step: float | None = None,
    ) -> None:
        require_types("SimulationControls", meshcat=(meshcat, Meshcat), simulator=(simulator, Simulator))
        rate = checked_number(rate, "SimulationControls: the rate")
        if not 0.0 <= rate < math.inf:
            raise ValueError(f"SimulationControls: the rate must be finite, and 0 or above; given {rate}.")
        if step is None:
            step = min(_periods(simulator.get_system()), default=_STEP)
        self._step = checked_number(step, "SimulationControls: the step")
        if not 0.0 < self._step < math.inf:
            raise ValueError(f"SimulationControls: the step must be positive and finite [s]; given {step}.")
        self._simulator = simulator
        self._start = simulator.get_context().Clone()
        self._bar = meshcat.simulation_bar()
        self._part = 1.0  # of a period that is simulated between two looks
        self._bar.show(bool(is_paused), rate)

    def Delete(self) -> None:
        """Removes the bar from the page."""
        self._bar.hide()

    def AdvanceTo(self, boundary_time: float) -> SimulatorStatus | None:
        """Advances under control of the users, until a time is reached or the stop button is clicked.

        Args:
            boundary_time: simulated time [s]; math.inf for no end.

        Returns:
            The status of the last advance; None before the first one, or after a reset.

        Raises:
            ValueError: the time lies in the past, or is not a number.
            RuntimeError: as of Simulator.AdvanceTo.
        """
        end = checked_number(boundary_time, "SimulationControls.AdvanceTo: boundary time [s]")
        if not end >= self._time():
            raise ValueError(
                f"SimulationControls.AdvanceTo: {end} s lies before the time of the context, {self._time()} s."
            )
        status: SimulatorStatus | None = None
        simulated, clock, rate = self._time(), running_time(), self._bar.rate  # from where speed is measured
        while not self._bar.take("stop"):
            is_new = True
            if self._bar.take("reset"):
                self._reset()
                status = None
            elif self._bar.is_paused:
                if self._bar.take("step"):
                    status = self._simulator.AdvanceTo(min(self._time() + self._step, end))
                    self._draw()
                else:
                    time.sleep(_PERIOD)
            else:
                status = self._advance(end)
                is_new = False
            self._bar.show_time(self._time())
            if self._time() >= end or (status is not None and status.reason() != _REACHED_BOUNDARY):
                break
            ahead = math.inf if is_new else self._time_ahead(simulated, clock, rate)
            if not -_BEHIND < ahead < math.inf or rate != self._bar.rate:
                simulated, clock, rate = self._time(), running_time(), self._bar.rate
            elif ahead > 0.0:
                time.sleep(ahead)
        return status

    def _time_ahead(self, simulated: float, clock: float, rate: float) -> float:
        """How far simulated time is ahead of the clock [s of the clock]; infinite at full speed."""
        return math.inf if rate == 0.0 else (self._time() - simulated) / rate - (running_time() - clock)

    def _advance(self, end: float) -> SimulatorStatus:
        """Advances until the bar is read again."""
        start, span = running_time(), self._part * _PERIOD * (self._bar.rate or 1.0)
        status = self._simulator.AdvanceTo(min(self._time() + span, end))
        took = running_time() - start
        limit = math.inf if self._bar.rate == 0.0 else 1.0
        self._part = min(max(self._part * min(2.0, _PERIOD / max(took, 1e-6)), _SHORTEST), limit)
        return status

    def _reset(self) -> None:
        """Goes back to the start."""
        self._simulator.get_mutable_context().SetTimeStateAndParametersFrom(self._start)
        self._simulator.Initialize()
        self._draw()

    def _draw(self) -> None:
        """Publishes the current state, regardless of the periods of viewers."""
        self._simulator.get_system().ForcedPublish(self._simulator.get_context())

    def _time(self) -> float:
        return float(self._simulator.get_context().get_time())


def _periods(system: System) -> Iterator[float]:
    """The periods of all discrete plants [s]."""
    if isinstance(system, Diagram):
        for each in system.GetSystems():
            yield from _periods(each)
    elif isinstance(system, MultibodyPlant) and system.time_step() > 0.0:
        yield system.time_step()


class DragSpring(LeafSystem):
    """A spring from the mouse in the page of a Meshcat to the body that it drags, with Ctrl held down.

    It pulls at the point where the mouse has taken the body, as if there were the mass that is felt there when it is
    taken: of all that hangs on it, as the joints let it move, m = 3 / trace(J M^-1 J^T), with the translational
    Jacobian J of the point and the mass matrix M (Khatib 1987, the mean of the inverse over directions). Its stiffness
    is m w^2, w = 10 rad/s, and its damping is critical, 2 m w. Gravity and contact act all the same, so that a body of
    its own hangs g / w^2 = 0.1 m below the mouse.

    While nothing is dragged, there is no force.

    Ports:
        input `plant_state`: positions and velocities, shape [num_positions + num_velocities].
        output `spatial_forces`: a list of ExternallyAppliedSpatialForce, for the plant's input port of these.

    Args:
        meshcat: in whose pages bodies can be dragged from now on.
        plant: whose bodies; finalized, and in the diagram with its viewers.
        frequency: w [rad/s].

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the plant is not finalized.
        ValueError: the frequency is not positive and finite.
    """

    def __init__(self, meshcat: Meshcat, plant: MultibodyPlant, frequency: float = _FREQUENCY) -> None:
        super().__init__()
        require_types("DragSpring", meshcat=(meshcat, Meshcat), plant=(plant, MultibodyPlant))
        if not plant.is_finalized():
            raise RuntimeError(f"DragSpring: call Finalize() of plant '{plant.get_name()}' first.")
        if not 0.0 < frequency < np.inf:
            raise ValueError(f"DragSpring: the frequency must be positive and finite [rad/s]; given {frequency}.")
        self._meshcat, self._plant, self._frequency = meshcat, plant, float(frequency)
        self._bodies = {path: body.index() for path, body in _paths(plant).items()}
        self._scratch = plant.CreateDefaultContext()
        self._felt: tuple[int, float] = (0, 0.0)  # number of a drag, and the mass that is felt in it
        size = plant.num_multibody_states()
        self._input = self.DeclareVectorInputPort("plant_state", BasicVector(size))
        output = self.DeclareAbstractOutputPort(
            "spatial_forces", lambda: Value([]), self._calc_forces, {self.all_input_ports_ticket()}
        )
        output.disable_caching_by_default()  # the mouse is no input
        meshcat.enable_dragging(True)

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder, plant: MultibodyPlant, meshcat: Meshcat, frequency: float = _FREQUENCY
    ) -> DragSpring:
        """Adds a DragSpring to a diagram, and connects it with the plant.

        Args:
            builder: of the diagram.
            plant: in it, and finalized.
            meshcat, frequency: as of the class.

        Returns:
            The system; its name is 'drag_spring'.

        Raises:
            RuntimeError: the plant's input port `applied_spatial_force` is connected already: connect it with an
                ExternallyAppliedSpatialForceMultiplexer, and the DragSpring with this.
        """
        port = plant.get_applied_spatial_force_input_port()
        if builder.IsConnectedOrExported(port):
            raise RuntimeError(
                f"DragSpring.AddToBuilder(): input port '{port.get_name()}' of plant '{plant.get_name()}' is connected "
                "already. Put an ExternallyAppliedSpatialForceMultiplexer before it, and connect that with what is "
                "connected now and with the output of a DragSpring."
            )
        spring = builder.AddNamedSystem("drag_spring", DragSpring(meshcat, plant, frequency))
        builder.Connect(plant.get_state_output_port(), spring.get_input_port())
        builder.Connect(spring.get_output_port(), port)
        return spring

    def _calc_forces(self, context: Context, output: Any) -> None:
        drag = self._meshcat.dragged()
        index = None if drag is None else self._bodies.get(drag.path)
        if drag is None or index is None:
            output.set_value([])
            return
        self._plant.SetPositionsAndVelocities(self._scratch, self._input.Eval(context))
        body = self._plant.get_body(index)
        if self._felt[0] != drag.number:
            self._felt = drag.number, self._mass_felt(body, drag)
        X_WB = self._plant.EvalBodyPoseInWorld(self._scratch, body)
        p_BoQ_W = X_WB.rotation().multiply(drag.point)
        V_WB = self._plant.EvalBodySpatialVelocityInWorld(self._scratch, body)
        v_WQ = V_WB.translational() + np.cross(V_WB.rotational(), p_BoQ_W)
        m, w = self._felt[1], self._frequency
        f_W = m * w * (w * (drag.target - X_WB.translation() - p_BoQ_W) - 2.0 * v_WQ)
        output.set_value([_force(index, drag.point, f_W)])

    def _mass_felt(self, body: RigidBody, drag: Drag) -> float:
        """The mass that resists a force at the point that is dragged [kg]; 0 if it cannot move."""
        plant, world = self._plant, self._plant.world_frame()
        J = plant.CalcJacobianTranslationalVelocity(
            self._scratch, JacobianWrtVariable.kV, body.body_frame(), drag.point, world, world
        )
        mobility = float(np.trace(J @ np.linalg.solve(plant.CalcMassMatrix(self._scratch), J.T))) if J.size else 0.0
        return 3.0 / mobility if mobility > 0.0 else 0.0


def describe_bodies(plant: MultibodyPlant, meshcat: Meshcat) -> None:
    """Has pages show names, masses and model instances of bodies that are clicked.

    Args:
        plant: finalized, and the source of geometries.
        meshcat: where its viewers draw.
    """
    fixed = {body.index() for body in plant.GetBodiesWeldedTo(plant.world_body())}
    for path, body in _paths(plant).items():
        model = plant.GetModelInstanceName(body.model_instance())
        rows = {"mass": f"{body.default_mass():.6g} kg", "model": model}
        meshcat.describe(path, body.name(), rows, is_fixed=body.index() in fixed)


def _paths(plant: MultibodyPlant) -> dict[str, RigidBody]:
    """The bodies that viewers show, by the paths at which their poses are set; without the world."""
    if not plant.geometry_source_is_registered():
        return {}
    bodies = [plant.get_body(BodyIndex(index)) for index in range(1, plant.num_bodies())]
    paths = {}
    for body in bodies:
        is_scoped = body.model_instance() > default_model_instance()  # as the plant names frames of geometry
        name = (body.scoped_name().get_full() if is_scoped else body.name()).replace("::", "/")
        paths.update({f"/drake/{prefix}/{name}": body for prefix in _PREFIXES})
    return paths


def _force(index: BodyIndex, p_BoQ_B: NDArray[np.float64], f_W: NDArray[np.float64]) -> ExternallyAppliedSpatialForce:
    force = ExternallyAppliedSpatialForce()
    force.body_index, force.p_BoBq_B = index, p_BoQ_B
    force.F_Bq_W = SpatialForce(np.zeros(3), f_W)
    return force


class CameraPreview:
    """A color camera of a plant's scene, and its picture in a corner of the page.

    Pages report the pose of their camera if their address ends with `?tracked_camera=on`.

    Args:
        builder: is given the camera; its plant is finalized.
        meshcat: whose camera is followed, and whose page shows the picture.
        environment_map: a picture of the surroundings, as of `Meshcat.SetEnvironmentMap`; an empty path for none.
        no_lights: whether nothing shines but the surroundings.

    Raises:
        ImportError: the extra `render` is not installed.
        RuntimeError: the environment map cannot be read.
    """

    def __init__(
        self, builder: RobotDiagramBuilder, meshcat: Meshcat, environment_map: Path = Path(), no_lights: bool = False
    ) -> None:
        engine = RenderEngineVtkParams(exposure=1.0)
        if environment_map != Path():
            engine.environment_map = EnvironmentMap(texture=EquirectangularMap(path=str(environment_map)))
        if no_lights:
            engine.lights = [LightParameter(intensity=0.0)]  # without any, one would shine from the camera
        focal = CameraConfig.FovDegrees(y=_FIELD_OF_VIEW)
        config = CameraConfig(name="preview", focal=focal, renderer_class=engine)
        ApplyCameraConfig(config, builder.builder(), plant=builder.plant(), scene_graph=builder.scene_graph())
        self._sensor: Any = builder.builder().GetSubsystemByName(f"rgbd_sensor_{config.name}")
        self._meshcat = meshcat
        self._shown: Any = None  # the image in the page

    def update(self, root_context: Context) -> None:
        """Moves the camera to the pose of the page's camera, if known, and shows its image, if new.

        Args:
            root_context: of the diagram.

        Raises:
            RuntimeError: no images can be made on this machine; the message says what is missing.
        """
        X_WC = self._meshcat.GetTrackedCameraPose()
        if X_WC is None:
            return
        context = self._sensor.GetMyMutableContextFromRoot(root_context)
        if not X_WC.IsExactlyEqualTo(self._sensor.GetX_PB(context)):
            self._sensor.SetX_PB(context, X_WC)
        image = self._sensor.color_image_output_port().Eval(context)  # the same one until something moves
        if image is not self._shown:
            self._meshcat.show_preview(_as_jpeg(image.data))
            self._shown = image


def _as_jpeg(pixels: np.ndarray) -> bytes:
    """An image as a JPEG file; pixels of shape [height, width, 4], whose opacity does not count."""
    from PIL import Image as pillow  # takes 40 ms to import

    file = io.BytesIO()
    pillow.fromarray(np.ascontiguousarray(pixels[:, :, :3])).save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()
