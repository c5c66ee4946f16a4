"""The parts of which a plant is composed, and what each of them is given."""

from __future__ import annotations

from merganser.framework import LeafSystem
from merganser.multibody.deformable.model import DeformableModel
from merganser.multibody.plant.center_of_mass import CenterOfMass
from merganser.multibody.plant.computations import ForceElements, PlantComputations
from merganser.multibody.plant.constraints import Constraints
from merganser.multibody.plant.contact_settings import ContactSettings, ContactsOfKinds
from merganser.multibody.plant.face.computations import DynamicsFace, KinematicsFace, StateFace
from merganser.multibody.plant.face.model import ContactFace, ElementsFace, GeometryFace, LoopsFace, PortsFace
from merganser.multibody.plant.frames import FrameMotion, FramePoses
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.plant.input_ports import InputPorts
from merganser.multibody.plant.jacobians import PlantJacobians, VelocityMaps
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.loops import LoopJoints
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.names import PlantNames, Selectors
from merganser.multibody.plant.outputs import OutputPorts
from merganser.multibody.plant.state import FreeBodies, PlantState
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step.dynamics import PlantDynamics
from merganser.multibody.plant.step.failures import WarnOnce
from merganser.multibody.plant.step.sampling import Sampling
from merganser.multibody.tree import MultibodyTree


class PlantParts(
    ElementsFace, StateFace, KinematicsFace, DynamicsFace, GeometryFace, ContactFace, LoopsFace, PortsFace, LeafSystem
):
    """Makes the parts of a plant, each with those that it needs."""

    _model: PlantModel
    _tree: MultibodyTree
    _views: StateViews
    _frame_poses: FramePoses
    _dynamics: PlantDynamics

    def _make_parts(self, tree: MultibodyTree, time_step: float) -> None:
        self._tree = tree
        # The model: elements, geometry, settings and constraints.
        model = self._model = PlantModel(self, tree, time_step)
        self._names = PlantNames(model)
        self._selectors = Selectors(model)
        self._geometry = GeometryRegistration(model)
        self._settings = ContactSettings(model, self._geometry)
        self._warn_once = WarnOnce()
        self._constraints = Constraints(model, self._settings)
        self._contacts_of_kinds = ContactsOfKinds(model)
        # State, and what follows from it.
        views = self._views = StateViews(model)
        self._state = PlantState(model, views)
        self._free_bodies = FreeBodies(model, views)
        self._frame_poses = FramePoses(model, views)
        kinematics = self._kinematics = PlantKinematics(model, views)
        self._velocity_maps = VelocityMaps(model, views)
        self._jacobians = PlantJacobians(model, kinematics)
        self._computations = PlantComputations(model, views, kinematics)
        self._force_elements = ForceElements(model, kinematics, self._computations)
        # Inputs, dynamics and outputs.
        self._inputs = InputPorts(model, views, kinematics)
        dynamics = self._dynamics = PlantDynamics(
            model, views, kinematics, self._inputs, self._geometry, self._settings, self._constraints,
            self._force_elements, self._warn_once,
        )  # fmt: skip
        self._contact_geometry = dynamics.contact_geometry
        self._deformables = DeformableModel(model, self._geometry, self._settings)
        self._sampling = Sampling(model, views, dynamics)
        self._center_of_mass = CenterOfMass(model, views, kinematics, self._jacobians, dynamics.calc_vdot)
        self._frame_motion = FrameMotion(model, kinematics, self._sampling)
        self._loops = LoopJoints(model, views, kinematics, self._settings, dynamics)
        self._outputs = OutputPorts(model, views, kinematics, self._geometry, self._sampling, self._deformables)
