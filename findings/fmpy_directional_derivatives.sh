#!/usr/bin/env bash
# FMPy 0.3.32: of an FMU of FMI 3 it always says that it provides no directional derivatives.
#
# The same model is described once in FMI 2.0 and once in FMI 3.0, each with its attribute for directional derivatives in
# model exchange set to true ("providesDirectionalDerivative" in 2.0, "providesDirectionalDerivatives" in 3.0). One would
# guess that read_model_description says so of both.
#
# Seen: True for FMI 2.0, False for FMI 3.0; it looks for the name of 2.0 in both. Both pass its validation. A program that
# asks before it linearizes takes finite differences, though the FMU has exact derivatives.
#
# Instead: read the attribute of the element ModelExchange or CoSimulation from modelDescription.xml.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile fmpy==0.3.32
cd "$work" && venv/bin/python - <<'PROGRAM'
from pathlib import Path

from fmpy import read_model_description

TWO = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="decay" guid="{a}" numberOfEventIndicators="0">
  <ModelExchange modelIdentifier="decay" providesDirectionalDerivative="true"/>
  <ModelVariables>
    <ScalarVariable name="x" valueReference="1" causality="local" initial="exact"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="der(x)" valueReference="2"><Real derivative="1"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Derivatives><Unknown index="2"/></Derivatives>
    <InitialUnknowns><Unknown index="2"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>"""
THREE = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="decay" instantiationToken="{a}">
  <ModelExchange modelIdentifier="decay" providesDirectionalDerivatives="true"/>
  <ModelVariables>
    <Float64 name="time" valueReference="0" causality="independent"/>
    <Float64 name="x" valueReference="1" initial="exact" start="1"/>
    <Float64 name="der(x)" valueReference="2" derivative="1"/>
  </ModelVariables>
  <ModelStructure>
    <ContinuousStateDerivative valueReference="2"/>
    <InitialUnknown valueReference="2"/>
  </ModelStructure>
</fmiModelDescription>"""
found = {}
for version, text in (("2.0", TWO), ("3.0", THREE)):
    Path("fmu").mkdir(exist_ok=True)
    Path("fmu/modelDescription.xml").write_text(text)
    found[version] = read_model_description("fmu").modelExchange.providesDirectionalDerivative
print(found)
assert found == {"2.0": True, "3.0": False}
PROGRAM
