"""Replaces the mass properties in a URDF or SDFormat file by those that its geometry has.

    python -m merganser fix_inertia MODEL [OUTPUT] [--in_place] [--geom_inertia_role_order ROLE ...]

Each link keeps its mass, which is spread over the shapes of the first role that has some: contact, drawing for people,
or what cameras see. Only the <inertial> elements of the file change; included files do not, nor links without shapes.
The options are those of pydrake.multibody.fix_inertia, and so is the result.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from merganser.framework.common.saving import save_bytes

_ROLES = ("proximity", "illustration", "perception")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument("input_file", metavar="MODEL", help="URDF or SDFormat file")
    parser.add_argument("output_file", metavar="OUTPUT", nargs="?", help="file to write; by default it is printed")
    parser.add_argument(
        "--in_place", "--in-place", action="store_true", help="write to the model file itself, not to OUTPUT"
    )
    parser.add_argument(
        "--geom_inertia_role_order", "--geom-inertia-role-order", metavar="ROLE", nargs="+", choices=_ROLES,
        default=list(_ROLES), help=f"roles whose shapes are taken, the first that has some; default {' '.join(_ROLES)}",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Does what the arguments say; returns the exit status."""
    from merganser.multibody.parsing.inertia_fixer import fix_inertia, with_paths_from

    roles = options.geom_inertia_role_order
    if len(set(roles)) != len(roles):
        raise ValueError(f"--geom_inertia_role_order names a role twice: {' '.join(roles)}.")
    text = fix_inertia(Path(options.input_file), roles)
    output = options.input_file if options.in_place else options.output_file
    if output:
        text = with_paths_from(Path(output).parent, text, Path(options.input_file).parent)
        save_bytes(output, text.encode())
    else:
        sys.stdout.write(text)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="fix_inertia", description="Replace the mass properties in a model file by those that its geometry has."
    )
    add_arguments(parser)
    try:
        return run(parser.parse_args(arguments))
    except (RuntimeError, ValueError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
