"""The clusters of the case table, by definition: all shingles of all pairs, in plain Python.

The one file of answers is `case_clusters.txt` beside the table; engine, program and package
are each held to it."""

import re
import unicodedata

import lookalike
from conftest import CASES, arrow

ANSWERS = CASES.with_name("case_clusters.txt")


def tokens(text):
    """Words, of the scripts in the table that have spaces; marks of any kind separate them."""
    text = re.sub(r"<[^>]*>", " ", text) if text.startswith("<!doctype") else text
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


def shingles(words, width=10):
    if len(words) < width:
        return {tuple(words)}
    return {tuple(words[at : at + width]) for at in range(len(words) - width + 1)}


def answers():
    return [list(map(int, line.split())) for line in ANSWERS.read_text().splitlines()]


def test_the_answers_are_those_of_the_definition(cases):
    # Words without spaces and pictures are cut by Unicode's rules, which plain Python has not.
    is_plain = lambda row: row.get("text") and not row["id"] in CUT_BY_RULES
    sets = {n: shingles(words) for n, row in enumerate(cases) if is_plain(row) and (words := tokens(row["text"]))}
    cluster = {n: n for n in sets}
    named = {}
    for b in sorted(sets):
        for a in sorted(sets):
            if a < b and len(sets[a] & sets[b]) * 2 >= len(sets[a] | sets[b]):
                old, new = cluster[b], cluster[a]
                low = min(old, new)
                cluster = {n: low if of in (old, new) else of for n, of in cluster.items()}
    found = {}
    for n, of in cluster.items():
        found.setdefault(of, []).append(n)
    # Met again under its own name, a document is no copy of itself.
    again = {n for n, row in enumerate(cases) if is_again(cases, n)}
    found = [[n for n in members if n not in again] for members in found.values()]
    found = [members for members in found if len(members) > 1]
    known = [[n for n in members if n in sets] for members in answers()]
    assert found == [members for members in known if len(members) > 1]


CUT_BY_RULES = {"chinese-1", "chinese-2", "chinese-3", "thai-1", "thai-2", "arabic-1", "arabic-2", "emoji-1", "emoji-2"}


def is_again(cases, n):
    name = lambda row: row.get("url") or row.get("id")
    row = cases[n]
    return any(name(row) == name(before) and row.get("text") == before.get("text") for before in cases[:n])


def test_the_package_gives_the_answers(cases):
    found = {}
    for row in lookalike.cluster(arrow(cases), on_reject="ignore").to_pylist():
        found.setdefault(row["cluster"], []).append(row["offset"])
    assert [members for members in found.values() if len(members) > 1] == answers()
