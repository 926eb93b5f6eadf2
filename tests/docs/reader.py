"""A reader who does what a page says, from its top to its bottom, in a folder."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

from ruamel.yaml import YAML

from metaeval.cli import main
from metaeval.data.recording import ScoreMap
from metaeval.data.tables.maps import TableMap
from metaeval.data.verdicts.verdict_map import VerdictMap
from metaeval.kinds.explanations.data.explanation_set import Manifest
from metaeval.kinds.exposure.data.imports.table import LogMap
from metaeval.kinds.index import KINDS, kind_named
from metaeval.kinds.reading import make_study, read_study
from metaeval.kinds.slates.data.imports.table import SlateMap
from metaeval.study.published import PublishedSource
from metaeval.trust.labelling.shown_units import Labelling
from tests.docs.commands import MAKEFILE, check, is_run
from tests.docs.pages import DOCS, Block, Step, agrees, blocks, opening, source, steps

NOT_PRINTED = {"index.md", "how-to/scores-of-other-tools.md", "how-to/relevance.md"}
"""Pages with a block of text that nothing prints, such as a picture, or what a large study costs."""


class Reader:
    """Follows one page; ``printed`` is all that the commands and the code of the page have printed so far."""

    def __init__(self, page: str, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.printed = ""
        self.answers: dict[str, str] = {}
        """What each command printed, the last time, without its messages."""
        self._said: str | None = None  # by the last Python block
        self.module = types.ModuleType("page_" + re.sub(r"\W", "_", page))

    def follow(self) -> int:
        """Do what every block of the page says, in the working directory; return how many blocks it has."""
        sys.modules[self.module.__name__] = self.module  # dataclasses look their module up
        known = set(sys.modules)
        sys.path.insert(0, str(self.folder))
        try:
            self.download()
            head, todo = opening(self.page), blocks(self.page)
            for block in todo[head is not None :]:
                self.take(block)
            if head is not None:
                self.begin(head)
            return len(todo)
        finally:
            sys.path.remove(str(self.folder))
            for name in {*sys.modules} - known | {self.module.__name__}:
                if getattr(sys.modules[name], "__file__", "") and self._is_own(sys.modules[name]):
                    del sys.modules[name]
            sys.modules.pop(self.module.__name__, None)

    def download(self) -> None:
        """Put the example files here that the page links to."""
        for name in re.findall(r"\]\([./]*examples/([\w.-]+)\)", source(self.page)):
            shutil.copyfile(DOCS / "examples" / name, self.folder / name)

    def begin(self, head: Block) -> None:
        """Hold the first line of a page against what its command printed further down, or prints now."""
        (step,) = steps(head.text)
        if step.command not in self.answers:
            self.type(Step(step.command, ()), head, "0")
        if not is_run(step.command):
            return
        said = self.answers[step.command]
        assert agrees(step.printed, said), f"{head}: {step.command} printed\n{said}"

    def take(self, block: Block) -> None:
        """Do what one block says."""
        language = block.language
        if block.file is not None:
            self.save(block)
        elif language == "python":
            self._said = self.python(block)
        elif language == "console":
            self.console(block)
        elif language == "yaml":
            self.fragment(block)
        elif language == "text":
            if self._said is None:
                assert self.page in NOT_PRINTED, f"{block}: nothing printed this"
            else:
                assert agrees(block.text.splitlines(), self._said), f"{block}: printed is\n{self._said}"
        else:
            # Formulas and Sphinx's directives are seen to by the test that builds the site.
            assert re.fullmatch(r"math|\{[\w-]+\}.*", language), f"{block}: nobody checks {language!r}"
        if language not in {"python", "text"}:
            self._said = None

    def save(self, block: Block) -> None:
        """Save a block as the file that the page names; if it breaks off, the whole file is there."""
        path = self.folder / str(block.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = block.text.splitlines()
        if lines[-1] == "…":
            assert path.read_text(encoding="utf-8").splitlines()[: len(lines) - 1] == lines[:-1], block
            return
        path.write_text(block.text, encoding="utf-8")
        if block.language == "yaml":
            content = YAML(typ="safe").load(block.text)
            if "evaluators" in content:
                read_study(path)
            else:
                known = (TableMap, SlateMap, LogMap, ScoreMap, VerdictMap, Manifest, PublishedSource)
                kinds = [k for k in known if set(content) <= set(k.model_fields)]
                assert kinds, f"{block}: {block.file} is no study, map or manifest"

    def fragment(self, block: Block) -> None:
        """See that lines may stand in a study file of the first kind that has their keys, or a manifest."""
        content = YAML(typ="safe").load(block.text)
        if "extra" in content:
            Labelling.model_validate(content["extra"]["labelling"])
            return
        fitting = [kind for kind in KINDS if set(content) <= set(kind_named(kind).study.model_fields)]
        assert fitting, block
        least = {"kind": fitting[0], "dataset": "data", "truth": "User()", "evaluators": ["Random()"]}
        make_study({**least, **content})

    def python(self, block: Block) -> str:
        """Run code where the code above it ran, and return what it printed."""
        with capture() as said, contextlib.redirect_stderr(io.StringIO()):
            code = compile("\n" * block.line + block.text, str(DOCS / block.page), "exec")
            exec(code, self.module.__dict__)  # noqa: S102 - our own docs
        self.printed += said.getvalue()
        return said.getvalue()

    def console(self, block: Block) -> None:
        """Type the commands of a block, and compare what they print with what the page shows."""
        todo = steps(block.text)
        for at, step in enumerate(todo):
            if step.command == "echo $?":
                continue
            wanted = "0"
            if at + 1 < len(todo) and todo[at + 1].command == "echo $?":
                (wanted,) = todo[at + 1].printed
            self.type(step, block, wanted)

    def type(self, step: Step, block: Block, wanted: str) -> None:
        """Run a command; one that cannot be run is checked."""
        if not is_run(step.command):
            for part in step.command.split(" && "):
                check(part)
            if step.command != "make demo":
                return
            assert "demo: install\n\t@$(BIN)/metaeval demo\n" in MAKEFILE
        if step.command.startswith("export "):
            name, _, value = step.command.removeprefix("export ").partition("=")
            os.environ[name] = value
            return
        program, *arguments = shlex.split("metaeval demo" if step.command == "make demo" else step.command)
        if program == "python":
            # By itself, and with the warnings of its own libraries, as the reader would run it.
            subprocess.run([sys.executable, "-W", "ignore", *arguments], check=True, capture_output=True)
            return
        assert program == "metaeval", f"{block}: {step.command!r} is neither run nor in NOT_RUN"
        with capture() as said, contextlib.redirect_stdout(Answer(said)) as answer:
            code = main(arguments)
        assert str(code) == wanted, f"{block}: {step.command}\n{said.getvalue()}"
        self.printed += said.getvalue()
        self.answers[step.command] = answer.getvalue()
        if step.printed:
            assert agrees(step.printed, said.getvalue()), (
                f"{block}: {step.command} printed\n{said.getvalue()}"
            )

    def _is_own(self, module: types.ModuleType) -> bool:
        return str(module.__file__).startswith(str(self.folder))


class Answer(io.StringIO):
    """The answer of a command, which also stands among all that it says."""

    def __init__(self, said: io.StringIO) -> None:
        super().__init__()
        self._said = said

    def write(self, text: str) -> int:
        """Take what is printed."""
        self._said.write(text)
        return super().write(text)


@contextlib.contextmanager
def capture() -> Iterator[io.StringIO]:
    """Collect what is printed, errors too, as a terminal would show it."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        yield said
