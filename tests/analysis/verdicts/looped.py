"""Coherence by loops over pairs and triples."""

import itertools

KEPT = {"first": 1.0, "second": 0.0, "tie": 0.5}


def kept_and_asked(rows):
    """Return what is kept of each axiom, and of how much."""
    groups, found = {}, {}
    for row in rows:
        if row["winner"]:
            pairs = groups.setdefault((row["cluster"], row["group"]), {})
            pairs.setdefault(frozenset((row["first"], row["second"])), []).append(row)
    for pairs in groups.values():
        for axiom, kept in itertools.chain(*map(of_pair, pairs.values()), of_triples(pairs)):
            found.setdefault(axiom, []).append(kept)
    return {axiom: (sum(kept), len(kept)) for axiom, kept in found.items()}


def won(row):
    return row.get(row["winner"], "tie")


def of_pair(rows):
    if rows[0]["first"] == rows[0]["second"]:
        yield from (("irreflexivity", KEPT[row["winner"]]) for row in rows)
        return
    yield from (("first_position", KEPT[row["winner"]]) for row in rows if row["winner"] != "tie")
    for one, other in itertools.combinations(rows, 2):
        if one["first"] == other["first"]:
            yield "repeatability", won(one) == won(other)
    for repeat in {row["repeat"] for row in rows}:
        these = [row for row in rows if row["repeat"] == repeat]
        agree = [
            won(one) == won(other)
            for one, other in itertools.combinations(these, 2)
            if one["first"] != other["first"]
        ]
        if agree:
            yield "asymmetry", sum(agree) / len(agree)


def of_triples(pairs):
    decided, both = {}, {}
    for pair, rows in pairs.items():
        winners = {won(row) for row in rows}
        if len(pair) == 2 and len(winners) == 1 and "tie" not in winners:
            decided[pair] = won(rows[0])
            if len({row["first"] for row in rows}) == 2:
                both[pair] = decided[pair]
    for axiom, wins in (("transitivity", decided), ("transitivity_both_orders", both)):
        for triple in itertools.combinations(sorted({name for pair in wins for name in pair}), 3):
            sides = [frozenset(side) for side in itertools.combinations(triple, 2)]
            if all(side in wins for side in sides):
                yield axiom, len({wins[side] for side in sides}) < 3
