"""Print what is set up as JSON: the version, which keys are set (never their values), finished runs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def printed(*words: str) -> object:
    """Return what a command prints as JSON, or what it says if it fails."""
    command = [sys.executable, "-m", "metaeval", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - words of this file
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def main() -> None:
    """Print the object."""
    from metaeval import __version__

    providers: Any = printed("providers")
    keys = [one["name"] for one in providers if one["key_is_set"]]
    runs = printed("runs", sys.argv[1] if len(sys.argv) > 1 else "results")
    print(json.dumps({"version": __version__, "keys": keys, "runs": runs}, indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
