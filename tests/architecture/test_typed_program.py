"""The program whose types CI checks by mypy and pyright is one that runs."""

import typed_program


def test_the_program_that_type_checkers_read_runs() -> None:
    assert typed_program.use() == 0.5
