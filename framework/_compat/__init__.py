"""Programs written for pydrake run with this package: `import merganser.drake` before their first pydrake import.

From then on `import pydrake.systems.framework`, `from pydrake.all import ...` and so on find the classes and functions
of merganser (`addresses.py` says which module replaces which). An installed pydrake is left alone unless it is asked
for: `install(shadow=True)`, or

    python -m merganser run PROGRAM.py [ARGUMENT ...]

which runs a program as it is. What pydrake has and merganser lacks can be imported, and raises `NotInMerganserError`
when it is used; `python -m merganser check PROGRAM.py` lists it beforehand, by reading the program.
"""

from __future__ import annotations

from merganser.drake.modules import NotInMerganserError, install, uninstall
from merganser.drake.programs import Missing, TakenAway, missing_names, names_taken_away

__all__ = [
    "Missing",
    "NotInMerganserError",
    "TakenAway",
    "install",
    "missing_names",
    "names_taken_away",
    "uninstall",
]

install()
