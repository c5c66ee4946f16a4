"""The notebooks of the documentation: each runs as it is, and shows what it is about."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="notebooks need the extra `docs`")
nbformat = pytest.importorskip("nbformat", reason="notebooks need the extra `docs`")
pytest.importorskip("ipykernel", reason="notebooks need the extra `docs`")

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))
WITHOUT_A_SCENE = ("1_systems_and_diagrams", "10_motor_drive", "11_robot_as_fmu")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_show_plots_and_scenes(path):
    notebook = nbformat.read(path, as_version=4)
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    )
    client.execute(env=environment)
    outputs = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in data for data in outputs)
    scenes = [data["text/html"] for data in outputs if "<iframe srcdoc=" in data.get("text/html", "")]
    assert bool(scenes) == (path.stem not in WITHOUT_A_SCENE)
    assert all(len(scene) > 500_000 for scene in scenes)  # the viewer is in the page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None


def test_they_are_numbered():
    assert sorted(int(path.stem.partition("_")[0]) for path in NOTEBOOKS) == list(range(1, 12))
