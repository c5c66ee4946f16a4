"""`python -m merganser view`: model files in the browser; its options are those of pydrake's model_visualizer."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

__all__ = ["add_view_arguments", "view_models"]


def add_view_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument(
        "models", metavar="MODEL", nargs="+",
        help="URDF, SDFormat, MJCF, model directives, .obj or glTF file, or its package:// address",
    )  # fmt: skip
    add = parser.add_argument
    add("-w", "--open-window", dest="browser_new", action="store_true", help="open a window of the browser")
    add("-q", "--position", type=float, nargs="+", default=[], metavar="Q", help="where joints are at first")
    add("--visualize_frames", action="store_true", help="show all frames at first, as triads")
    add("--triad_length", type=float, metavar="M", help="of their axes [m], default 0.3, or what fits the model")
    add("--triad_radius", type=float, metavar="M", help="of their axes [m], default 1/60 of the length")
    add("--triad_opacity", type=float, default=0.9, metavar="A", help="from 0 to 1, default 0.9")
    add("--compliance_type", default="undefined", choices=("undefined", "rigid", "compliant"),
        help="hydroelastic contact of geometries whose files do not say: rigid or compliant")  # fmt: skip
    add("--environment_map", type=Path, default=Path(), metavar="FILE", help="picture that shiny surfaces reflect")
    add("--no_lights", action="store_true", help="without lights, to see the environment map alone")
    add("--pyplot", action="store_true", help="show a figure of matplotlib, too")
    add("--show_rgbd_sensor", action="store_true", help="show what a camera sees from where the page's is")
    add("--loop_once", action="store_true", help="end as soon as all is shown")


def view_models(options: argparse.Namespace) -> None:
    """Shows models until a button in the page, its Escape key or Ctrl-C ends it.

    Raises:
        RuntimeError: a model cannot be read.
        ValueError: there are not as many positions as joints have.
    """
    from merganser.multibody.visualization import ModelVisualizer

    logging.basicConfig(format="%(message)s")
    logging.getLogger("merganser").setLevel(logging.INFO)
    names = (
        "browser_new", "visualize_frames", "triad_length", "triad_radius", "triad_opacity", "compliance_type",
        "environment_map", "no_lights", "pyplot", "show_rgbd_sensor",
    )  # fmt: skip
    visualizer = ModelVisualizer(**{name: getattr(options, name) for name in names})
    visualizer.package_map().PopulateFromRosPackagePath()
    for model in options.models:
        if model.startswith(("package://", "model://")):
            visualizer.AddModels(url=model)
        else:
            visualizer.AddModels(model)
    visualizer.Run(position=options.position, loop_once=options.loop_once)
