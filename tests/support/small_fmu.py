"""A small FMU of FMI 3, made with the C compiler of the machine: x' = -k x + gain u, with events.

It counts passages of x through 1 upwards (an event indicator) and half seconds (time events); in co-simulation x
advances by its closed form. `vector` is a parameter of two elements, `crash` an input that ends the process.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

_MODEL = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Tank" instantiationToken="{tank}">
  <ModelExchange modelIdentifier="tank" canGetAndSetFMUState="COPIES" providesDirectionalDerivatives="true"/>
  <CoSimulation modelIdentifier="tank" canGetAndSetFMUState="COPIES" canHandleVariableCommunicationStepSize="true"/>
  <UnitDefinitions><Unit name="kg.m2"/></UnitDefinitions>
  <DefaultExperiment stepSize="0.125"/>
  <ModelVariables>
    <Float64 name="time" valueReference="0" causality="independent"/>
    <Float64 name="x" valueReference="1" causality="output" initial="exact" start="0" unit="kg.m2"/>
    <Float64 name="der(x)" valueReference="2" derivative="1"/>
    <Float64 name="u" valueReference="3" causality="input" start="2"/>
    <Float64 name="k" valueReference="4" causality="parameter" variability="fixed" start="0.5"/>
    <Float64 name="gain" valueReference="5" causality="parameter" variability="tunable" start="1"/>
    <Float64 name="vector" valueReference="6" causality="parameter" variability="fixed" start="3 4">
      <Dimension start="2"/></Float64>
    <Float64 name="through" valueReference="8" causality="output"/>
    <Float64 name="sum" valueReference="9" causality="local"/>
    <Float64 name="level" valueReference="10"/>
    <Int32 name="count" valueReference="11" causality="output" variability="discrete"/>
    <Int32 name="halves" valueReference="12" causality="output" variability="discrete"/>
    <Boolean name="crash" valueReference="13" causality="input" variability="discrete" start="false"/>
    <Int32 name="begin" valueReference="14" causality="parameter" variability="fixed" start="0"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="1" dependencies="1"/><Output valueReference="8" dependencies="1 3"/>
    <Output valueReference="11" dependencies=""/><Output valueReference="12" dependencies=""/>
    <ContinuousStateDerivative valueReference="2"/><EventIndicator valueReference="10"/>
  </ModelStructure>
</fmiModelDescription>
"""

_CODE = r"""
#include <math.h>
#include <stdlib.h>
#include <string.h>
typedef struct {double t, x, u, k, gain, vector[2]; int count, halves, crash, was_above;} tank;
typedef void (*logger)(void*, int, const char*, const char*);
static logger say;
static tank *make(logger log) {
    tank *m = calloc(1, sizeof *m);
    say = log; m->u = 2; m->k = 0.5; m->gain = 1; m->vector[0] = 3; m->vector[1] = 4;
    return m;
}
void *fmi3InstantiateModelExchange(char *n, char *g, char *r, _Bool v, _Bool l, void *e, logger log) {
    return make(log);
}
void *fmi3InstantiateCoSimulation(char *n, char *g, char *r, _Bool v, _Bool l, _Bool m, _Bool q, void *a, size_t c,
                                  void *e, logger log, void *i) { return make(log); }
void fmi3FreeInstance(tank *m) { free(m); }
int fmi3EnterInitializationMode(tank *m, _Bool a, double b, double t, _Bool c, double d) {
    m->t = t; m->halves = (int)(2 * t);
    if (m->k > 0) return 0;
    say(0, 3, "logStatusError", "k must be positive");
    return 3;
}
int fmi3ExitInitializationMode(tank *m) { return 0; }
int fmi3EnterEventMode(tank *m) { return 0; }
int fmi3EnterContinuousTimeMode(tank *m) { return 0; }
int fmi3Terminate(tank *m) { return 0; }
int fmi3SetTime(tank *m, double t) { m->t = t; return 0; }
int fmi3SetContinuousStates(tank *m, double *x, size_t n) { m->x = x[0]; return 0; }
int fmi3GetContinuousStates(tank *m, double *x, size_t n) { x[0] = m->x; return 0; }
int fmi3GetContinuousStateDerivatives(tank *m, double *d, size_t n) {
    if (m->crash) abort();
    d[0] = -m->k * m->x + m->gain * m->u;
    return 0;
}
int fmi3GetEventIndicators(tank *m, double *z, size_t n) { z[0] = m->x - 1; return 0; }
int fmi3UpdateDiscreteStates(tank *m, _Bool *again, _Bool *end, _Bool *nominals, _Bool *values, _Bool *next,
                             double *t) {
    int above = m->x > 1 - 1e-9;
    m->count += above && !m->was_above; m->was_above = above;
    m->halves = (int)(2 * m->t + 1e-9);
    *again = *end = *nominals = *values = 0; *next = 1; *t = 0.5 * (m->halves + 1);
    return 0;
}
int fmi3DoStep(tank *m, double t, double h, _Bool a, _Bool *b, _Bool *end, _Bool *c, double *last) {
    double e = exp(-m->k * h);
    m->x = m->x * e + m->gain * m->u / m->k * (1 - e); m->t = t + h;
    *b = *end = *c = 0; *last = m->t;
    return 0;
}
int fmi3GetFloat64(tank *m, unsigned *r, size_t n, double *y, size_t k) {
    for (size_t i = 0; i < n; i++) switch (r[i]) {
        case 0: *y++ = m->t; break;
        case 1: *y++ = m->x; break;
        case 2: *y++ = -m->k * m->x + m->gain * m->u; break;
        case 8: *y++ = m->x + 10 * m->u; break;
        case 9: *y++ = m->vector[0] + m->vector[1]; break;
        default: return 3;
    }
    return 0;
}
int fmi3SetFloat64(tank *m, unsigned *r, size_t n, double *y, size_t k) {
    for (size_t i = 0; i < n; i++) switch (r[i]) {
        case 3: m->u = *y++; break;
        case 4: m->k = *y++; break;
        case 5: m->gain = *y++; break;
        case 6: m->vector[0] = *y++; m->vector[1] = *y++; break;
        default: return 3;
    }
    return 0;
}
int fmi3GetInt32(tank *m, unsigned *r, size_t n, int *y, size_t k) {
    for (size_t i = 0; i < n; i++) y[i] = r[i] == 11 ? m->count : m->halves;
    return 0;
}
int fmi3SetInt32(tank *m, unsigned *r, size_t n, int *y, size_t k) { m->count = y[0]; return 0; }
int fmi3SetBoolean(tank *m, unsigned *r, size_t n, _Bool *y, size_t k) { m->crash = y[0]; return 0; }
int fmi3GetFMUState(tank *m, void **s) { *s = memcpy(malloc(sizeof *m), m, sizeof *m); return 0; }
int fmi3SetFMUState(tank *m, void *s) { memcpy(m, s, sizeof *m); return 0; }
int fmi3FreeFMUState(tank *m, void **s) { free(*s); *s = 0; return 0; }
int fmi3GetDirectionalDerivative(tank *m, unsigned *of, size_t n, unsigned *by, size_t k, double *seed, size_t a,
                                 double *out, size_t b) {
    for (size_t i = 0; i < n; i++) {
        double dx = of[i] == 2 ? -m->k : 1, du = of[i] == 2 ? m->gain : of[i] == 8 ? 10 : 0;
        out[i] = of[i] > 10 ? 0 : by[0] == 1 ? dx * seed[0] : by[0] == 3 ? du * seed[0] : 0;
    }
    return 0;
}
"""


def make_fmu(folder: Path, can_copy: bool = True, without: str = "") -> Path:
    """Writes the FMU; what needs it is skipped where FMPy or a compiler is missing, or off Linux.

    Args:
        folder: where the file goes.
        can_copy: whether the FMU says that it can copy its state.
        without: an element of the description that is left out, such as "CoSimulation".
    """
    fmi3 = pytest.importorskip("fmpy.fmi3", reason="the extra `fmi` is not installed")
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler, on Linux")
    model = _MODEL.replace("COPIES", str(can_copy).lower())
    lines = [line for line in model.splitlines() if not (without and f"<{without}" in line)]
    library, source = folder / "tank.so", folder / "tank.c"
    if not library.exists():
        names = {name for kind in (fmi3.FMU3Model, fmi3.FMU3Slave) for name in dir(kind) if name.startswith("fmi3")}
        missing = [name for name in sorted(names) if f"{name}(" not in _CODE]
        source.write_text(_CODE + "\n".join(f"int {name}() {{ return 3; }}" for name in missing))
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-w", "-o", library, source, "-lm"], check=True)
    path = folder / f"tank{can_copy}{without}.fmu"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", "\n".join(lines))
        file.write(library, "binaries/x86_64-linux/tank.so")
    return path
