"""Commands for clients: each once, in order, and current when the client takes it."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack

from merganser.geometry.visualizers.encoding import Asset, Message, encode, joined
from merganser.geometry.visualizers.scene import Client, Scene


def commands(scene: Scene, client: Client) -> list[str]:
    """The commands that a client has not been sent before, in short."""
    words = []
    for message in scene.news(client):
        data, begin = (message.data, 0) if message.is_joined else (joined([message]), 0)
        while begin < len(data):
            length = int.from_bytes(data[begin : begin + 4], "little")
            command = umsgpack.unpackb(data[begin + 4 : begin + 4 + length])
            words.append(f"{command['type']} {command.get('path', '')}".strip())
            begin += 4 + length
    scene.note_sent(client, client.seen)
    return words


def new_client(scene: Scene) -> Client:
    client = Client()
    scene.add_client(client)
    return client


def put(scene: Scene, path: str, value: float = 0.0) -> None:
    scene.set_at(path, "object", encode({"type": "set_object", "path": path, "value": value}))


def test_a_client_gets_what_is_new_since_the_last_time() -> None:
    scene = Scene()
    put(scene, "/a")
    client = new_client(scene)
    put(scene, "/b")
    assert commands(scene, client) == ["set_object /a", "set_object /b"]
    assert commands(scene, client) == []
    put(scene, "/a")
    assert commands(scene, client) == ["set_object /a"]


def test_several_changes_are_sent_once_with_the_current_value() -> None:
    scene = Scene()
    client = new_client(scene)
    for value in range(1000):
        put(scene, "/a", value)
        put(scene, "/b", value)
    messages = scene.news(client)
    assert [umsgpack.unpackb(message.data)["value"] for message in messages] == [999, 999]


def test_late_clients_get_everything_in_the_order_of_the_last_changes() -> None:
    scene = Scene()
    for path in ("/a", "/b", "/c", "/a"):
        put(scene, path)
    assert commands(scene, new_client(scene)) == ["set_object /b", "set_object /c", "set_object /a"]


def test_deleting_removes_what_is_below_here_and_at_clients() -> None:
    scene = Scene()
    for path in ("/a", "/a/b", "/a/b/c", "/ab"):
        put(scene, path)
    client = new_client(scene)
    commands(scene, client)
    scene.delete("/a")
    put(scene, "/a/new")
    assert commands(scene, client) == ["delete /a", "set_object /a/new"]
    assert commands(scene, new_client(scene)) == ["set_object /ab", "set_object /a/new"]
    assert scene.has_path("/a/new") and not scene.has_path("/a/b")


def test_deletions_that_all_clients_know_are_forgotten() -> None:
    scene = Scene()
    client = new_client(scene)
    for i in range(100):
        put(scene, f"/thing{i}")
        scene.delete(f"/thing{i}")
    assert len(scene._others) == 100
    commands(scene, client)
    assert len(scene._others) == 0 and len(scene._log) == 0


def test_what_pages_have_by_themselves_stays_deleted_for_late_clients() -> None:
    scene = Scene()
    scene.delete("/Grid")
    assert commands(scene, new_client(scene)) == ["delete /Grid"]


def test_the_object_alone_can_be_deleted() -> None:
    scene = Scene()
    put(scene, "/a")
    put(scene, "/a/b")
    scene.delete("/a/<object>")
    assert commands(scene, new_client(scene)) == ["set_object /a/b"] and scene.has_path("/a")


def test_the_root_is_not_deleted_and_nothing_means_everything_relative() -> None:
    scene = Scene()
    put(scene, "a")
    put(scene, "/other")
    scene.delete("/")
    assert scene.has_path("a") and scene.has_path("/drake/a") and not scene.has_path("/a")
    scene.delete("")
    assert not scene.has_path("a") and scene.has_path("/other")


def test_a_client_does_not_get_its_own_changes() -> None:
    scene = Scene()
    mine, other = new_client(scene), new_client(scene)
    scene.set_other("slider", encode({"type": "set_control_value"}), sender=mine)
    assert commands(scene, mine) == [] and commands(scene, other) == ["set_control_value"]
    assert commands(scene, new_client(scene)) == ["set_control_value"]


# ------------------------------------------------------------------ transforms of many paths


def poses(*x: float) -> np.ndarray:
    X = np.tile(np.eye(4), (len(x), 1, 1))
    X[:, 0, 3] = x
    return X


def test_poses_of_a_block_are_sent_where_they_have_changed() -> None:
    scene = Scene()
    client = new_client(scene)
    block = scene.add_pose_block(["a", "b", "c"])
    assert commands(scene, client) == []
    scene.set_poses(block, poses(1, 2, 3))
    assert commands(scene, client) == [f"set_transform /drake/{name}" for name in "abc"]
    scene.set_poses(block, poses(1, 2, 3))
    assert commands(scene, client) == []
    scene.set_poses(block, poses(1, 5, 3))
    assert commands(scene, client) == ["set_transform /drake/b"]
    assert commands(scene, new_client(scene)) == [f"set_transform /drake/{name}" for name in "abc"]


def test_poses_of_a_block_arrive_as_they_are() -> None:
    scene = Scene()
    block = scene.add_pose_block(["a", "a/very/long/path"])
    X = np.random.default_rng(0).normal(size=(2, 4, 4))
    scene.set_poses(block, X)
    (message,) = scene.news(new_client(scene))
    size = int.from_bytes(message.data[:4], "little")
    for row, data in enumerate((message.data[4 : 4 + size], message.data[8 + size :])):
        command = umsgpack.unpackb(data)
        matrix = np.frombuffer(command["matrix"].data, dtype="<f4").reshape(4, 4).T
        np.testing.assert_allclose(matrix, X[row], rtol=1e-6)
        assert command["path"] == block.paths[row]
    np.testing.assert_array_equal(umsgpack.unpackb(scene.get_at("a", "transform").data)["matrix"], X[0].T.ravel())


def test_transforms_set_one_by_one_and_in_blocks_are_the_same_thing() -> None:
    scene = Scene()
    scene.set_transform("a", poses(9)[0])
    block = scene.add_pose_block(["a", "b"])
    scene.set_poses(block, poses(1, 2))
    scene.set_transform("a", poses(7)[0])
    scene.set_poses(block, poses(7, 3))
    assert commands(scene, new_client(scene)) == ["set_transform /drake/a", "set_transform /drake/b"]
    other = scene.add_pose_block(["b"])
    scene.set_poses(other, poses(4))
    assert commands(scene, new_client(scene)) == ["set_transform /drake/a", "set_transform /drake/b"]


def test_a_block_whose_paths_were_deleted_sets_them_again() -> None:
    scene = Scene()
    block = scene.add_pose_block(["a", "b"])
    scene.set_poses(block, poses(1, 2))
    scene.delete("a")
    assert not scene.has_path("a") and commands(scene, new_client(scene)) == ["set_transform /drake/b"]
    scene.set_poses(block, poses(1, 2))
    assert scene.has_path("a")
    assert commands(scene, new_client(scene)) == ["set_transform /drake/a", "set_transform /drake/b"]


# ------------------------------------------------------------------ all else


def test_late_clients_get_the_animation_after_what_it_moves() -> None:
    scene = Scene()
    early = new_client(scene)
    scene.set_other("animation", encode({"type": "set_animation"}))
    put(scene, "/a")
    assert commands(scene, new_client(scene)) == ["set_object /a", "set_animation"] == commands(scene, early)
    put(scene, "/b")
    assert commands(scene, early) == ["set_object /b"]


def test_assets_of_equal_contents_are_shared_and_removed_when_unused() -> None:
    array = np.arange(12, dtype=np.float32)
    first, second = Asset.of(array), Asset.of(array.copy())
    assert first is second and Asset.of(array.astype(np.uint32)) is not first
    message = encode({"type": "set_object", "object": {"data": [first, {"again": second}]}})
    assert umsgpack.unpackb(message.data)["object"]["data"][0] == {"asset": first.key}
    assert message.assets == (first, first)
    references = sys.getrefcount(first)
    del second
    assert sys.getrefcount(first) == references - 1


def test_threads_may_change_the_scene_at_once() -> None:
    scene = Scene()
    client = new_client(scene)

    def work(number: int) -> None:
        for i in range(300):
            put(scene, f"/{number}/{i % 7}")
            scene.delete(f"/{number}/{(i + 3) % 7}")
            scene.news(client)
            scene.note_sent(client, client.seen)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    versions = [entry.version for entry in scene._log]
    assert versions == sorted(versions) and versions[-1] <= scene._version
    assert len(commands(scene, new_client(scene))) == sum(
        scene.has_path(f"/{number}/{i}") for number in range(4) for i in range(7)
    )


def test_a_snapshot_is_what_a_new_client_would_get() -> None:
    scene = Scene()
    put(scene, "/a")
    scene.set_other("control x", encode({"type": "set_control"}))
    scene.set_poses(scene.add_pose_block(["b"]), poses(1))
    assert [message.is_joined for message in scene.snapshot()] == [False, False, True]
    assert len(scene.snapshot(without=("control",))) == 2
    assert isinstance(scene.snapshot()[0], Message)
