"""ExportFmu: a diagram as a Functional Mock-up Unit that needs no Python."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from merganser.analysis.fmi.binaries import PLATFORMS, require_tools, shared_library
from merganser.analysis.fmi.closed_plan import ClosedPlan, context_apart
from merganser.analysis.fmi.description import PICTURES, Model, Variables, model_description, page_of, picture_of
from merganser.analysis.simulation.simulator import Simulator
from merganser.analysis.simulation.simulator_config import ApplySimulatorConfig, SimulatorConfig
from merganser.framework.common.saving import save_bytes

if TYPE_CHECKING:
    import os

    from merganser.framework import Context, System

_KINDS = ("cs", "me")
_VERSIONS = ("2.0", "3.0")


def ExportFmu(
    system: System,
    path: str | os.PathLike[str],
    *,
    kinds: Sequence[str] = _KINDS,
    version: str = "3.0",
    platforms: Sequence[str] = ("linux64",),
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    parameters: Sequence[str] | None = None,
    context: Context | None = None,
    step: float | None = None,
    config: SimulatorConfig | None = None,
) -> None:
    """Writes a system as a Functional Mock-up Unit (FMI), for other tools to simulate.

    The file has the compiled loop of the Simulator in it, with the operations of the blocks and the values of the
    context: neither Python nor this package is needed where it runs. Co-simulation computes what `AdvanceTo` computes,
    to the last bit on the same processor. Inputs are constant over a communication step. Publish events, such as those
    of loggers and viewers, are left out; initialization events happen now.

    Args:
        system: whose blocks all have compiled forms; usually a Diagram.
        path: of the file; its name ends with ".fmu".
        kinds: "cs" for co-simulation, "me" for model exchange.
        version: of FMI: "2.0" or "3.0".
        platforms: where it is to run, see PLATFORMS in binaries.py; FMI 2.0 knows only the first three.
        inputs, outputs: names of ports of the system; None for all that carry vectors.
        parameters: path names of blocks, such as "arm.controller", whose numeric parameters can be changed; None for
            those of all blocks that have few.
        context: the values at the start; by default a new default context.
        step: of the integrator in co-simulation [s]; None for the Simulator's error control.
        config: of the Simulator, for other integrators; not together with `step`.

    Raises:
        ValueError: the system cannot leave Python, or an argument is wrong; nothing is written.
        RuntimeError: a function calls what only Python has, or there is no compiled code here.
        ImportError: the linker is not installed.
    """
    path = Path(path)
    _check("kinds", kinds, _KINDS)
    _check("version", [version], _VERSIONS)
    known = [name for name, platform in PLATFORMS.items() if version in platform.folders]
    _check("platforms", platforms, known)
    if path.suffix != ".fmu":
        raise ValueError(f"ExportFmu: the name of the file must end with '.fmu', got '{path.name}'.")
    config = _config_of(step, config)
    require_tools()

    given = system.CreateDefaultContext() if context is None else context
    system.ValidateContext(given)
    apart = context_apart(given)
    variables = Variables(system, apart, inputs, outputs, parameters)
    simulator = Simulator(system, apart)
    if config is not None:
        ApplySimulatorConfig(config, simulator)
        apart.SetTime(given.get_time())
    closed = ClosedPlan(simulator, variables.computed, variables.output_ports)
    if "me" in kinds:
        closed.refuse_model_exchange()
    image = closed.image("me" in kinds)
    variables.add_states(image.derivatives, image.witnesses or (), image.indicators)

    name = system.get_name() or type(system).__name__
    token = hashlib.sha256(image.image.content + repr((version, kinds, variables.listed)).encode()).hexdigest()[:32]
    fixed_step = config.max_step_size if config is not None and not config.use_error_control else None
    model = Model(name, re.sub(r"\W", "_", f"m_{name}" if name[:1].isdigit() else name, flags=re.ASCII), token, kinds,
                  float(given.get_time()), fixed_step, image.witnesses is not None, closed.slopes.missing)  # fmt: skip
    files = {"modelDescription.xml": model_description(model, variables, version)}
    for each in dict.fromkeys(platforms):
        platform = PLATFORMS[each]
        place = f"binaries/{platform.folders[version]}/{model.identifier}{platform.suffix}"
        files[place] = shared_library(platform, image, variables, model, version)
    picture = {name: content for name, content in [(PICTURES[version], picture_of(system))] if content}
    files |= {**picture, "documentation/index.html": page_of(model, variables, picture).encode()}
    _save(path, files)


def _check(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    if isinstance(given, str) or not given or any(each not in known for each in given):
        raise ValueError(f"ExportFmu: {what} must be among {', '.join(map(repr, known))}; got {given!r}.")


def _config_of(step: float | None, config: SimulatorConfig | None) -> SimulatorConfig | None:
    if step is None:
        return config
    if config is not None:
        raise ValueError("ExportFmu: give either step or config, whose max_step_size is the step.")
    if not 0.0 < step < float("inf"):
        raise ValueError(f"ExportFmu: step must be positive and finite, got {step} s.")
    return SimulatorConfig(max_step_size=step, use_error_control=False)


def _save(path: Path, files: dict[str, bytes]) -> None:
    """Writes a zip file whose bytes depend on nothing else than what is in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    save_bytes(path, buffer.getvalue())
