"""A promptfoo assertion that asks ``metaeval gate`` whether a finished run is good enough.

In promptfooconfig.yaml; each key but ``run`` is an option of the command:

    assert:
      - type: python
        value: file://promptfoo_gate.py
        config: {run: results/study, min: [helpful=3.5], baseline: baseline.json, max-drop: [0.2]}
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def get_assert(output: str, context: dict[str, Any]) -> dict[str, Any]:
    """Return promptfoo's result: it passes if the gate does; too few units to tell is no pass."""
    options = dict(context.get("config") or {})
    run = options.pop("run", None)
    if run is None:
        return {"pass": False, "score": 0.0, "reason": "name the run folder: config: {run: results/study}"}
    words = [
        f"--{name}={value}"
        for name, given in options.items()
        for value in (given if isinstance(given, list) else [given])
    ]
    command = [sys.executable, "-m", "metaeval", "gate", str(run), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - words of this file
    passed = done.returncode == 0
    return {"pass": passed, "score": float(passed), "reason": (done.stdout or done.stderr).strip()}
