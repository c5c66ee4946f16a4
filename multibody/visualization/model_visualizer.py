"""ModelVisualizer: model files in the browser, with sliders for their joints."""

from __future__ import annotations

import logging
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis import Simulator
from merganser.framework import Context
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import Box, FrameId, MeshcatCone, Rgba, SceneGraph
from merganser.geometry.visualizers import ConnectPlanarSceneGraphVisualizer, Meshcat, StartMeshcat
from merganser.multibody.parsing import PackageMap, Parser
from merganser.multibody.planning import RobotDiagram, RobotDiagramBuilder
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FrameIndex
from merganser.multibody.visualization.apply_visualization_config import ApplyVisualizationConfig, show_sky
from merganser.multibody.visualization.frame_triads import AddFrameTriadIllustration, size_of_model
from merganser.multibody.visualization.params import VisualizationConfig
from merganser.multibody.visualization.sliders import JointSliders, move_plant

if TYPE_CHECKING:
    from merganser.multibody.visualization.page_controls import CameraPreview

_logger = logging.getLogger("merganser.multibody")

_PERIOD = 1 / 32  # of looks at sliders and buttons [s]
_STOP, _RELOAD = "Stop Running", "Reload Model Files"
_SIGN = "/PARSE_ERROR"  # the path of what is shown instead of models that cannot be read
_TRACKED = "?tracked_camera=on"  # at the end of the address of a page that reports its camera's pose
_TRIAD, _TRIAD_IN_MODELS = 0.3, 0.1  # longest axis of a triad [m], and in sizes of the model
_TRIAD_RADIUS = 1 / 60  # of an axis, in its lengths
_ORANGE = Rgba(1.0, 0.4, 0.0)
_VISUAL = """
<sdf version="1.12"><model name="{name}"><link name="body"><visual name="visual">
  <geometry><mesh><uri>{url}</uri></mesh></geometry>
</visual></link></model></sdf>
"""


@dataclass
class _Finalized:
    """The diagram after Finalize().

    Attributes:
        diagram: with all viewers.
        context: of the diagram.
        sliders: for the joints.
        package_map: with which models were read.
        preview: the camera whose picture is in the page, if there is one.
    """

    diagram: RobotDiagram
    context: Context
    sliders: JointSliders
    package_map: PackageMap
    preview: CameraPreview | None


class ModelVisualizer:
    """Shows models in the page of a Meshcat, with sliders for joints and opacities.

        visualizer = ModelVisualizer(browser_new=True)
        visualizer.AddModels("arm.urdf")
        visualizer.Run()

    The page also has the geometries of contact, ellipsoids of inertia, frames and contact forces, which boxes show and
    hide; and a button that reads the files again. A floating base has sliders for roll, pitch, yaw, x, y and z.
    `python -m merganser view` does all this from the command line.

    Args:
        visualize_frames: whether all frames are shown at first, as triads; a box in the page shows and hides them.
        triad_length: of their axes [m]; by default 0.3 m, but at most a tenth of the size of the model.
        triad_radius: of their axes [m]; by default 1/60 of the length.
        triad_opacity: from 0 to 1.
        publish_contacts: whether contact forces can be shown, by a box in the page: where sliders push bodies into each
            other they say little.
        show_rgbd_sensor: whether the page has the picture of an RgbdSensor in its corner, which sees the perception
            geometries from where the camera of the page is; one page must be opened with `?tracked_camera=on` at the
            end of its address, as Run() does. Needs the extra `render`.
        browser_new: whether Run() opens a window of the browser.
        pyplot: whether there is a figure of matplotlib, too.
        meshcat: where to show; a new one by default.
        environment_map: a picture of the surroundings that shiny materials reflect.
        no_lights: whether lights are off.
        compliance_type: what geometries are in contact if their files do not say: 'undefined' (they touch at points),
            'rigid' or 'compliant'.

    Raises:
        ImportError: show_rgbd_sensor is true, and the extra `render` is not installed.
        TypeError: `meshcat` is none; `environment_map` is not a path.
        RuntimeError: there is no such type of compliance.
    """

    def __init__(
        self,
        *,
        visualize_frames: bool = False,
        triad_length: float | None = None,
        triad_radius: float | None = None,
        triad_opacity: float = 0.9,
        publish_contacts: bool = True,
        show_rgbd_sensor: bool = False,
        browser_new: bool = False,
        pyplot: bool = False,
        meshcat: Meshcat | None = None,
        environment_map: str | os.PathLike[str] = Path(),
        no_lights: bool = False,
        compliance_type: str = "undefined",
    ) -> None:
        if show_rgbd_sensor:
            from merganser.geometry.rendering import MakeRenderEngineVtk, RenderEngineVtkParams

            MakeRenderEngineVtk(RenderEngineVtkParams())  # raises if not available
        if meshcat is not None and not isinstance(meshcat, Meshcat):
            raise TypeError(f"ModelVisualizer: meshcat must be a Meshcat; given {meshcat!r}.")
        self._visualize_frames = visualize_frames
        self._triads = triad_length, triad_radius, triad_opacity
        self._publish_contacts = publish_contacts
        self._show_rgbd_sensor = show_rgbd_sensor
        self._browser_new = browser_new
        self._pyplot = pyplot
        self._meshcat = meshcat
        self._environment_map = _checked_path("environment_map", environment_map)
        self._no_lights = no_lights
        self._compliance_type = compliance_type
        self._models: list[dict[str, Any]] | None = []  # arguments of AddModels; None if there may be others
        self._builder: RobotDiagramBuilder | None = self._new_builder()
        self._finalized: _Finalized | None = None

    # ------------------------------------------------------------------ models

    def package_map(self) -> PackageMap:
        """Returns the packages in which models are looked for.

        Raises:
            ValueError: Finalize() has been called.
        """
        return self._open_builder().parser().package_map()

    def parser(self) -> Parser:
        """Returns the parser, to add models in other ways than by `AddModels`; they cannot be reloaded then.

        Raises:
            ValueError: Finalize() has been called.
        """
        builder = self._open_builder()
        self._models = None
        return builder.parser()

    def meshcat(self) -> Meshcat:
        """Returns the Meshcat, which is made when it is first needed."""
        if self._meshcat is None:
            self._meshcat = StartMeshcat()
        return self._meshcat

    def AddModels(self, filename: str | os.PathLike[str] | None = None, *, url: str | None = None) -> None:
        """Adds all models of a file; may be called several times.

        Args:
            filename: of a format that Parser.AddModels reads, or glTF, which is shown as it is, without contact.
            url: `package://` address of such a file, instead.

        Raises:
            ValueError: not exactly one of the two is given; Finalize() has been called.
            RuntimeError: the file cannot be read.
        """
        builder = self._open_builder()
        if (filename is None) == (url is None):
            raise ValueError("ModelVisualizer.AddModels() takes either filename= or url=.")
        arguments = _arguments_of_parser(filename, url)
        builder.parser().AddModels(**arguments)
        if self._models is not None:
            self._models.append(arguments)

    # ------------------------------------------------------------------ showing them

    def Finalize(self, position: ArrayLike | None = None) -> None:
        """Finishes with models, and shows them; `Run` does it if need be.

        Args:
            position: of all joints, shape [num_positions], with seven numbers for each body that floats; by default
                those of the models.

        If contact forces cannot be computed, as where a link has no mass, models are shown without, and a warning says
        why.

        Raises:
            ValueError: Finalize() has been called; there are not as many numbers as positions.
            RuntimeError: the models make no plant; contact forces cannot be computed, and `parser()` has been used.
        """
        packages = PackageMap(self._open_builder().parser().package_map())
        try:
            self._finish(position, self._publish_contacts)
        except RuntimeError as error:
            if not self._publish_contacts or self._models is None:
                raise
            self._builder = self._read_again(packages)
            self._finish(position, publish_contacts=False)
            _logger.warning(f"Contacts are not shown. {str(error).splitlines()[0]}")

    def _finish(self, position: ArrayLike | None, publish_contacts: bool) -> None:
        """Builds the diagram, and shows it."""
        builder = self._open_builder()
        plant, scene_graph = builder.plant(), builder.scene_graph()
        plant.SetUseSampledOutputPorts(False)  # there are no steps
        plant.Finalize()
        has_frames = self._visualize_frames or not self._pyplot  # which would show them whatever the page says
        if has_frames:
            _add_frames(plant, scene_graph, *self._triads)
        q = None if position is None or not np.size(position) else _checked_position(position, plant.num_positions())
        meshcat = self._clean_meshcat()
        show_sky(builder.parser(), meshcat)
        config = VisualizationConfig(publish_contacts=publish_contacts, enable_alpha_sliders=True)
        ApplyVisualizationConfig(config, builder.builder(), plant=plant, scene_graph=scene_graph, meshcat=meshcat)
        preview = None
        if self._show_rgbd_sensor:
            from merganser.multibody.visualization.page_controls import CameraPreview  # takes 13 ms to import

            preview = CameraPreview(builder, meshcat, self._environment_map, self._no_lights)
        sliders = builder.builder().AddNamedSystem("joint_sliders", JointSliders(meshcat, plant, turns_by_rpy=True))
        if self._pyplot:
            ConnectPlanarSceneGraphVisualizer(builder.builder(), scene_graph)
        packages = PackageMap(builder.parser().package_map())
        diagram = builder.Build()
        self._builder = None
        simulator = Simulator(diagram)
        context = simulator.get_mutable_context()
        plant_context = diagram.mutable_plant_context(context)
        plant.get_actuation_input_port().FixValue(plant_context, np.zeros(plant.num_actuated_dofs()))
        self._finalized = _Finalized(diagram, context, sliders, packages, preview)
        if q is not None:
            sliders.SetPositions(q)
            move_plant(plant, plant_context, q)
        simulator.Initialize()
        self._publish()
        if has_frames:
            meshcat.add_toggle("frames", "illustration", part="_frames", is_shown=self._visualize_frames)
        if publish_contacts:
            meshcat.add_toggle("contact forces", "contact_forces")
            meshcat.SetProperty("contact_forces", "visible", False)

    def Run(self, position: ArrayLike | None = None, loop_once: bool = False) -> None:
        """Shows the models, and moves them with the sliders, until the button 'Stop Running' or Escape is pressed.

        Args:
            position: as of Finalize().
            loop_once: whether it returns at once.

        Raises:
            ValueError: there are not as many numbers as positions.
            RuntimeError: as of Finalize().
        """
        if self._finalized is None:
            self.Finalize(position)
        elif position is not None and np.size(position):
            count = self._finalized.diagram.plant().num_positions()
            self._finalized.sliders.SetPositions(_checked_position(position, count))
        meshcat = self.meshcat()
        url = meshcat.web_url() + (f"/{_TRACKED}" if self._show_rgbd_sensor else "")
        if self._browser_new:
            import webbrowser

            self._browser_new = False
            webbrowser.open(url, new=True)
        elif self._show_rgbd_sensor and meshcat.GetTrackedCameraPose() is None:
            _logger.warning(f"Open {url} to see what the camera of the page sees.")
        if not loop_once:
            _logger.info(f"Click '{_STOP}' in the page, or press Esc there, to quit.")
        try:
            meshcat.AddButton(_STOP, "Escape")
            self._loop(loop_once)
        except KeyboardInterrupt:
            pass
        finally:
            meshcat.DeleteButton(_STOP, strict=False)
            meshcat.DeleteButton(_RELOAD, strict=False)

    def _loop(self, loop_once: bool) -> None:
        meshcat = self.meshcat()
        shown = None
        while True:
            if _RELOAD in meshcat.GetButtonNames() and meshcat.GetButtonClicks(_RELOAD):
                self._reload()
                meshcat.AddButton(_STOP, "Escape")
                shown = None
            values = self._slider_values()
            if values != shown:
                self._publish()
                shown = values
            self._show_preview()
            if loop_once or meshcat.GetButtonClicks(_STOP):
                return
            time.sleep(_PERIOD)

    def _publish(self) -> None:
        """Moves the models to the positions of the sliders."""
        assert self._finalized is not None
        diagram, context = self._finalized.diagram, self._finalized.context
        if move_plant(diagram.plant(), diagram.mutable_plant_context(context), self._finalized.sliders.positions()):
            diagram.ForcedPublish(context)

    def _show_preview(self) -> None:
        """Shows the current view of the page's camera."""
        if self._finalized is not None and self._finalized.preview is not None:
            self._finalized.preview.update(self._finalized.context)

    # ------------------------------------------------------------------ reading files again

    def _reload(self) -> None:
        """Reads all files again; sliders whose joints are still there stay as they are."""
        assert self._finalized is not None
        values, packages = self._slider_values(), self._finalized.package_map
        self._finalized = None
        self.meshcat().Delete(_SIGN)
        try:
            self._builder = self._read_again(packages)
            self.Finalize()
            _logger.info("The models have been read again.")
        except Exception as error:  # whatever is wrong with the files, they can be mended
            _logger.error(str(error))
            _logger.warning(f"Click '{_RELOAD}' to try again.")
            self._builder = self._new_builder(packages)
            self._finish(None, publish_contacts=False)
            self._draw_sign()
        for name in self.meshcat().GetSliderNames():
            if name in values:
                self.meshcat().SetSliderValue(name, values[name])

    def _read_again(self, packages: PackageMap) -> RobotDiagramBuilder:
        """A builder with all models that have been added."""
        builder = self._new_builder(packages)
        for arguments in self._models or []:
            builder.parser().AddModels(**arguments)
        return builder

    def _draw_sign(self) -> None:
        """Shows a traffic cone, where there are no models to see."""
        meshcat = self.meshcat()
        meshcat.SetObject(f"{_SIGN}/base", Box(0.4, 0.4, 0.02), _ORANGE)
        meshcat.SetTransform(f"{_SIGN}/base", RigidTransform([0, 0, 0.01]))
        meshcat.SetObject(f"{_SIGN}/cone", MeshcatCone(0.6, 0.15, 0.15), _ORANGE)
        meshcat.SetTransform(f"{_SIGN}/cone", RigidTransform(RotationMatrix.MakeXRotation(math.pi), [0, 0, 0.62]))

    # ------------------------------------------------------------------ helpers

    def _open_builder(self) -> RobotDiagramBuilder:
        if self._builder is None:
            raise ValueError("ModelVisualizer: Finalize() has already been called.")
        return self._builder

    def _new_builder(self, packages: PackageMap | None = None) -> RobotDiagramBuilder:
        builder = RobotDiagramBuilder()
        builder.parser().SetAutoRenaming(True)
        if packages is not None:
            builder.parser().package_map().AddMap(packages)
        config = builder.scene_graph().get_config()
        config.default_proximity_properties.compliance_type = self._compliance_type
        builder.scene_graph().set_config(config)
        return builder

    def _clean_meshcat(self) -> Meshcat:
        """The Meshcat, empty, with the button to reload, far from that to stop."""
        meshcat = self.meshcat()
        meshcat.Delete()
        meshcat.DeleteAddedControls()
        meshcat.show_preview(None)
        if self._no_lights:
            meshcat.SetProperty("/Lights", "visible", False)
        if self._environment_map != Path():
            meshcat.SetEnvironmentMap(self._environment_map)
        if self._models:
            meshcat.AddButton(_RELOAD)
        return meshcat

    def _slider_values(self) -> dict[str, float]:
        return {name: self.meshcat().GetSliderValue(name) for name in self.meshcat().GetSliderNames()}


def _add_frames(
    plant: MultibodyPlant, scene_graph: SceneGraph, length: float | None, radius: float | None, opacity: float
) -> None:
    """Adds triads of all frames; None for a length that fits the model, and a radius that fits the length."""
    context = plant.CreateDefaultContext()

    def pose(frame_id: FrameId) -> RigidTransform:
        body = plant.GetBodyFromFrameId(frame_id)
        return RigidTransform() if body is None else plant.EvalBodyPoseInWorld(context, body)

    if length is None:
        length = min(_TRIAD, _TRIAD_IN_MODELS * size_of_model(scene_graph.model_inspector(), pose, plant))
    radius = _TRIAD_RADIUS * length if radius is None else radius
    for frame in (plant.get_frame(FrameIndex(index)) for index in range(1, plant.num_frames())):
        AddFrameTriadIllustration(scene_graph=scene_graph, frame=frame, length=length, radius=radius, opacity=opacity)


def _arguments_of_parser(filename: str | os.PathLike[str] | None, url: str | None) -> dict[str, Any]:
    """Arguments of Parser.AddModels for a file or an address; for glTF a model with it as illustration."""
    address = str(_checked_path("filename", filename)) if filename is not None else url
    if not isinstance(address, str):
        raise TypeError(f"ModelVisualizer: url must be a string; given {url!r}.")
    if not address.endswith((".gltf", ".glb")):
        return {"file_name": address} if url is None else {"url": url}
    if filename is not None:
        if not Path(filename).is_file():
            raise RuntimeError(f"ModelVisualizer.AddModels(): there is no file '{filename}'.")
        address = Path(filename).resolve().as_uri()
    return {"file_contents": _VISUAL.format(name=Path(address).stem, url=address), "file_type": "sdf"}


def _checked_position(position: ArrayLike, num_positions: int) -> NDArray[np.float64]:
    """Positions of all joints.

    Raises:
        ValueError: there are more or fewer, or one is not finite.
        TypeError: they are no numbers.
    """
    try:
        q = np.asarray(position, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise TypeError(f"ModelVisualizer: the position must be numbers; given {position!r}.") from None
    if len(q) != num_positions:
        raise ValueError(
            f"ModelVisualizer: the position has {len(q)} numbers, but the models have {num_positions} positions."
        )
    if not np.isfinite(q).all():
        raise ValueError(f"ModelVisualizer: the position must be finite; given {position!r}.")
    return q


def _checked_path(name: str, given: str | os.PathLike[str]) -> Path:
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"ModelVisualizer: {name} must be the path of a file; given {given!r}.")
    return Path(given)
