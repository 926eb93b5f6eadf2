"""Print what is set up as JSON: the version, which keys are set (never their values), finished runs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import Any


def printed(*words: str) -> tuple[bool, str]:
    """Return whether a command worked, and what it prints."""
    program = shutil.which("metaeval")
    command = [program] if program else [sys.executable, "-m", "metaeval"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)  # noqa: S603 - words of this file
    return done.returncode == 0, (done.stderr if done.returncode else done.stdout).strip()


def found(*words: str) -> Any:  # noqa: ANN401 - any JSON
    """Return what a command prints as JSON, or says if it fails."""
    worked, said = printed(*words, "--json")
    return json.loads(said) if worked else said


def main() -> None:
    """Print the object; end with what is wrong where metaeval is not there."""
    there, version = printed("--version")
    if not there:
        sys.exit(f"metaeval does not run here: {version}")
    keys = [one["name"] for one in found("providers") if one["key_is_set"]]
    runs = found("runs", sys.argv[1] if len(sys.argv) > 1 else "results")
    print(json.dumps({"version": version, "keys": keys, "runs": runs}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
