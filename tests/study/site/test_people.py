"""What a site shows of people: no e-mail address unless asked for, and pseudonyms for ids of users."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from metaeval.base.formulas import read_csv, to_csv
from metaeval.cli import main
from metaeval.runs.folder import digest_of
from metaeval.study.site.people import Pseudonyms
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

if TYPE_CHECKING:
    from pathlib import Path

DOMAIN = "@uni-example.edu"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run whose users go by their e-mail addresses."""
    folder = tmp_path_factory.mktemp("people")
    for file in write_tiny(folder / "tiny").glob("*.csv"):
        lines = (re.sub(r"^(u\d)", rf"\1{DOMAIN}", line) for line in file.read_text().splitlines())
        file.write_text("\n".join([*lines, ""]))
    return tiny_run(folder, "study", exclude=f"{{user_id: [u3{DOMAIN}]}}")


def everything(site: Path) -> str:
    """Return all that a site holds, with what its reports hold packed."""
    texts = []
    for file in (f for f in site.rglob("*") if f.is_file()):
        texts.append(file.read_text(encoding="utf-8"))
        texts += [gzip.decompress(b64decode(p)).decode() for p in re.findall(r'"payload">([^<]+)', texts[-1])]
    return "\n".join(texts)


def test_addresses_are_refused_unless_they_are_asked_for(run: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "site"
    assert main(["site", str(run), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert "shows 3 e-mail addresses, such as u" in said
    assert "--pseudonyms" in said
    assert "--with-addresses" in said
    assert not out.exists()
    assert main(["site", str(run), "--out", str(out), "--with-addresses"]) == 0
    assert DOMAIN in everything(out)


def test_pseudonyms_stand_for_users_everywhere(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    assert main(["site", str(run), "--out", str(out), "--pseudonyms"]) == 0
    text = everything(out)
    assert DOMAIN not in text
    assert {'"u2"', '"u3"'} <= set(re.findall(r'"u\d"', text))  # u1 is left out by the study
    outputs = json.loads((out / "studies" / "study" / "record.json").read_text())["outputs"]
    assert all(digest_of(out / "studies" / "study" / f) == digest for f, digest in outputs.items())


def test_an_address_in_a_text_is_refused_with_pseudonyms_too(tmp_path: Path, capsys: Any) -> None:
    file = write_tiny(tmp_path / "tiny") / "explanations.csv"
    file.write_text(file.read_text().replace("Why not?", "Write to anna@shop.example."))
    run = tiny_run(tmp_path, "study")
    assert main(["site", str(run), "--out", str(tmp_path / "site"), "--pseudonyms"]) == 2
    assert "such as anna@shop.example: take them out of the data, or" in capsys.readouterr().err


def test_only_the_source_and_the_licence_of_the_data_may_hold_addresses(tmp_path: Path, capsys: Any) -> None:
    file = write_tiny(tmp_path / "tiny") / "dataset.yaml"
    text = file.read_text().replace("made by hand", "made by лена@пример.рф, yu_li@lab.xn--p1ai")
    text = text.replace("CC0", "ask legal@uni.example").replace("taste", "taste (ask anna@shop.example)")
    file.write_text(text.replace("recommended", "recommended (by sacrebleu@2.4.0)"), encoding="utf-8")
    assert main(["site", str(tiny_run(tmp_path, "study")), "--out", str(tmp_path / "site")]) == 2
    assert "shows 1 e-mail address, such as anna@shop.example: " in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_ids_that_look_like_formulas_have_the_pseudonym_that_they_have_in_the_report(tmp_path: Path) -> None:
    ids = ["-a", "'=x", "", "=b", "-a"]
    names = Pseudonyms()
    assert [names.of(user) for user in ids[:2]] == ["u1", "u2"]
    to_csv(pd.DataFrame({"user_id": ids, "text": ids[::-1]}), tmp_path / "table.csv")
    names.files(tmp_path)
    table = read_csv(tmp_path / "table.csv")
    assert table["user_id"].tolist() == ["u1", "u2", "", "u3", "u1"]
    assert table["text"].tolist() == ids[::-1]


def test_users_of_any_name_get_pseudonyms_in_tables_and_figures(tmp_path: Path) -> None:
    names = Pseudonyms()
    payload = {
        "units": {"columns": [{"name": "user_id", "values": ["7", "1"]}, {"name": "pair", "values": ["7"]}]},
        "groups": [{"keys": ["item_id", "user_id"], "ids": [["7", "7"]]}],
        "figures": [{"columns": [{"name": "who", "title": "User"}], "rows": {"who": ["1"], "n": ["7"]}}],
        "sheets": [{"columns": [{"title": "user"}, {"title": "texts"}], "rows": [["7", "7"]]}],
    }
    made = names.payload(payload)
    assert [c["values"] for c in made["units"]["columns"]] == [["u1", "u2"], ["7"]]
    assert made["groups"][0]["ids"] == [["7", "u1"]]
    assert made["figures"][0]["rows"] == {"who": ["u2"], "n": ["7"]}
    assert made["sheets"][0]["rows"] == [["u1", "7"]]
    pd.DataFrame({"user_id": ["1", "8"], "pair": ["1", "1"]}).to_csv(tmp_path / "invented.csv", index=False)
    names.files(tmp_path)
    assert (tmp_path / "invented.csv").read_text() == "user_id,pair\nu2,1\nu3,1\n"


def test_studies_of_one_name_are_told_apart_at_addresses_that_stay(tmp_path: Path, capsys: Any) -> None:
    write_tiny(tmp_path / "tiny")
    first = tiny_run(tmp_path, "mine")
    (tmp_path / "other").mkdir()
    tiny = f"{tmp_path / 'tiny'}"
    second, third = (tiny_run(tmp_path / "other", name, dataset=tiny) for name in ("mine", "yours"))
    out = tmp_path / "site"

    def pages(*runs: Path) -> dict[str, str]:
        assert main(["site", *map(str, runs), "--out", str(out)]) == 0
        table = pd.read_csv(out / "leaderboard.csv")
        return {str(p): str(s) for p, s in zip(table["page"], table["study"], strict=True)}

    assert pages(first) == {"studies/mine/index.html": "Evaluators on tiny"}
    assert "replaces" not in capsys.readouterr().out
    assert pages(first, second, third) == {
        "studies/mine/index.html": "Evaluators on tiny (mine)",
        "studies/mine-2/index.html": "Evaluators on tiny (mine-2)",
        "studies/yours/index.html": "Evaluators on tiny (yours)",
    }
    assert "replaces the site of 1 study that was there.\n" in capsys.readouterr().out
    pages(third)
    assert "the site of 3 studies that was there, without mine, mine-2.\n" in capsys.readouterr().out
