"""Graphviz descriptions as pictures: in notebooks as they are, elsewhere in the current axes of matplotlib."""

from __future__ import annotations

import importlib
import io
import shutil
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merganser.framework.core.system.system import System

_SECONDS = 60.0  # that a layout may take


def plot_graphviz(dot_text: str) -> Any:
    """Draws a graph in Graphviz's language.

    Args:
        dot_text: the description.

    Returns:
        What is drawn, as matplotlib has it; None in a notebook, which shows the picture.

    Raises:
        RuntimeError: Graphviz is not installed, or does not understand the description.
    """
    if _is_notebook():
        notebook: Any = importlib.import_module("IPython.display")
        return notebook.display(notebook.SVG(_laid_out(dot_text, "svg")))
    import matplotlib.pyplot as plt

    picture = plt.imread(io.BytesIO(_laid_out(dot_text, "png")), format="png")
    plt.axis("off")
    return plt.imshow(picture, aspect="equal")


def plot_system_graphviz(system: System, **kwargs: Any) -> Any:
    """Draws a System: its blocks, ports and wires. Without Graphviz, `plot_diagram` makes such pictures, too.

    Args:
        system: a Diagram, say.
        kwargs: as of `System.GetGraphvizString`, such as `max_depth=1`.

    Returns:
        As `plot_graphviz`.

    Raises:
        RuntimeError: Graphviz is not installed.
    """
    return plot_graphviz(system.GetGraphvizString(**kwargs))


def _laid_out(dot_text: str, kind: str) -> bytes:
    """The graph as a picture of a format of Graphviz."""
    import subprocess

    dot = shutil.which("dot")
    if dot is None:
        raise RuntimeError(
            "plot_graphviz() needs the program 'dot' of Graphviz, which is not in the PATH. Install it ('sudo apt "
            "install graphviz', 'brew install graphviz', 'conda install graphviz'), or draw by "
            "merganser.framework.plot_diagram(system), which needs matplotlib only."
        )
    done = subprocess.run([dot, f"-T{kind}"], input=dot_text.encode(), capture_output=True, timeout=_SECONDS)
    if done.returncode:
        problem = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"plot_graphviz(): Graphviz does not understand the description: {problem}")
    return done.stdout


def _is_notebook() -> bool:
    """Whether this runs in the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    return hasattr(importlib.import_module("IPython").get_ipython(), "kernel")
