"""How docstrings become pages of the reference: their words stay, their sections become fields."""

from __future__ import annotations

import tomllib
from pathlib import Path

from docstrings import first_sentence, to_rst

ROOT = Path(__file__).resolve().parents[2]


def test_sections_become_fields_with_a_line_for_each_item():
    lines = to_rst("""Poses of bodies.

    Args:
        q, v: positions and velocities,
            shape [nq] and [nv].
        X_WB: pose of B in W.

    Returns:
        A pose, shape [4, 4].

    Raises:
        ValueError: the size is wrong.
    """)
    text = " ".join(" ".join(lines).split())
    assert text.startswith("Poses of bodies. :Parameters: * **q**, **v**: positions and velocities, shape [nq]")
    assert "* **X_WB**: pose of B in W. :Returns: A pose, shape [4, 4]. :Raises: * :py:exc:`ValueError`:" in text


def test_what_has_a_meaning_in_restructured_text_alone_is_escaped():
    assert to_rst("A *b* of |c|, and x_ as well.")[0] == r"A \*b\* of \|c\|, and x\_ as well."
    assert to_rst("See `Foo`.")[0] == r"See \ ``Foo``\ ."


def test_what_is_indented_is_code_and_lists_stay_lists():
    lines = to_rst("""The law is

        f = m a

    and has
    - a force,
    - a mass.
    """)
    at = lines.index("::")
    assert lines[at : at + 3] == ["::", "", "    f = m a"]
    assert [line for line in lines if line.startswith("- ")] == ["- a force,", "- a mass."]


def test_first_sentence_is_the_first_paragraph_on_one_line():
    assert first_sentence("One\ntwo.\n\nThree.") == "One two."


def test_citation_has_the_version_and_license_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "CITATION.cff").read_text().splitlines()
    assert f"version: {project['version']}" in lines and f"license: {project['license']}" in lines
