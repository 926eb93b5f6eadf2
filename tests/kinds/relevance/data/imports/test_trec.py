"""TREC's files become a collection; nothing is dropped that is not counted."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.base.records import Scale
from metaeval.cli import main
from metaeval.kinds.relevance.data.imports.trec import import_collection
from metaeval.kinds.relevance.data.loading import load, save
from metaeval.stats.agreement import cohen_kappa

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PEOPLE = "u1 0 a 3\nu1 0 b 0\nu2 0 a 1\nu2 0 c 2\n"
MODEL = "u1 0 a 5\nu1 0 b x\nu2 0 a 1\nu2 0 d 2\n"
RUN = "u1 Q0 a 1 9 s\nu1 Q0 b 2 8 s\nu9 Q0 a 1 9 s\nu9 Q0 b 2 9 s\n"

ODD = """\
the scale is taken from the labels of 'human': integers from 0 to 3; --scale gives another
model: 3 labels on the scale, 1 no number, 1 missing of what 'human' labelled, \
1 on pairs that 'human' did not label
model: a scale of its own, integers from 0 to 5; --scale model=MIN:MAX gives another
s.run, row 3: no qrels file has the user 'u9'; 2 lines of 1 such user are left out
no list for some of the 2 users, which count as 0 there: s (1 user), t (1 user)
1 tie of scores in 1 system: broken by the order of the file if its lines are in the order of the scores, \
else by rank
items.csv: 1 row of items that no other table names, left out
profiles.jsonl: 1 row of users that no other table names, left out
1 user with labels but without a history
1 row of histories about items that the user labelled; judges do not see them
2 items with labels but without fields
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "people": PEOPLE,
        "model.qrels": MODEL,
        "s.run": RUN,
        "t.run": RUN.replace(" s\n", " t\n") * 0 + "u2 Q0 c 1 1 t\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name == "s.run" else text.encode())
    (tmp_path / "items.csv").write_text("item_id,title\na,A film\n007,Unknown\nd,D film\n")
    (tmp_path / "histories.csv").write_text("user_id,item_id,rating\nu1,h,4\nu7,h,2\nu1,a,5\n")
    (tmp_path / "profiles.jsonl").write_text('{"user_id": "u1", "age": 30}\n{"user_id": "u8", "age": 9}\n')
    return tmp_path


def imported(folder: Path, **options):
    given = {
        "qrels": [f"human={folder / 'people'}", folder / "*.qrels"],
        "runs": [folder / "s.run", folder / "t.run"],
        "items": folder / "items.csv",
        "histories": folder / "histories.csv",
        "profiles": folder / "profiles.jsonl",
        **options,
    }
    return import_collection(given.pop("qrels"), folder / "out", **given)


def test_labels_runs_and_what_is_known_become_a_collection(folder: Path) -> None:
    result = imported(folder, labels={0: "dull"}, statement="Seen it?")
    data = load(folder / "out")
    assert data.fingerprint == result.data.fingerprint
    assert data.units.agg(" ".join, axis=1).tolist() == ["u1 a", "u1 b", "u2 a", "u2 c", "u2 d"]
    lines = data.runs.astype(str).agg(" ".join, axis=1).tolist()
    assert lines == ["s u1 a 1 9.0", "s u1 b 2 8.0", "t u2 c 1 1.0"]
    assert data.items["item_id"].tolist() == ["a", "d"]
    assert data.histories["user_id"].tolist() == ["u1", "u7", "u1"]  # popularity counts other users' too
    assert data.profiles.to_numpy().tolist() == [["u1", "30"]]
    assert (data.models, data.relevant, dict(data.labels)) == (("model",), 1, {0: "dull"})
    assert dict(data.aspects) == {"relevance": "Seen it?"}
    assert data.extra["recorded_from"]["model"]["file"] == "model.qrels"


def test_what_is_odd_is_said_and_counted(folder: Path) -> None:
    assert "\n".join(imported(folder).lines()[1:]) + "\n" == ODD


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        (
            {"people": "u1 0 a 3\nu1 0 b 4\n"},
            {"scale": (0, 3)},
            "people, row 2, column 'label': the label",
        ),
        ({"people": "u1 0 a 3\nu1 0 b x\n"}, {}, "the label 'x' is not on the scale; allowed"),
        ({}, {"scale": {"modl": (0, 5)}}, "--scale names 'modl'; the raters are 'human', 'model'"),
        ({"model.qrels": "u1 0 a\n"}, {}, "model.qrels, row 1: has 3 fields"),
        ({"s.run": "u9 Q0 a 1 9 s\n"}, {}, "s.run: names none of the users of the qrels"),
        ({"items.csv": "title\nA\n"}, {}, "items.csv, column 'item_id': is missing"),
        ({"histories.csv": "user_id,item_id,rating\nu1,a,good\n"}, {}, "histories.csv, row 2"),
        (
            {"histories.csv": "user_id,item_id,timestamp\nu1,h,1714546800000\n"},
            {},
            "histories.csv, row 2, column 'timestamp': is 1714546800000, as milliseconds are",
        ),
        ({}, {"qrels": ["human=nowhere"]}, "there is no qrels file 'nowhere'; give NAME=FILE"),
        ({}, {"runs": ["nowhere"]}, "there is no run file 'nowhere'"),
        ({}, {"relevant": 7}, "relevant: 7 is not on the scale; allowed are integers from 0 to 3"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_written(folder: Path, change, options, says) -> None:
    for name, text in change.items():
        (folder / name).write_text(text)
    with pytest.raises(DataError) as caught:
        imported(folder, **options)
    assert says in str(caught.value)
    assert not (folder / "out").exists()


def test_fractions_are_labels_of_people_and_of_models(folder: Path) -> None:
    (folder / "people").write_text("u1 0 a 0.5\nu1 0 b 0\nu2 0 a 1\n")
    (folder / "model.qrels").write_text("u1 0 a 7.25\nu1 0 b 0\nu2 0 a 42\n")
    data = imported(folder, runs=()).data
    assert (data.scale, data.relevant) == (Scale(0, 1, integer=False), 0.5)
    assert data.scales == {"model": Scale(0, 42, integer=False)}
    assert load(folder / "out").fingerprint == data.fingerprint
    stated = imported(folder, runs=(), scale={"model": (0, 40), "": (0, 2)}, force=True)
    assert (stated.data.scale, stated.data.scales["model"]) == (Scale(0, 2, False), Scale(0, 40, False))
    assert "model: 2 labels on the scale, 1 not on the scale" in "\n".join(stated.notes)


@pytest.mark.parametrize(
    ("people", "options", "relevant", "notes"),
    [
        ("u 0 a -2\nu 0 b 1\nu 0 c -1\n", {}, 1, ["relevant is a label of 1 or more", "--unjudged=-1"]),
        ("u 0 a -2\nu 0 b -1\n", {}, 1, ["integers from -2 to 1", "never one below 0"]),
        ("u 0 a -2\nu 0 b 3\n", {"relevant": 2}, 2, ["integers from -2 to 3"]),
        ("u 0 a 1\nu 0 b 5\n", {"scale": (1, 5)}, 1, []),
        ("u 0 a -0.5\nu 0 b 0.25\nu 0 c 1\n", {"scale": (-1, 1)}, 0.25, ["a label of 0.25 or more"]),
    ],
)
def test_no_grade_below_0_is_relevant_and_the_import_says_what_is(
    folder: Path, people, options, relevant, notes
) -> None:
    (folder / "people").write_text(people)
    result = imported(folder, qrels=[f"human={folder / 'people'}"], runs=(), **options)
    assert load(folder / "out").relevant == result.data.relevant == relevant
    said = "\n".join(result.notes)
    assert all(note in said for note in notes), said


def test_what_means_not_judged_is_stated(folder: Path) -> None:
    (folder / "people").write_text("u 0 a -2\nu 0 b 1\nu 0 c -1\n")
    given = {"qrels": [f"human={folder / 'people'}"], "runs": ()}
    data = imported(folder, **given, unjudged=-1).data
    assert data.ratings["rating"].tolist() == [-2, 1]
    with pytest.raises(DataError, match="relevant: -1 is below 0, and no such label is relevant"):
        imported(folder, **given, relevant=-1, force=True)


def test_two_files_of_one_name_are_two_raters_only_if_named(folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "model.qrels").write_text(MODEL)
    both = [f"human={folder / 'people'}", folder / "model.qrels", folder / "more" / "model.qrels"]
    with pytest.raises(DataError, match="would both be the rater 'model'; name one as NAME=FILE"):
        imported(folder, qrels=both)


@pytest.mark.slow
def test_the_deep_learning_track(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "dl21"
    qrels = [f"human={source / 'human.qrels'}", source / "judges" / "*"]
    result = import_collection(qrels, tmp_path / "dl21", runs=[source / "runs"])
    data = load(tmp_path / "dl21")
    assert data.counts["unit"] == 10_828
    assert data.counts["user"] == 53
    assert (data.counts["system"], len(data.runs)) == (63, 333_750)
    assert data.models == ("gpt-4o-binary", "gpt-4o-exam-max", "gpt-4o-umbrela", "llama3.2-binary")
    assert "scores contradict ranks, so the scores are used: uogTrPC (53 users)" in result.notes
    assert data.scales == {"gpt-4o-exam-max": Scale(0, 5)}
    first = data.runs.set_index(["system", "user_id", "rank"])["item_id"]
    assert first["uogTrPC", "2082", 1] == "msmarco_passage_30_709623997"  # score 26.9, though its rank says 3


def test_the_judges_of_the_challenge_are_raters(real_data: Path, tmp_path: Path) -> None:
    source = real_data / "llmjudge"
    result = import_collection(
        [f"human={source / 'human.qrels'}", source / "submissions" / "*.txt"], tmp_path / "out"
    )
    data = result.data
    assert (data.counts["unit"], len(data.models)) == (4423, 33)
    odd = [note for note in result.notes if "not on the scale" in note]
    assert odd == [
        "RMITIR-llama70B: 4,421 labels on the scale, 2 not on the scale",
        "h2oloo-zeroshot2: 4,422 labels on the scale, 1 not on the scale",
    ]
    wide = data.ratings.pivot_table(index=["user_id", "item_id"], columns="rater", values="rating")
    assert round(cohen_kappa(wide["human"], wide["willia-umbrela1"]), 4) == 0.2863


def test_tables_with_a_header_are_labels_and_runs(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("user,item,rating\nu1,a,3\nu1,b,1\nu2,a,2\n", encoding="utf-8")
    runs = "Algorithm,user,rank,item,score\npop,u1,1,a,0.9\npop,u1,2,b,0.5\npop,u2,1,a,0.9\n"
    with gzip.open(tmp_path / "runs.csv.gz", "wt", encoding="utf-8") as file:
        file.write(runs)
    columns = {"query": "user", "document": "item", "label": "rating", "system": "Algorithm"}
    columns |= {"user_id": "user", "item_id": "item"}
    given = {"runs": [tmp_path / "runs.csv.gz"], "scale": (0, 5)}
    import_collection([f"truth={tmp_path / 'truth.csv'}"], tmp_path / "out", columns=columns, **given)
    data = load(tmp_path / "out")
    assert data.ratings["rating"].tolist() == [3, 1, 2]
    assert data.runs["system"].unique().tolist() == ["pop"]
    with pytest.raises(DataError, match=r"there are: user, item, rating.*--columns FIELD=COLUMN"):
        import_collection([f"truth={tmp_path / 'truth.csv'}"], tmp_path / "no", **given)
    assert not (tmp_path / "no").exists()


def test_a_pool_is_drawn_from_the_lists_beside_its_depth(tmp_path: Path) -> None:
    (tmp_path / "people").write_text("u1 0 a 3\nu2 0 b 0\n")
    lines = [f"u{u} Q0 i{i:02} {i} {99 - i} {s}" for u in (1, 2) for i in range(1, 41) for s in "pq"]
    (tmp_path / "runs").write_text("\n".join(lines))
    runs = {"runs": [tmp_path / "runs"]}

    def pool(name: str, **options: int) -> dict[str, set[str]]:
        import_collection([f"human={tmp_path / 'people'}"], tmp_path / name, **runs, **options)
        return {
            user: {*own} - {"a", "b"}
            for user, own in load(tmp_path / name).units.groupby("user_id")["item_id"]
        }

    deep, drawn = pool("deep", depth=3), pool("drawn", drawn=15)
    assert deep["u1"] == {"i01", "i02", "i03"}
    assert len(drawn["u1"]) == len(drawn["u2"]) == 15
    assert drawn["u1"] != drawn["u2"]
    assert pool("less", drawn=5)["u1"] < drawn["u1"]
    assert pool("both", depth=3, drawn=15)["u2"] == deep["u2"] | drawn["u2"]
    with pytest.raises(DataError, match="drawn items come from the lists of systems; give --runs"):
        import_collection([f"human={tmp_path / 'people'}"], tmp_path / "no", drawn=5)


USERS, TOP = ["196", "7"], [["50", "100", "181"], ["258", "50", "[PAD]"]]


def saved_by(tool: str, folder: Path) -> Path:
    """Write the same lists as a tool does, by what its own code does with them."""
    scores = np.array([[9.5, 9.25, 1.0], [0.5, 0.25, -np.inf]], dtype=np.float32)
    flat = [
        (u, i, s, r)
        for u, row, of in zip(USERS, TOP, scores, strict=True)
        for r, (i, s) in enumerate(zip(row, of, strict=True), 1)
    ]
    frame = pd.DataFrame(flat, columns=["user_id", "item_id", "score", "rank"])[:-1]
    path = folder / {"recbole": "EASE.npz", "old": "EASE.csv.gz"}.get(tool, "EASE.parquet")
    match tool:
        case "recbole":  # users, dataset.id2token(…), topk_score of full_sort_topk
            np.savez(path, user_id=np.array(USERS), item_id=np.array(TOP), score=scores)
        case "lenskit":  # ItemListCollection.save_parquet: a row per list, items as a list of structures
            of = pa.struct({"item_id": pa.int64(), "score": pa.float32(), "rank": pa.int32()})
            lists = [
                [{"item_id": int(i), "score": s, "rank": r} for _, i, s, r in own.itertuples(index=False)]
                for _, own in frame.groupby("user_id", sort=False)
            ]
            table = {"user_id": pa.array([196, 7, 8]), "items": pa.array([*lists, []], pa.list_(of))}
            pq.write_table(pa.table(table), path, compression="zstd")
        case "flat":  # layout="flat": to_df().to_parquet
            frame.astype({"user_id": int, "item_id": int}).to_parquet(path)
        case "unordered":  # no scores and no ranks: the order of the rows
            frame[["user_id", "item_id"]].to_parquet(path)
        case "old":  # LensKit 0.14: batch.recommend
            frame.rename(columns={"user_id": "user", "item_id": "item"}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("tool", ["recbole", "lenskit", "flat", "unordered", "old"])
def test_lists_are_read_as_a_recommender_saves_them(tool: str, tmp_path: Path) -> None:
    (tmp_path / "people").write_text("196 0 50 3\n7 0 50 1\n8 0 50 1\n")
    (folder := tmp_path / "runs").mkdir()
    saved_by(tool, folder)
    said = import_collection([f"human={tmp_path / 'people'}"], tmp_path / "out", runs=[folder])
    runs = load(tmp_path / "out").runs.sort_values(["user_id", "rank"])
    assert runs["system"].unique().tolist() == ["EASE"]
    assert runs[["user_id", "item_id", "rank"]].to_numpy().tolist() == [
        *([u, i, r] for u, i, r in zip(["196"] * 3, TOP[0], (1, 2, 3), strict=True)),
        *([u, i, r] for u, i, r in zip(["7"] * 2, TOP[1], (1, 2), strict=False)),
    ]
    note = "a score of -inf is no recommendation, and is left out: EASE (1 item)"
    assert (note in said.lines()) == (tool == "recbole")


def test_lists_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "people").write_text("196 0 50 3\n")
    wrong: dict[str, Mapping[str, Any]] = {
        "user_id has shape (1,), item_id (2, 3)": {"user_id": ["196"], "item_id": TOP},
        "score has shape (2,), item_id (2, 3)": {"user_id": USERS, "item_id": TOP, "score": [1.0, 2.0]},
        "user_id has shape (0,)": {"users": USERS},
        "cannot be read as arrays": {"user_id": np.array([{}], dtype=object), "item_id": TOP},
    }
    for says, arrays in wrong.items():
        np.savez(tmp_path / "r.npz", **arrays)
        with pytest.raises(DataError, match=re.escape(says)):
            import_collection([f"human={tmp_path / 'people'}"], tmp_path / "no", runs=[tmp_path / "r.npz"])
    pd.DataFrame({"who": ["196"], "item_id": ["50"]}).to_parquet(tmp_path / "r.parquet")
    with pytest.raises(DataError, match=r"user_id.*there are: who, item_id.*--columns FIELD=COLUMN"):
        import_collection([f"human={tmp_path / 'people'}"], tmp_path / "no", runs=[tmp_path / "r.parquet"])
    assert not (tmp_path / "no").exists()


def test_several_aspects_have_scales_and_questions_of_their_own(tmp_path: Path) -> None:
    files = {
        "interest": "u1 0 a 3\nu1 0 b 0\nu1 0 c 1\nu2 0 a 1\nu2 0 c 2\nu2 0 b 0\n",
        "familiar": "u1 0 a 0\nu1 0 b 1\nu1 0 c 1\nu2 0 a 1\nu2 0 c 0\nu2 0 b 0\n",
        "stars": "u1 0 a 4.5\nu1 0 b 1\nu1 0 c 3\nu2 0 a 2.5\nu2 0 c 4\nu2 0 b 0.5\n",
        "runs": "".join(
            f"u{u} Q0 {i} {n} {9 - n} s\nu{u} Q0 {i} {9 - n} {n} t\n"
            for u in (1, 2)
            for n, i in enumerate("abc", 1)
        ),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    at = {name: str(tmp_path / name) for name in files}
    command = f"data import collection --qrels human={at['interest']} human:familiar={at['familiar']} "
    command += f"human:stars={at['stars']} bot={at['interest']} bot:stars={at['stars']} --runs {at['runs']} "
    questions = ["--aspect", "familiar=Do you know it?", "stars=How would you rate it?"]
    assert (
        main([*command.split(), *questions, "--scale", "human:stars=0.5:5", "--out", str(tmp_path / "data")])
        == 0
    )
    data = load(tmp_path / "data")
    assert dict(data.aspects) == {
        "relevance": "How interested is the user in the item?",
        "familiar": "Do you know it?",
        "stars": "How would you rate it?",
    }
    assert [data.scale.of(aspect) for aspect in data.aspects] == [
        Scale(0, 3),
        Scale(0, 1),
        Scale(0.5, 5, False),
    ]
    assert data.models == ("bot",)
    save(data, tmp_path / "again")
    assert load(tmp_path / "again").fingerprint == data.fingerprint
    study = {
        "kind": "relevance",
        "dataset": str(tmp_path / "data"),
        "truth": "Labels('human')",
        "evaluators": {"bot": "Labels('bot')", "random": "Random()"},
        "measures": ["nDCG@3"],
        "bootstrap": None,
        "tests": None,
    }
    result = me.run(study, tmp_path / "run")
    found = pd.read_csv(result.folder / "correlations.csv").query(
        "level == 'dataset' and coefficient == 'kendall'"
    )
    values = found.set_index(["evaluator", "aspect"])["estimate"]
    assert values["bot", "relevance"] == values["bot", "stars"] == pytest.approx(1)
    assert ("random", "familiar") in values.index
    alone = me.run({**study, "aspects": ["relevance"]}, tmp_path / "alone")
    systems = [pd.read_csv(run.folder / "systems.csv") for run in (result, alone)]
    pd.testing.assert_frame_equal(*systems)
    with pytest.raises(DataError, match=re.escape("give --qrels human:mood=FILE")):
        import_collection([f"human={at['interest']}"], tmp_path / "no", aspects={"mood": "Which mood?"})
    labels = (tmp_path / "data" / "labels.csv", tmp_path / "data" / "labels.parquet")
    (there,) = [path for path in labels if path.exists()]
    frame = pd.read_parquet(there) if there.suffix == ".parquet" else pd.read_csv(there)
    frame.replace({"aspect": {"stars": "fame"}}).to_csv(tmp_path / "data" / "labels.csv", index=False)
    there.unlink() if there.suffix == ".parquet" else None
    with pytest.raises(DataError, match=r"the aspect 'fame' is not among the `aspects` of dataset\.yaml"):
        load(tmp_path / "data")
