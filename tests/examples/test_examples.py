"""Every example and every program of the README runs as its user would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rendered_scenes import need_renderer

from merganser.framework.core.context.native_code import may_compile

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
MODELS = Path(os.environ.get("MERGANSER_MODELS", ROOT.parent / "shared" / "models"))


def _run(*arguments: object, cwd: Path) -> str:
    result = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def _pictures(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.glob("*.png")}


def _num_frames(path: Path) -> int:
    from PIL import Image

    with Image.open(path) as film:
        return int(film.n_frames)


def test_cart_pole_is_caught_in_both_modes(tmp_path):
    output = _run(ROOT / "examples" / "01_cart_pole_lqr.py", "--output", tmp_path, cwd=tmp_path)
    assert output.count("real-time factor") == 2
    assert set(_pictures(tmp_path)) == {"cart_pole.png", "cart_pole_diagram.png"}
    assert min(_pictures(tmp_path).values()) > 10_000


def test_arm_is_held_by_gravity_compensation_and_pd(tmp_path):
    output = _run(ROOT / "examples" / "02_robot_arm.py", "--output", tmp_path, cwd=tmp_path)
    assert "7 joints" in output
    assert min(_pictures(tmp_path).values()) > 10_000


@pytest.mark.parametrize(
    "model",
    [
        "iiwa_description/urdf/iiwa14_no_collision.urdf",
        "allegro_hand_description/sdf/allegro_hand_description_right.sdf",
    ],
)
def test_real_robots_are_held_too(tmp_path, model):
    if not (MODELS / model).exists():
        pytest.skip(f"no model files at {MODELS} (set MERGANSER_MODELS)")
    _run(ROOT / "examples" / "02_robot_arm.py", MODELS / model, "--output", tmp_path, cwd=tmp_path)


def test_monte_carlo_finds_where_the_pole_is_caught_and_goes_on_from_its_file(tmp_path):
    program = (ROOT / "examples" / "05_monte_carlo.py", "--runs", 40, "--output", tmp_path)
    output = _run(*program, cwd=tmp_path)
    assert re.search(r"40 runs in .*: \d+ caught, \d+ lost", output)
    assert min(_pictures(tmp_path).values()) > 10_000
    results = (tmp_path / "study.jsonl").read_text()
    assert len(results.splitlines()) == 41
    _run(*program, cwd=tmp_path)
    assert (tmp_path / "study.jsonl").read_text() == results


def test_worlds_side_by_side_show_which_pushes_a_quadruped_survives(tmp_path):
    output = _run(ROOT / "examples" / "16_many_worlds.py", "--worlds", 40, "--output", tmp_path, cwd=tmp_path)
    found = re.search(r"(\d+) stand, (\d+) have fallen", output)
    assert found is not None and min(map(int, found.groups())) > 5
    assert min(_pictures(tmp_path).values()) > 10_000


def test_kalman_filters_follow_the_pendulum(tmp_path):
    output = _run(ROOT / "examples" / "06_kalman.py", "--output", tmp_path, cwd=tmp_path)
    assert output.count("% within 2 sigma") == 2
    assert _pictures(tmp_path)["kalman.png"] > 10_000


def test_an_arm_is_recorded_into_one_page(tmp_path):
    pytest.importorskip("tornado", reason="extra `view`")
    output = _run(ROOT / "examples" / "07_viewer.py", "--output", tmp_path, cwd=tmp_path)
    assert "8 s of simulation in" in output
    page = (tmp_path / "viewer.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and len(page) < 2_000_000


@pytest.mark.parametrize(
    ("file", "picture", "words"),
    [("03_box_stack.py", "box_stack", "10 boxes"), ("04_grasp.py", "grasp", "held by 15.00 N from each side")],
)
def test_boxes_stack_and_one_is_lifted_by_friction(file, picture, words, tmp_path):
    assert words in _run(ROOT / "examples" / file, "--output", tmp_path, cwd=tmp_path)
    assert set(_pictures(tmp_path)) == {f"{picture}.png"}
    assert _num_frames(tmp_path / f"{picture}.gif") > 40
    assert min(_pictures(tmp_path).values()) > 10_000


def test_six_legs_walk_over_rubble_and_up_stairs_without_falling(tmp_path):
    output = _run(ROOT / "examples" / "17_rough_terrain.py", "--output", tmp_path, cwd=tmp_path)
    way, rise = map(float, re.search(r"went ([\d.]+) m, and ([\d.]+) m up", output).groups())
    assert way > 5.0 and rise > 0.1
    assert int(re.search(r"leaned by more than (\d+) degrees", output)[1]) < 30
    assert _pictures(tmp_path)["rough_terrain.png"] > 10_000


def test_a_policy_learns_to_balance_a_cart_pole(tmp_path):
    pytest.importorskip("gymnasium")
    output = _run(ROOT / "examples" / "18_learn_to_balance.py", "--iterations", 3, "--output", tmp_path, cwd=tmp_path)
    lengths = [float(text) for text in re.findall(r"episodes of +([\d.]+) steps", output)]
    assert len(lengths) == 3 and lengths[-1] > 1.3 * lengths[0]
    assert _pictures(tmp_path)["learning_cart_pole.png"] > 5_000


def test_cameras_see_an_arm_and_a_pile(tmp_path):
    need_renderer()
    output = _run(ROOT / "examples" / "08_camera.py", "--duration", 1.5, "--output", tmp_path, cwd=tmp_path)
    assert output.count("sees the ball with") == 2
    assert _pictures(tmp_path)["camera.png"] > 100_000
    assert _num_frames(tmp_path / "camera.gif") == 16


def test_box_is_picked_up_and_put_down_elsewhere(tmp_path):
    output = _run(ROOT / "examples" / "09_pick_and_place.py", "--output", tmp_path, cwd=tmp_path)
    missed = float(re.search(r"put down ([\d.]+) mm from where it was wanted", output)[1])
    assert missed < 1.0
    assert set(_pictures(tmp_path)) == {"pick_and_place.png"} and min(_pictures(tmp_path).values()) > 10_000


def test_patches_of_a_squeezed_ball_agree_with_weight_and_closed_form(tmp_path):
    output = _run(ROOT / "examples" / "10_pressure_patches.py", "--output", tmp_path, cwd=tmp_path)
    carried = np.array(re.findall(r"([\d.]+) N carry the ball, which weighs ([\d.]+) N", output), dtype=float)
    assert carried.shape == (3, 2)
    np.testing.assert_allclose(carried[:, 0], carried[:, 1], rtol=1e-2)
    patch = r"(ground|left finger|right finger): ([\d.]+) N on ([\d.]+) cm² \(closed form ([\d.]+)\)"
    names, *numbers = zip(*re.findall(rf"{patch}, up to ([\d.]+) kPa \(([\d.]+)\)", output))
    assert names == ("ground", *("left finger", "right finger", "ground"), *("left finger", "right finger"))
    force, area, expected_area, peak, expected_peak = np.array(numbers, dtype=float)
    np.testing.assert_allclose(force[[1, 2, 4, 5]], 10.0, rtol=1e-3)
    np.testing.assert_allclose(area, expected_area, rtol=0.01)
    np.testing.assert_allclose(peak, expected_peak, rtol=0.02)
    assert _pictures(tmp_path)["patches.png"] > 100_000
    pressures = re.search(r"LOOKUP_TABLE default\n([\d.e\n+-]+)", (tmp_path / "patch.vtk").read_text()).group(1)
    assert abs(1e-3 * max(map(float, pressures.split())) - peak[1]) < 0.1


def test_an_acrobot_swings_up_when_it_is_tracked(tmp_path):
    output = _run(ROOT / "examples" / "11_swing_up.py", "--output", tmp_path, cwd=tmp_path)
    alone, tracked = (float(found) for found in re.findall(r"ends ([\d.]+) from upright", output))
    assert alone > 0.5
    assert tracked < 0.01
    assert set(_pictures(tmp_path)) == {"swing_up.png", "swing_up_poses.png"}
    assert min(_pictures(tmp_path).values()) > 10_000


def test_the_way_through_a_maze_is_shortest(tmp_path):
    output = _run(ROOT / "examples" / "12_maze.py", "--output", tmp_path, "--size", "8", cwd=tmp_path)
    length, bound = map(float, re.search(r"is ([\d.]+) long; none is shorter than ([\d.]+)", output).groups())
    assert bound - 1e-3 <= length <= 1.05 * bound
    assert _pictures(tmp_path)["maze.png"] > 10_000


def test_every_example_has_a_test():
    text = Path(__file__).read_text()
    assert [path.name for path in EXAMPLES if path.name not in text] == []


def test_program_of_the_readme_holds_the_pendulum(tmp_path):
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert abs(float(_run("-c", program, cwd=tmp_path)) - 1.0) < 1e-3


@pytest.mark.skipif(not may_compile(), reason="numba does not compile")
def test_program_of_the_readme_runs_without_numba_when_it_was_compiled_before(tmp_path):
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    _run("-c", program, cwd=tmp_path)
    output = _run("-c", f"{program}\nimport sys; print('numba' in sys.modules)", cwd=tmp_path)
    assert output.split()[1] == "False"


def test_first_two_shell_blocks_of_the_readme_are_the_two_commands():
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    main_job, tests = (block.strip() for block in blocks[:2])
    assert "\n" not in main_job and main_job.endswith("examples/01_cart_pole_lqr.py")
    assert "\n" not in tests and tests.endswith("pytest -n auto")


def test_youngs_modulus_of_a_bar_is_found_from_its_tip(tmp_path):
    output = _run(ROOT / "examples" / "14_soft_material.py", "--modulus", "3e4", "--output", tmp_path, cwd=tmp_path)
    assert output.count("30000.0 Pa") == 2
    assert min(_pictures(tmp_path).values()) > 30_000


def test_a_soft_bar_comes_to_rest_on_a_peg_with_its_stress_above_it(tmp_path):
    output = _run(ROOT / "examples" / "15_soft_bar.py", "--output", tmp_path, cwd=tmp_path)
    carried, weight = (float(found) for found in re.search(r"carries ([\d.]+) N of ([\d.]+) N", output).groups())
    assert abs(carried - weight) < 0.05 * weight
    stresses = re.search(r"up to ([\d.]+) kPa, at the ends ([\d.]+) kPa", output)
    assert float(stresses[1]) > 20.0 * float(stresses[2])
    assert min(_pictures(tmp_path).values()) > 50_000 and (tmp_path / "soft_bar.html").stat().st_size > 1_000_000


def test_a_soft_ball_is_lifted_by_friction(tmp_path):
    output = _run(ROOT / "examples" / "13_soft_grasp.py", "--output", tmp_path, cwd=tmp_path)
    lifted, weight = (float(found) for found in re.search(r"lift ([\d.]+) N of ([\d.]+) N", output).groups())
    assert abs(lifted - weight) < 0.05 * weight
    assert 70 < float(re.search(r"to (\d+) % of its width", output)[1]) < 90
    assert set(_pictures(tmp_path)) == {"soft_grasp.png"} and min(_pictures(tmp_path).values()) > 50_000
    assert (tmp_path / "soft_grasp.html").stat().st_size > 100_000
