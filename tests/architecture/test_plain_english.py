"""Texts are plain engineering English: the worst phrases of an earlier dialect stay out, and test names are short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = "analysis", "docs", "examples", "findings", "framework", "geometry", "multibody", "tests"
SUFFIXES = ".py", ".md", ".ipynb"
MADE = "docs/api/", "docs/packages/"

# Phrases as regular expressions, a space for any white space, and what to say instead.
PHRASES = {
    "[Tt]ells?|[Tt]old": "returns, reports, names, says, sets",
    "[Tt]here (is|are|was|were) none": "the condition: 'None if the port is not connected', 'empty without input'",
    "(it|that|which) is none": "what is wrong with it: 'it is not a unit vector'",
    "[Nn]obody": "no user, no caller; 'unused', 'never changes'",
    "[Ss]omebody": "the user, the caller; 'when it is read'",
    "[Ww]hoever": "the caller, the function that",
    "[Aa]new": "again, 'recomputed', 'restarted'",
    "[Ii]n the midst": "within, during",
    "[Hh]ears?|[Hh]eard": "samples, receives",
    "[Ll]est": "to avoid",
    "(is|are) owed": "is pending",
    "[Aa]t hand": "current, available",
    "[Ss]ave for": "except for",
    "com(e|es|ing) to (no|an) end": "did not converge (after N iterations)",
    "[Ss]tands? in|[Ss]tood": "is in, is defined in, replaces",
    "[Ii]n vain": "without success",
    "[Aa]t odds": "contradict each other",
    "made up for": "compensated, caught up",
    "cannot be had": "is not available, is out of range",
    "is felt by": "acts on",
}
ANY = re.compile("|".join(rf"\b(?:{phrase})\b(?!\()".replace(" ", r"\s+") for phrase in PHRASES))


def _files() -> Iterator[tuple[str, str]]:
    """Paths and texts of Python files, pages and notebooks, without pages that are made of READMEs."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in SUFFIXES and path != Path(__file__) and not name.startswith(MADE):
                yield name, path.read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("*.md")):
        yield path.name, path.read_text(encoding="utf-8")


def _found(file: str, text: str) -> list[str]:
    """Lines with a phrase, and what to say instead."""
    lines = []
    for match in ANY.finditer(text):
        instead = next(say for phrase, say in PHRASES.items() if re.fullmatch(phrase.replace(" ", r"\s+"), match[0]))
        lines.append(f"{file}:{text.count(chr(10), 0, match.start()) + 1}: '{match[0]}'; say: {instead}")
    return lines


def test_dialect_stays_out() -> None:
    found = [line for file, text in _files() for line in _found(file, text)]
    assert not found, "Plain English, see the right column:\n" + "\n".join(found)


def test_names_of_tests_have_at_most_80_characters() -> None:
    names = [
        f"{file}: {name}"
        for file, text in _files()
        if file.startswith("tests/")
        for name in re.findall(r"def (test_\w+)", text)
        if len(name) > 80
    ]
    assert not names, "Shorten these names:\n" + "\n".join(names)
