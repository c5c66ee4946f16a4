"""The page of the viewer: the client of the package `meshcat`, what connects it, and what it shows without a server."""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import importlib.util
import io
import json
from pathlib import Path
from typing import NamedTuple

from merganser.geometry.visualizers.encoding import Asset, Message, joined, load_viewer

_LEVEL = 6  # of compression
_SCRIPTS = ("scene", "look", "camera", "panel", "plots", "live", "connection")  # of `page`, which follow each other
# What the page may load, and which scripts may run: those written in it here, and no other, whatever names or models
# bring with them.
_POLICY = (
    "default-src 'none'; script-src 'self'{hashes}; style-src 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self' data: blob: ws: wss:; base-uri 'none'; form-action 'none'"
)


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
    """The live page, which connects to the server."""
    return "\n".join(_own_file(f"{name}.js") for name in _SCRIPTS)


def live_page() -> str:
    """The page of a server."""
    return _page(_Script(source="main.min.js"), _Script(source="page.js"), _Script("connect();"))


def static_page(messages: list[Message]) -> str:
    """A page that shows a scene by itself, with each asset once."""
    import gzip  # takes long to import, as zipfile does

    batch = joined([*_assets(messages), *messages])
    text = base64.b64encode(gzip.compress(batch, _LEVEL, mtime=0)).decode()
    return _page(_Script(client_script()), _Script(page_script()), _Script(f'unpack("{text}");'))


def static_zip(messages: list[Message]) -> bytes:
    """The same as a ZIP file of a page, its scripts, the scene and its assets, to be put on a web server."""
    import zipfile

    assets = {f"assets/{asset.key}.bin": joined([asset]) for asset in _assets(messages)}
    files = [*assets, "scene.bin"]
    page = _page(_Script(source="main.min.js"), _Script(source="page.js"), _Script(f"load({json.dumps(files)});"))
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


class StaticCell(NamedTuple):
    """A page without a server as the output of a cell of a notebook.

    Attributes:
        page: its HTML.
        height: of the output [pixels].
    """

    page: str
    height: int

    def _repr_html_(self) -> str:
        """The page in a frame of its own, with the text of the page in it."""
        style = f"width: 100%; height: {self.height}px; border: 0"
        return f'<div><iframe srcdoc="{html.escape(self.page)}" style="{style}"></iframe></div>'


def _assets(messages: list[Message]) -> list[Asset]:
    """The assets of the messages, each once."""
    return list({asset.key: asset for message in messages for asset in message.assets}.values())


def _page(*scripts: _Script) -> str:
    """The page with its scripts."""
    hashes = "".join(f" '{script.hash()}'" for script in scripts if script.text)
    page = _own_file("page.html").replace("<!-- policy -->", _POLICY.format(hashes=hashes))
    page = page.replace("<!-- styles -->", _own_file("page.css"))
    return page.replace("<!-- scripts -->", "\n".join(script.element() for script in scripts))


class _Script(NamedTuple):
    """A script: its text, which is written into the page, or else its source."""

    text: str = ""
    source: str = ""

    def element(self) -> str:
        return f'<script src="{self.source}"></script>' if self.source else f"<script>{self.text}</script>"

    def hash(self) -> str:
        """That by which a policy allows the text."""
        return "sha256-" + base64.b64encode(hashlib.sha256(self.text.encode()).digest()).decode()


def _own_file(name: str) -> str:
    return (Path(__file__).parent / "page" / name).read_text(encoding="utf-8")
