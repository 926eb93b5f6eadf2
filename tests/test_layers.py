"""The floors of the architecture: an import may only point down; and what is imported is little."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import metaeval

PACKAGE = Path(metaeval.__file__).parent
FLOORS = {
    name: floor
    for floor, name in enumerate(
        (
            "base",
            "stats",
            "llm",
            "data",
            "evaluators",
            "judging",
            "engine",
            "analysis",
            "kinds",
            "reports",
            "runs",
            "study",
            "trust",
            "cli",
            "integrations",
            "__main__",
        )
    )
}
FRONT_DOOR = ("__init__",)
"""The package itself, which opens on every floor."""
HEAVY = (
    "numpy",
    "pandas",
    "scipy",
    "pyarrow",
    "pydantic",
    "jinja2",
    "rich",
    "sacrebleu",
    "datasets",
    "openai",
    *("inspect_ai", "MeCab", "mecab_ko", "psycopg", "ray"),
    *("sentence_transformers", "vl_convert"),
)
"""The last lines are of extras, which may not be there."""


def room(file: Path) -> str:
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


def module_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(file): file for file in PACKAGE.rglob("*.py")}


def imported(file: Path) -> list[tuple[int, str]]:
    """Return line and module of each import from this package: within functions, and of types, too."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                modules = [n.name for n in names]
            case ast.ImportFrom(module=str() as module, names=names, level=0):
                inside = [f"{module}.{n.name}" for n in names]
                modules = [name if name in MODULES or module == "metaeval" else module for name in inside]
            case ast.ImportFrom(level=level) if level:
                modules = [f"metaeval.a relative import of level {level}"]
            case _:
                continue
        found += [(node.lineno, m) for m in modules if m.startswith("metaeval.")]
    return found


def imported_rooms(file: Path) -> list[tuple[int, str]]:
    return [(line, module.split(".")[1]) for line, module in imported(file)]


FILES = sorted(f for f in PACKAGE.rglob("*.py") if room(f) not in FRONT_DOOR)


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_no_import_points_up(file: Path) -> None:
    own = room(file)
    assert own in FLOORS, f"{own} has no floor yet: give it one here and in the architecture"
    for line, other in imported_rooms(file):
        assert other in FLOORS, f"{file.name}:{line} imports {other}, which has no floor"
        if other != own:
            assert FLOORS[other] <= FLOORS[own], f"{file.name}:{line} imports {other}, which is above it"


def test_the_map_of_the_docs_names_every_room_and_no_file_that_is_not_there() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE) == [r for r in FLOORS if r != "__main__"]
    paths = [p for p in re.findall(r"`([\w./]+/[\w.]*)`", page) if "NAME" not in p]
    assert len(paths) > 30
    kinds = (PACKAGE / "kinds" / name for name in ("explanations", "exposure"))
    places = (PACKAGE, PACKAGE.parent, *(PACKAGE / r for r in FLOORS), *kinds)
    assert [p for p in paths if not any((place / p).exists() for place in places)] == []


def test_files_have_no_circle() -> None:
    graph = {name: {module for _, module in imported(file)} for name, file in MODULES.items()}
    order = list(graphlib.TopologicalSorter(graph).static_order())  # a CycleError names the circle
    assert set(MODULES) <= set(order)


def test_stats_and_llm_know_nothing_of_explanations() -> None:
    for file in FILES:
        if room(file) == "stats":
            assert {other for _, other in imported_rooms(file)} <= {"stats", "base"}, file
        if room(file) == "llm":
            assert not {o for _, o in imported_rooms(file)} & {"data", "evaluators"}, file


def test_importing_the_package_loads_no_heavy_library() -> None:
    code = f"import sys, metaeval; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


def test_help_loads_no_heavy_library() -> None:
    shown = f"print([m for m in {HEAVY!r} if m in sys.modules])"
    code = f"import sys, metaeval.cli as cli; cli.main(['--help']); {shown}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


@pytest.mark.slow
def test_no_two_public_classes_have_one_name() -> None:
    found: dict[str, list[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(file.relative_to(PACKAGE)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_public_names_are_what_they_say() -> None:
    import metaeval as me

    for name in me.__all__:
        if name != "__version__":
            assert callable(getattr(me, name)), name
    assert set(me.__all__) <= set(dir(me))
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = me.scores


@pytest.mark.parametrize("first", ["import metaeval as me; stats = me.stats", "from metaeval import stats"])
def test_the_statistics_are_there_without_importing_each_module(first: str) -> None:
    code = f"{first}; print(stats.coefficients.pearson([1, 2, 3], [2, 4, 6]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1.0\n"
