"""What is around the root element of a model file has no effect, and a warning names its line."""

from __future__ import annotations

import pytest

from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.parsing.inertia_fixer import fix_inertia
from merganser.multibody.plant import MultibodyPlant

SHAPE = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
URDF = f'<robot name="r">\n<link name="a"><inertial><mass value="1"/></inertial>{SHAPE}</link></robot>\n'
DOCUMENTS = {
    "urdf": URDF,
    "sdf": '<sdf version="1.7"><model name="m">\n<link name="a"/></model></sdf>\n',
    "xml": '<mujoco model="m"><worldbody>\n<body name="a"><geom size="1"/></body></worldbody></mujoco>\n',
}
BEHIND = ["end of the file", "</robot>", '<robot name="q"/>', "<robot>", "< 3 & 4", "<![CDATA[ x ]]>"]


@pytest.mark.parametrize("file_type", DOCUMENTS)
@pytest.mark.parametrize("text", BEHIND)
def test_what_is_behind_the_end_is_passed_over_with_a_warning(file_type, text, caplog):
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(DOCUMENTS[file_type] + text, file_type)
    assert plant.HasBodyNamed("a") and plant.num_bodies() == 2
    assert any(f"<literal-string>.{file_type}:3: " in m and "no effect" in m for m in caplog.messages)


def test_text_before_the_root_is_passed_over_with_a_warning(caplog):
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(f"\nmade by hand\n<?xml version='1.0'?>{URDF}", "urdf")
    assert plant.HasBodyNamed("a")
    assert "<literal-string>.urdf:2: what is here" in caplog.text


@pytest.mark.parametrize(
    "text", [f"<!DOCTYPE robot>{URDF}", f'<!DOCTYPE r SYSTEM "http://localhost/x">{URDF}', f"{URDF}\0\0"]
)
def test_empty_declarations_and_bytes_that_fill_a_file_are_nothing(text, caplog):
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "urdf")
    assert plant.HasBodyNamed("a") and not caplog.messages


@pytest.mark.parametrize("text", [URDF[:-12], URDF + "<!-- open", f"{URDF}<?xml version='1.0'?>"])
def test_a_file_that_is_not_complete_is_still_refused(text):
    with pytest.raises(ParsingError, match="not well-formed"):
        Parser(MultibodyPlant(0.0)).AddModelsFromString(text, "urdf")


def test_strict_parsing_refuses_what_is_behind_the_end():
    parser = Parser(MultibodyPlant(0.0))
    parser.SetStrictParsing()
    with pytest.raises(ParsingError, match=r"urdf:3: .*no effect"):
        parser.AddModelsFromString(URDF + "</robot>", "urdf")


def test_mass_properties_are_written_into_a_file_with_something_behind_its_end(tmp_path):
    (tmp_path / "r.urdf").write_text(URDF + "</robot>\n")
    text = fix_inertia(tmp_path / "r.urdf")
    assert "<inertia " in text and text.endswith("</robot>\n</robot>\n")
