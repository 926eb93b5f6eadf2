"""Packages of somebody else, really installed by pip, into a folder of their own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BACKEND = """
import tomllib, zipfile
from pathlib import Path


def build_wheel(folder, config_settings=None, metadata_directory=None):
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    whole = project["name"].replace("-", "_") + "-" + project["version"]
    head = f"Metadata-Version: 2.1\\nName: {project['name']}\\nVersion: {project['version']}\\n"
    points = "".join(
        f"[{group}]\\n" + "".join(f"{name} = {value}\\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    info = {
        "METADATA": head,
        "WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "entry_points.txt": points,
        "RECORD": "",
    }
    wheel = f"{whole}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / wheel, "w") as archive:
        for module in Path().glob("*.py"):
            archive.write(module)
        for name, text in info.items():
            archive.writestr(f"{whole}.dist-info/{name}", text)
    return wheel
"""
"""What builds a wheel without the network; it stands where the package names hatchling."""


def pip_install(package: Path, site: Path) -> None:
    """Install the package in a folder into ``site``, with no network and no further packages."""
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else ["uv", "pip"]
    if pip[0] == "uv" and shutil.which("uv") is None:
        pytest.skip("neither pip nor uv is there to install a package with")
    source = package.with_name(f"{package.name}-to-build")
    shutil.copytree(package, source)
    (source / "backend").mkdir()
    (source / "backend" / "backend.py").write_text(BACKEND)
    about = source / "pyproject.toml"
    built = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["backend"]\n'
    others = re.sub(r"\[build-system\][^\[]*\[[^\[]*(?=\[)", "", about.read_text())
    about.write_text(built + others)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    subprocess.run([*pip, "install", *options, str(source)], check=True, capture_output=True)
