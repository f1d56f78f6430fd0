"""Tiny distributions made on the spot."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

BACKEND = """
import os, zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "tree_made-1.5-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as out:
        for directory, _, files in os.walk("src"):
            for file in files:
                path = os.path.join(directory, file)
                out.write(path, os.path.relpath(path, "src"))
        info = "tree_made-1.5.dist-info"
        out.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: tree-made\\nVersion: 1.5\\n")
        out.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        out.writestr(info + "/RECORD", "")
    return name
"""
BUILDABLE = {
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    '[project]\nname = "Tree.Made"\nversion = "1.5"\nrequires-python = ">=3.8"\n',
    "backend.py": BACKEND,
    "src/tree_made/__init__.py": "ANSWER = 42\n",
}


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def make_wheel(directory: Path, name: str, version: str, files: Mapping[str, str], extra: str = "") -> Path:
    stem = f"{name.replace('-', '_')}-{version}"
    path = directory / f"{stem}-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{extra}"
    tag = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    whole = {**files, f"{stem}.dist-info/METADATA": metadata, f"{stem}.dist-info/WHEEL": tag}
    record = "".join(f"{member},,\n" for member in [*whole, f"{stem}.dist-info/RECORD"])
    with zipfile.ZipFile(path, "w") as out:
        for member, text in {**whole, f"{stem}.dist-info/RECORD": record}.items():
            out.writestr(member, text)
    return path


def make_sdist(directory: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    stem = f"{name.replace('-', '_')}-{version}"
    path = directory / f"{stem}.tar.gz"
    with tarfile.open(path, "w:gz") as out:
        for member, text in {**files, "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"}.items():
            info = tarfile.TarInfo(f"{stem}/{member}")
            info.size = len(text.encode())
            out.addfile(info, io.BytesIO(text.encode()))
    return path
