"""Reads mutated model files of all formats: each is a model, or one error of file and line within a second.

A plant that an error leaves is as it was, unless directives have added to it before.

    python tests/support/fuzz_models.py [--count 1000] [--seed 0] [--format urdf|sdf|xml|dmd.yaml]

No file outside of the folder of the models may be opened, but for model files that the document itself names, and those
of Python and of the packages that it imports; and no entity may be expanded. What breaks this is printed with the
document; the exit status is their number.
"""

from __future__ import annotations

__all__ = ["Finding", "Fuzzer", "main"]

import argparse
import logging
import random
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.support.mjcf_documents import DOCUMENTS, FILES, write_files  # noqa: E402
from tests.support.model_corners import CORNERS  # noqa: E402
from tests.support.mutations import mutated  # noqa: E402
from tests.support.odd_models import INCLUDES, MESHES, ODD_DOCUMENTS, write_included_models  # noqa: E402

PATIENCE = 1.0  # of processor time [s]
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
_INNER = "directives:\n- add_model: { name: old, file: package://models/versions/old.sdf }\n"


@dataclass
class Finding:
    """What a document has brought to light.

    Attributes:
        what: in words.
        text: the document.
        file_type: its format.
    """

    what: str
    text: str
    file_type: str


@dataclass
class Fuzzer:
    """Mutates documents in a folder, and reads them there.

    Attributes:
        folder: an empty one.
        seed: of the mutations.
        formats: those to be read.
        num_models: how many documents were models.
    """

    folder: Path
    seed: int = 0
    formats: tuple[str, ...] = ("urdf", "sdf", "xml", "dmd.yaml")
    num_models: int = 0
    _named: str = ""
    _opened: list[str] = field(default_factory=list)

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
        documents += [(_DIRECTIVES, "dmd.yaml"), (_INNER, "dmd.yaml")]
        self._documents = {kind: [d for d in documents if d[1] == kind] for kind in self.formats}
        self._rng = random.Random(self.seed)
        self._watches = False
        self._allowed = (str(self._models), *_folders_of_python())
        sys.addaudithook(self._note_opened)

    def run(self, count: int) -> list[Finding]:
        """Reads a number of documents, and returns what is not as it should be."""
        findings = []
        for i in range(count):
            text, kind = self._rng.choice(self._documents[self.formats[i % len(self.formats)]])
            text = mutated(text, self._rng)
            what = self._read(text, kind)
            if what:
                findings.append(Finding(what, text, kind))
        return findings

    def _read(self, text: str, kind: str) -> str:
        """Reads a document; empty, if all is well."""
        path = self._models / f"document.{kind}"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.01)
        parser = Parser(plant)
        parser.package_map().Add("models", self._models)
        self._opened.clear()
        self._named = text
        self._watches = True
        start = time.process_time()
        error: ParsingError | None = None
        try:
            parser.AddModels(path)
            self.num_models += 1
        except ParsingError as expected:
            error = expected
        except Exception as unexpected:
            return f"{type(unexpected).__name__}: {unexpected}"
        finally:
            self._watches = False
            spent = time.process_time() - start
        if spent > PATIENCE:
            return f"took {spent:.2f} s"
        if error is not None and not (error.location.file and str(error).startswith(f"{error.location}: ")):
            return f"an error without a file: {error}"
        if self._opened:
            return f"opened {self._opened}"
        if error is not None and kind != "dmd.yaml" and (plant.num_model_instances(), plant.num_bodies()) != (2, 1):
            return f"has left traces: {error}"
        names = {plant.GetModelInstanceName(i) for i in range(plant.num_model_instances())}
        return "expanded an entity" if any("aaaaaaaaaa" in name for name in names) else ""

    def _note_opened(self, event: str, arguments: tuple) -> None:
        if self._watches and event == "open" and isinstance(arguments[0], str | bytes):
            name = arguments[0] if isinstance(arguments[0], str) else arguments[0].decode(errors="replace")
            path = Path(name).resolve()
            is_named = path.name in self._named and path.suffix in (".xml", ".urdf", ".sdf")
            if not (is_named or str(path).startswith(self._allowed)):
                self._opened.append(name)
        elif self._watches and event.startswith("socket."):
            self._opened.append(event)


def _folders_of_python() -> tuple[str, ...]:
    """Where Python and the packages that are imported on the way have their files."""
    paths = [*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, *sys.path, str(ROOT), "/proc", "/sys"]
    return tuple(str(Path(path).resolve()) for path in paths if path) + (str(Path.home() / ".cache"),)


def main() -> int:
    """Runs from the command line; returns the number of findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=("urdf", "sdf", "xml", "dmd.yaml"), action="append")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        formats = tuple(options.format) if options.format else ("urdf", "sdf", "xml", "dmd.yaml")
        fuzzer = Fuzzer(Path(folder), options.seed, formats)
        start = time.perf_counter()
        findings = fuzzer.run(options.count)
    for finding in findings:
        print(f"== {finding.file_type}: {finding.what}\n{finding.text!r}\n")
    print(
        f"{options.count} documents of seed {options.seed}: {fuzzer.num_models} models, {len(findings)} findings, "
        f"{time.perf_counter() - start:.0f} s"
    )
    return min(len(findings), 255)


if __name__ == "__main__":
    raise SystemExit(main())
