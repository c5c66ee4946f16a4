"""Files of Drake are found without Drake: in a folder that the environment names, or fetched once, with a checksum."""

from __future__ import annotations

import functools
import hashlib
import http.server
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from merganser.drake.common import FindResourceOrThrow, GetDrakePath
from merganser.multibody.parsing import PackageMap, Parser, package_map, remote_packages
from merganser.multibody.plant import MultibodyPlant

PENDULUM = '<robot name="pendulum"><link name="arm"/></robot>'
FILE = "drake/examples/pendulum/Pendulum.urdf"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a folder that is served."""
    (tmp_path / "served").mkdir()
    handler = functools.partial(_Quiet, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_drake_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_map, "_files_of_drake_wheel", lambda: "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DRAKE_RESOURCE_ROOT", raising=False)


def wheel_at(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch, checksum: str = "") -> Path:
    """A wheel that is served as that of drake."""
    path = tmp_path / "served" / "drake.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"pydrake/share/{FILE}", PENDULUM)
        wheel.writestr("pydrake/lib/large.so", "of no use here")
    monkeypatch.setattr(remote_packages.DRAKE, "urls", [f"{address}/drake.whl"])
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(remote_packages.DRAKE, "sha256", checksum or found)
    return path


def test_files_of_drake_are_fetched_once_and_kept(tmp_path, served, monkeypatch):
    wheel = wheel_at(tmp_path, served, monkeypatch)
    assert Path(FindResourceOrThrow(FILE)).read_text() == PENDULUM
    wheel.unlink()
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromUrl(f"package://{FILE}")
    assert plant.HasBodyNamed("arm")
    assert str(GetDrakePath()) == PackageMap().GetPath("drake")
    assert not list((tmp_path / "cache").rglob("*.so"))  # only what is needed is unpacked


def test_another_archive_than_that_of_drake_is_refused(tmp_path, served, monkeypatch):
    wheel_at(tmp_path, served, monkeypatch, "0" * 64)
    with pytest.raises(RuntimeError, match="its checksum is"):
        FindResourceOrThrow(FILE)
    assert not list((tmp_path / "cache").rglob("*.urdf"))


def test_without_network_the_error_says_what_to_do(served, monkeypatch):
    monkeypatch.setattr(remote_packages.DRAKE, "urls", [f"{served}/nothing.whl"])
    for call in (
        lambda: FindResourceOrThrow(FILE),
        lambda: Parser(MultibodyPlant(0.0)).AddModelsFromUrl(f"package://{FILE}"),
    ):
        with pytest.raises(RuntimeError, match=r"pip install drake, or set .* DRAKE_RESOURCE_ROOT"):
            call()
    assert GetDrakePath() is None


def test_a_folder_that_the_environment_names_goes_first(tmp_path, monkeypatch):
    monkeypatch.setattr(package_map, "_files_of_drake_wheel", lambda: str(tmp_path / "wheel"))
    file = tmp_path / "root" / FILE
    file.parent.mkdir(parents=True)
    file.write_text(PENDULUM)
    monkeypatch.setenv("DRAKE_RESOURCE_ROOT", str(tmp_path / "root"))
    assert FindResourceOrThrow(FILE) == str(file)
    assert PackageMap().ResolveUrl(f"package://{FILE}") == str(file)
