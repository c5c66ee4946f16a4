"""Reads mutated model files of all formats: each is a model, or one error of file and line within a second.

A plant that an error leaves is as it was, with its SceneGraph and the packages of the parser, to the last attribute; it
has a model already. A model can be finalized, or is refused by a RuntimeError. Documents of settings (`yaml`) are read
by a schema.

    python tests/support/fuzz_models.py [--count 1000] [--seed 0] [--format urdf|sdf|xml|dmd.yaml|yaml] [--models PATH]

A count of more than 5000 is read by processes of 5000 each, one after the other: one that crashes is a finding, too.
PATH is a folder of more models, with its package.xml; $MERGANSER_MODELS by default. No file outside of the folder of
the models may be opened, but for model files that the document itself names, and those of Python and of the packages
that it imports; and no entity may be expanded. What breaks this is printed with the document; the exit status is the
number of findings, or of processes with some.
"""

from __future__ import annotations

import argparse
import dataclasses as dc
import logging
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy as np

from merganser.analysis import SimulatorConfig
from merganser.framework import DiagramBuilder
from merganser.framework.common.garbage import garbage_waits
from merganser.framework.schema import Gaussian, Transform, Uniform
from merganser.framework.yaml import yaml_load_typed
from merganser.multibody.parsing import ModelDirective, Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant, MultibodyPlantConfig

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.support.mjcf_documents import DOCUMENTS, FILES, write_files  # noqa: E402
from tests.support.model_corners import CORNERS  # noqa: E402
from tests.support.mutations import mutated, mutated_bytes  # noqa: E402
from tests.support.odd_models import INCLUDES, MESHES, ODD_DOCUMENTS, write_included_models  # noqa: E402
from tests.support.plant_pictures import picture_of  # noqa: E402

PATIENCE = 1.0  # of processor time [s], without garbage collections: a large process takes 0.4 s for one
_PATIENCE_PER_BODY = 1e-3  # for replicas, of which a short document may make thousands [s]
FORMATS = ("urdf", "sdf", "xml", "dmd.yaml", "yaml")
_AT_ONCE = 5000  # documents of one process
_DIRECTIVES = """directives:
- add_model: { name: arm, file: package://models/robot.urdf, default_joint_positions: { turn: [0.5] } }
- add_model:
    name: rich
    file: package://models/rich.sdf
    default_free_body_pose: { l1: { translation: [1, 2, 3], rotation: !Rpy { deg: [10, 20, 30] } } }
- add_model: { name: joints, file: parent.xml }
- add_frame: { name: mount, X_PF: { base_frame: arm::arm, translation: [0, 0, 1] } }
- add_weld: { parent: world, child: arm::base, X_PC: { rotation: !Rpy { deg: [0, 0, 90] } } }
- add_model_instance: { name: empty }
- add_collision_filter_group:
    name: g
    members: [arm::base, arm::arm]
    ignored_collision_filter_groups: [g]
- add_directives: { file: inner.dmd.yaml, model_namespace: empty }
"""
_THERE_ALREADY = (
    '<robot name="there already"><link name="base"><collision><geometry><sphere radius="1"/></geometry></collision>'
    '</link><link name="hand"><collision><geometry><box size="1 1 1"/></geometry></collision></link><joint name="turn" '
    'type="revolute"><parent link="base"/><child link="hand"/></joint><drake:collision_filter_group name="g">'
    '<drake:member link="base"/><drake:ignored_collision_filter_group name="g"/></drake:collision_filter_group></robot>'
)
_TERRAIN = """<sdf version="1.9"><model name="terrain"><static>true</static><link name="ground"><collision name="hills">
<geometry><heightmap><uri>meshes/hills.png</uri><size>4 2 0.5</size><pos>0 0 1</pos></heightmap></geometry></collision>
<collision name="cube"><geometry><mesh><uri>meshes/cube.obj</uri><scale>1 1 0.5</scale>
<merganser:declare_terrain xmlns:merganser="m"/></mesh></geometry></collision></link></model></sdf>"""
_INNER = "directives:\n- add_model: { name: old, file: package://models/versions/old.sdf }\n"
_SETTINGS = """simulator_config: { max_step_size: 0.01, integration_scheme: runge_kutta3, accuracy: 1e-4 }
plant_config: { time_step: 0.002, discrete_contact_approximation: sap }
directives:
- add_model: { name: arm, file: package://models/robot.urdf, default_joint_positions: { turn: [0.5] } }
start:
  base_frame: world
  translation: !UniformVector { min: [-0.1, -0.1, 0.051], max: [0.1, 0.1, 0.06] }
  rotation: !Rpy { deg: !UniformVector { min: [0, 0, -90], max: [0, 0, 90] } }
pushes: { first: !Gaussian { mean: 2.0, stddev: 0.5 }, then: 3.0 }
gains: [[1.5, 2.5], [1, 2]]
"""


@dc.dataclass
class _Settings:
    """The schema of a document of settings."""

    simulator_config: SimulatorConfig = dc.field(default_factory=SimulatorConfig)
    plant_config: MultibodyPlantConfig = dc.field(default_factory=MultibodyPlantConfig)
    directives: list[ModelDirective] = dc.field(default_factory=list)
    start: Transform = dc.field(default_factory=Transform)
    pushes: dict[str, float | Gaussian | Uniform] = dc.field(default_factory=dict)
    gains: np.ndarray = dc.field(default_factory=lambda: np.ones((2, 2)))


@dc.dataclass
class Finding:
    """The findings of a document.

    Attributes:
        what: in words.
        data: the document.
        file_type: its format.
    """

    what: str
    data: bytes
    file_type: str


@dc.dataclass
class Fuzzer:
    """Mutates documents in a folder, and reads them there.

    Attributes:
        folder: an empty one.
        seed: of the mutations.
        formats: those to be read.
        more_models: a folder of more models, which is copied; it has a package.xml.
        num_models: how many documents were models.
    """

    folder: Path
    seed: int = 0
    formats: tuple[str, ...] = FORMATS
    more_models: Path | None = None
    num_models: int = 0
    _named: str = ""
    _opened: list[str] = dc.field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder = self.folder.resolve()
        self._models = self.folder / "models"
        self._models.mkdir()
        (self.folder / "secret.xml").write_text("<mujoco model='secret'/>")
        (self.folder / "secret.urdf").write_text("<robot name='secret'><link name='a'/></robot>")
        write_included_models(self._models)
        write_files(self._models)
        (self._models / "inner.dmd.yaml").write_text(_INNER)
        own = ROOT / "examples" / "models"
        documents = [
            (path.read_text(), path.suffix[1:])
            for path in sorted(own.iterdir())
            if path.suffix in (".urdf", ".sdf", ".xml")
        ]
        documents += [*ODD_DOCUMENTS.values(), *CORNERS.values(), *MESHES.values()]
        documents += [(text, "sdf") for text in INCLUDES.values()]
        documents += [(text, "xml") for text in (*DOCUMENTS.values(), *FILES.values())]
        documents += [(_TERRAIN, "sdf"), (_DIRECTIVES, "dmd.yaml"), (_INNER, "dmd.yaml"), (_SETTINGS, "yaml")]
        places = [(text, self._models / f"document.{kind}") for text, kind in documents]
        if self.more_models is not None:
            shutil.copytree(self.more_models, self._models / "more")
            more = [p for p in sorted((self._models / "more").rglob("*.*")) if p.suffix in (".urdf", ".sdf", ".xml")]
            more = [p for p in more if p.name != "package.xml"]
            places += [(path.read_text(), path.with_name(f"document{path.suffix}")) for path in more]
        self._documents = {k: [d for d in places if d[1].name == f"document.{k}"] for k in self.formats}
        self._rng = random.Random(self.seed)
        self._watches = False
        self._allowed = (str(self._models), *_folders_of_python())
        sys.addaudithook(self._note_opened)

    def run(self, count: int) -> list[Finding]:
        """Reads a number of documents, and returns what is not as it should be."""
        findings = []
        for i in range(count):
            kind = self.formats[i % len(self.formats)]
            text, path = self._rng.choice(self._documents[kind])
            data = mutated(text, self._rng).encode(errors="surrogatepass")
            if self._rng.random() < 0.1:
                data = mutated_bytes(data, self._rng)
            path.write_bytes(data)
            what = self._read(path, data.decode(errors="replace"))
            path.unlink()
            if what:
                findings.append(Finding(what, data, kind))
        return findings

    def _read(self, path: Path, text: str) -> str:
        """Reads a document; empty, if all is well."""
        plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
        parser = Parser(plant)
        parser.AddModelsFromString(_THERE_ALREADY, "urdf")
        parser.package_map().Add("models", self._models)
        if self.more_models is not None:
            parser.package_map().AddPackageXml(self._models / "more" / "package.xml")
        before = picture_of(plant, parser)
        self._opened.clear()
        self._named = text
        self._watches = True
        start = time.process_time()
        error: ParsingError | None = None
        is_settings = path.name == "document.yaml"
        try:
            with garbage_waits():
                yaml_load_typed(schema=_Settings, filename=path) if is_settings else parser.AddModels(path)
            self.num_models += 1
        except ParsingError as expected:
            error = expected
        except Exception as unexpected:
            return f"{type(unexpected).__name__}: {unexpected}"
        finally:
            self._watches = False
            spent = time.process_time() - start
        if spent > PATIENCE + _PATIENCE_PER_BODY * plant.num_bodies():
            return f"took {spent:.2f} s"
        if error is not None and not (error.location.file and str(error).startswith(f"{error.location}: ")):
            return f"an error without a file: {error}"
        if self._opened:
            return f"opened {self._opened}"
        if error is not None and picture_of(plant, parser) != before:
            return f"has left traces: {error}"
        names = {plant.GetModelInstanceName(i) for i in range(plant.num_model_instances())}
        if any("aaaaaaaaaa" in name for name in names):
            return "expanded an entity"
        return _finalize(plant) if error is None else ""

    def _note_opened(self, event: str, arguments: tuple) -> None:
        if self._watches and event == "open" and isinstance(arguments[0], str | bytes):
            name = arguments[0] if isinstance(arguments[0], str) else arguments[0].decode(errors="replace")
            path = Path(name).resolve()
            is_named = path.name in self._named and path.suffix in (".xml", ".urdf", ".sdf")
            if not (is_named or str(path).startswith(self._allowed)):
                self._opened.append(name)
        elif self._watches and event.startswith("socket."):
            self._opened.append(event)


def _finalize(plant: MultibodyPlant) -> str:
    """Finalizes a plant, which may be refused; empty, if all is well."""
    try:
        plant.Finalize()
        plant.CreateDefaultContext()
    except RuntimeError as expected:
        return "" if str(expected) else "an error without a message"
    except Exception as unexpected:
        return f"Finalize(): {type(unexpected).__name__}: {unexpected}"
    return ""


def _folders_of_python() -> tuple[str, ...]:
    """Where Python and the packages that are imported on the way have their files."""
    paths = [*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, *sys.path, str(ROOT), "/proc", "/sys"]
    return tuple(str(Path(path).resolve()) for path in paths if path) + (str(Path.home() / ".cache"),)


def main() -> int:
    """Runs from the command line; returns the number of findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=FORMATS, action="append")
    parser.add_argument("--models", type=Path, default=os.environ.get("MERGANSER_MODELS"))
    options = parser.parse_args()
    if options.count > _AT_ONCE:
        return _run_in_pieces(options)
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(Path(folder), options.seed, tuple(options.format or FORMATS), options.models)
        start = time.perf_counter()
        findings = fuzzer.run(options.count)
    for finding in findings:
        print(f"== {finding.file_type}: {finding.what}\n{finding.data!r}\n")
    print(
        f"{options.count} documents of seed {options.seed}: {fuzzer.num_models} models, {len(findings)} findings, "
        f"{time.perf_counter() - start:.0f} s",
        flush=True,
    )
    return min(len(findings), 255)


def _run_in_pieces(options: argparse.Namespace) -> int:
    """Runs processes of a seed each, as long as documents are left; returns the number of those with findings."""
    num_faulty = 0
    for i, start in enumerate(range(0, options.count, _AT_ONCE)):
        command = [sys.executable, __file__, "--seed", str(options.seed + i)]
        command += ["--count", str(min(_AT_ONCE, options.count - start))]
        command += [word for kind in options.format or () for word in ("--format", kind)]
        command += ["--models", str(options.models)] if options.models else []
        status = subprocess.run(command).returncode
        if status < 0:
            print(f"== seed {options.seed + i}: ended by signal {-status}", flush=True)
        num_faulty += status != 0
    return num_faulty


if __name__ == "__main__":
    raise SystemExit(main())
