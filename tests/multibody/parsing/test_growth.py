"""Reading a model, making the plant, and its first Context take work in proportion to the number of geometries."""

from __future__ import annotations

from typing import Any

import pytest
from call_counts import num_calls

from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph

GEOM = '<geom size=".1"/>'
BALL = "<geometry><sphere><radius>.1</radius></sphere></geometry>"
ROUND = '<geometry><sphere radius=".1"/></geometry>'
PARTS = f"<collision>{ROUND}</collision><visual>{ROUND}</visual>"


def mjcf(content: str) -> tuple[str, str]:
    return f"<mujoco><worldbody>{content}</worldbody></mujoco>", "xml"


MODELS: dict[str, Any] = {
    "MJCF, one body": lambda n: mjcf(f"<body><freejoint/>{GEOM * n}</body>"),
    "MJCF, the world": lambda n: mjcf(GEOM * n),
    "MJCF, many bodies": lambda n: mjcf(f"<body><freejoint/>{GEOM}</body>" * n),
    "SDFormat, one link": lambda n: (
        '<sdf version="1.9"><model name="m"><link name="l">'
        + "".join(f'<collision name="c{i}">{BALL}</collision><visual name="v{i}">{BALL}</visual>' for i in range(n))
        + "</link></model></sdf>",
        "sdf",
    ),
    "URDF, one link": lambda n: (f'<robot name="m"><link name="l">{PARTS * n}</link></robot>', "urdf"),
}


@pytest.mark.parametrize("name", MODELS)
def test_work_grows_with_the_number_of_geometries(name: str) -> None:
    def counts(n: int) -> list[int]:
        builder = DiagramBuilder()
        plant, graph = AddMultibodyPlantSceneGraph(builder, 0.01)
        text = MODELS[name](n)
        return [
            num_calls(lambda: Parser(plant, graph).AddModelsFromString(*text)),
            num_calls(plant.Finalize),
            num_calls(lambda: builder.Build().CreateDefaultContext()),
        ]

    counts(2)  # makes what is made once
    for few, many in zip(counts(40), counts(80)):
        assert many < 2.1 * few
