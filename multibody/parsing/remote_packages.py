"""Packages that are archives somewhere else: fetched once, when their files are first needed, and kept in a cache."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from merganser.framework.common.records import settings
from merganser.framework.common.saving import scratch_folder

_logger = logging.getLogger("merganser.multibody.parsing")
_SCHEMES = ("http", "https", "file")
_ENDINGS = {
    ".zip": "zip", ".tar": "tar", ".tar.gz": "gztar", ".tgz": "gztar", ".tar.bz2": "bztar", ".tar.xz": "xztar",
}  # fmt: skip
_TIMEOUT = 30.0  # without an answer of the server [s]


@settings
@dataclass(kw_only=True)
class RemoteParams:
    """Where the archive of a package is, and what is in it.

    Attributes:
        urls: addresses of the same archive, tried one after the other: http, https or file.
        sha256: checksum of the archive, 64 hexadecimal digits.
        archive_type: zip, tar, gztar, bztar or xztar; None for what the ending of the first address says.
        strip_prefix: folder of the archive that is the package; None for the whole archive.
    """

    urls: list[str] = field(default_factory=list)
    sha256: str = ""
    archive_type: str | None = None
    strip_prefix: str | None = None

    def ToJson(self) -> str:
        """Returns the parameters as JSON, without those that are None."""
        values = {name: value for name, value in vars(self).items() if value is not None}
        return json.dumps(values, sort_keys=True, separators=(",", ":"))

    def _check(self, package_name: str) -> None:
        place = f"PackageMap.AddRemote: package '{package_name}'"
        if not self.urls:
            raise RuntimeError(f"{place} needs at least one URL.")
        for url in self.urls:
            if url.partition("://")[0] not in _SCHEMES:
                raise RuntimeError(f"{place} has the unsupported URL '{url}', expected http, https or file.")
        if not re.fullmatch("[0-9a-fA-F]{64}", self.sha256):
            raise RuntimeError(f"{place} has the invalid sha256 '{self.sha256}', expected 64 hexadecimal digits.")
        if self.archive_type is not None and self.archive_type not in _ENDINGS.values():
            raise RuntimeError(
                f"{place} has the unsupported archive type '{self.archive_type}', expected one of "
                f"{', '.join(sorted(set(_ENDINGS.values())))}."
            )


_COMMIT = "deee02d4d79937e112cb428e638e7ee44d51305f"
_REPOSITORY = "RobotLocomotion/models"
# The models that Drake's examples use, as of Drake 1.51.
DRAKE_MODELS = RemoteParams(
    urls=[
        f"https://github.com/{_REPOSITORY}/archive/{_COMMIT}.tar.gz",
        f"https://drake-mirror.csail.mit.edu/github/{_REPOSITORY}/{_COMMIT}.tar.gz",
        f"https://s3.amazonaws.com/drake-mirror/github/{_REPOSITORY}/{_COMMIT}.tar.gz",
    ],
    sha256="9f5bc1b923e4de584a030d17c1fcfedfc1ca29e805c453156cab297e6bb89054",
    strip_prefix=f"models-{_COMMIT}",
)
# The files of Drake itself that its wheel has, for those who have not installed it; address and checksum are PyPI's.
DRAKE = RemoteParams(
    urls=[
        "https://files.pythonhosted.org/packages/b2/4e/fa153e912ae09e1d014b9f230e86ad38ded4751ff2f80658ff83cf5e3d4d/"
        "drake-1.51.1-cp311-cp311-manylinux_2_34_x86_64.whl"
    ],
    sha256="ce2a9df43194e447a85556f96593d7de79891eec16bf48b406c5ce5d1de93270",
    archive_type="zip",
    strip_prefix="pydrake/share/drake",
)
_REMEDIES = {
    "drake": "pip install drake, or set the environment variable DRAKE_RESOURCE_ROOT to the folder around one named "
    "'drake' that has its files"
}


def fetch(package_name: str, params: RemoteParams) -> Path:
    """The folder of a package in the cache, into which it is fetched if it is not there.

    The cache is `merganser/package_map` in `$XDG_CACHE_HOME`, by default `~/.cache`.

    Raises:
        RuntimeError: no address gives an archive with the right checksum, or it cannot be unpacked.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "merganser", "package_map")
    part = hashlib.sha256((params.strip_prefix or "").encode()).hexdigest()[:16]
    folder = cache / f"{params.sha256.lower()}-{part}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    # Everything happens beside the cache and is then renamed: what is in the cache is complete.
    with scratch_folder(cache) as scratch:
        archive = _download(package_name, params, scratch / "archive")
        unpacked = _unpack(package_name, params, archive, scratch / "unpacked")
        try:
            unpacked.rename(folder)
        except OSError:
            if not folder.is_dir():  # or another process was quicker
                raise
    return folder


def _download(package_name: str, params: RemoteParams, target: Path) -> Path:
    from urllib.error import URLError  # 40 ms with the next, which most programs need not wait for
    from urllib.request import urlopen

    failures = []
    for url in params.urls:
        _logger.info("Fetching package '%s' from %s", package_name, url)
        try:
            with urlopen(url, timeout=_TIMEOUT) as response, target.open("wb") as file:
                shutil.copyfileobj(response, file)
        except (OSError, URLError, ValueError) as cause:
            failures.append(f"{url}: {cause}")
            continue
        with target.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found == params.sha256.lower():
            return target
        failures.append(f"{url}: its checksum is {found}, expected {params.sha256}")
    raise RuntimeError(
        f"Package '{package_name}' is remote and not in the cache, and fetching it failed: {'; '.join(failures)}. If "
        f"there is no network, {_REMEDIES.get(package_name, 'get a copy of it')}; or call "
        f"package_map().Remove('{package_name}') and Add('{package_name}', folder)."
    )


def _unpack(package_name: str, params: RemoteParams, archive: Path, target: Path) -> Path:
    """Unpacks an archive; returns the folder in it that is the package."""
    path = re.split("[?#]", params.urls[0])[0]
    by_ending = next((kind for ending, kind in _ENDINGS.items() if path.endswith(ending)), None)
    kind = params.archive_type or by_ending
    if kind is None:
        raise RuntimeError(
            f"Package '{package_name}': the address '{params.urls[0]}' does not say what kind of archive it is; set "
            "archive_type."
        )
    try:
        if kind == "zip":
            _unpack_zip(archive, target, params.strip_prefix or "")
        else:
            shutil.unpack_archive(archive, target, kind, filter="data")  # refuses members outside of the target
    except Exception as cause:  # the readers of archives let all sorts of errors pass
        raise RuntimeError(f"Package '{package_name}': its archive is no valid {kind}: {cause}") from cause
    folder = (target / (params.strip_prefix or "")).resolve()
    if not folder.is_dir() or not folder.is_relative_to(target.resolve()):
        what = f"has no folder '{params.strip_prefix}'" if params.strip_prefix else "is empty"
        raise RuntimeError(f"Package '{package_name}': its archive {what}.")
    return folder


def _unpack_zip(archive: Path, target: Path, folder: str) -> None:
    """Unpacks a folder of a zip file; members that would be outside of the target end up inside of it."""
    from zipfile import ZipFile

    with ZipFile(archive) as file:
        names = [name for name in file.namelist() if not folder or name.startswith(f"{folder.rstrip('/')}/")]
        file.extractall(target, names)
