"""Say whether a run made again has the fingerprints of the one that was handed in: check_run.py RUN AGAIN."""

import json
import sys
from pathlib import Path

given, again = (json.loads(Path(folder, "run.json").read_text(encoding="utf-8")) for folder in sys.argv[1:3])
tables = [name for name in given["outputs"] if name.endswith(".csv") and name != "cost.csv"]  # has seconds
differ = [name for name in tables if given["outputs"][name] != again["outputs"].get(name)]
if given["data"]["fingerprint"] != again["data"]["fingerprint"]:
    differ.append("the data set")
print(
    f"{sys.argv[1]}: differs in {', '.join(differ)}" if differ else f"{sys.argv[1]}: made again, to the digit"
)
sys.exit(1 if differ else 0)
