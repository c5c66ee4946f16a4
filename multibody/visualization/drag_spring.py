"""DragSpring: a spring from the mouse in a page to a body, as a force on a plant; and cards of clicked bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import BasicVector, Context, DiagramBuilder, LeafSystem, Value
from merganser.framework.core.values.arguments import require_types
from merganser.geometry.visualizers import Meshcat
from merganser.geometry.visualizers.client_messages import Drag
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import ExternallyAppliedSpatialForce, MultibodyPlant
from merganser.multibody.tree import BodyIndex, JacobianWrtVariable, RigidBody, default_model_instance

_FREQUENCY = 10.0  # by which what is dragged would swing, if it were not damped [rad/s]
_PREFIXES = ("illustration", "proximity")  # of the viewers of a plant


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
