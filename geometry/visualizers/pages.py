"""The page of the viewer: the client of the package `meshcat`, what connects it, and what it shows without a server."""

from __future__ import annotations

import base64
import functools
import importlib.util
import io
import json
from pathlib import Path

from merganser.geometry.visualizers.encoding import Asset, Message, joined, load_viewer

__all__ = ["client_script", "live_page", "page_script", "static_page", "static_zip"]

_LEVEL = 6  # of compression


@functools.cache
def client_script() -> str:
    """The client.

    Raises:
        ImportError: the package is not installed.
    """
    package = importlib.util.find_spec("meshcat")  # without importing it, as that imports IPython
    origin = package.origin if package is not None else load_viewer("meshcat").__file__
    return (Path(str(origin)).parent / "viewer" / "dist" / "main.min.js").read_text(encoding="utf-8")


@functools.cache
def page_script() -> str:
    """What connects it to the server."""
    return _own_file("page.js")


def live_page() -> str:
    """The page of a server."""
    return _page(_script(source="main.min.js"), _script(source="page.js"), _script("connect();"))


def static_page(messages: list[Message]) -> str:
    """A page that shows a scene by itself; assets stand in it once."""
    import gzip  # takes long to import, as zipfile does

    batch = joined([*_assets(messages), *messages])
    text = base64.b64encode(gzip.compress(batch, _LEVEL, mtime=0)).decode()
    return _page(_script(client_script()), _script(page_script()), _script(f'unpack("{text}");'))


def static_zip(messages: list[Message]) -> bytes:
    """The same as a ZIP file of a page, its scripts, the scene and its assets, to be put on a web server."""
    import zipfile

    assets = {f"assets/{asset.key}.bin": joined([asset]) for asset in _assets(messages)}
    files = [*assets, "scene.bin"]
    page = _page(_script(source="main.min.js"), _script(source="page.js"), _script(f"load({json.dumps(files)});"))
    contents: dict[str, str | bytes] = {
        "meshcat.html": page,
        "main.min.js": client_script(),
        "page.js": page_script(),
        "scene.bin": joined(messages),
        **assets,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _assets(messages: list[Message]) -> list[Asset]:
    """What the messages refer to, each once."""
    return list({asset.key: asset for message in messages for asset in message.assets}.values())


def _page(*scripts: str) -> str:
    return _own_file("page.html").replace("<!-- scripts -->", "\n".join(scripts))


def _script(text: str = "", source: str = "") -> str:
    return f'<script src="{source}"></script>' if source else f"<script>{text}</script>"


def _own_file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
