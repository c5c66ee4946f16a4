"""Pictures that MuJoCo makes for textures are made alike."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from merganser.multibody.parsing.mjcf.texture import read_texture
from merganser.multibody.parsing.xml_reader import read_xml

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra `reference`)")

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore::DeprecationWarning:mujoco.*")]

TEXTURE = '<texture name="t" type="{}" builtin="{}" mark="{}" rgb1=".2 .4 1" rgb2="0 1 0" markrgb="0 0 1" {}/>'
SIZES = {"2d": 'width="9" height="6"', "cube": 'width="7" height="42"'}


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("builtin", ["checker", "flat"])
@pytest.mark.parametrize("mark", ["none", "edge", "cross"])
def test_patterns_and_marks_are_those_of_mujoco(kind, builtin, mark):
    text = TEXTURE.format(kind, builtin, mark, SIZES[kind])
    model = mujoco.MjModel.from_xml_string(f"<mujoco><asset>{text}</asset><worldbody/></mujoco>")
    width, height = model.tex_width[0], model.tex_height[0]
    expected = model.tex_data.reshape(height, width, 3)[: height if kind == "2d" else width].astype(int)
    texture = read_texture(read_xml(text, "<string>"), None)
    with Image.open(io.BytesIO(texture.file.contents())) as image:
        found = np.array(image.convert("RGB")).astype(int)
    np.testing.assert_allclose(found, expected, atol=1)  # colours are rounded there towards zero
