"""`export cdxj` is the index that cdxj-indexer writes, line by line, besides what we add."""

import gzip
import json
import pathlib
import re
import subprocess
import sys

from archive import indexed
from common import CRAWL, add, folder, lookalike


def main():
    program = pathlib.Path(sys.executable).parent / "warcio"
    subprocess.run([program, "check", *CRAWL], capture_output=True, timeout=120, check=True)
    with folder() as work:
        work = pathlib.Path(work)
        lines = check(work / "packed", CRAWL)
        plain = []
        for path in CRAWL:
            plain.append(work / path.name.removesuffix(".gz"))
            plain[-1].write_bytes(gzip.decompress(path.read_bytes()))
        check(work / "plain", plain)
        undated(work)
    print(f"cdxj-indexer: {len(lines)} captures, the same lines, packed and plain; warcio finds the crawl sound")


def check(collection, paths):
    for path in paths:
        add(collection, path)
    lines = lookalike("export", collection, "cdxj").splitlines()
    assert lines == sorted(lines), "the lines are not sorted"
    clusters = [json.loads(line.split(" ", 2)[2])["cluster"] for line in lines]
    assert len(set(clusters)) < len(clusters), "nothing is in a cluster with anything else"
    bare = [re.sub(r', "cluster": \d+}$', "}", line) for line in lines]
    expected = indexed(paths)
    differ = [(ours, theirs) for ours, theirs in zip(bare, expected) if ours != theirs]
    assert not differ, f"{len(differ)} lines differ\n{differ[0][0]}\n{differ[0][1]}"
    assert len(bare) == len(expected), f"{len(bare)} lines, cdxj-indexer: {len(expected)}"
    return lines


def undated(work):
    """What has no date is left out, and said."""
    rows = [{"url": "http://a.example/1", "text": "some words"}, {"url": "http://a.example/2", "text": "others", "date": "2026-11-16"}]
    (work / "two.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    add(work / "two", work / "two.jsonl")
    path = work / "two.cdxj"
    lookalike("export", work / "two", "cdxj", "-o", path)
    key, date, facts = path.read_text().strip().split(" ", 2)
    assert (key, date) == ("example,a)/2", "20261116000000"), path.read_text()
    facts = json.loads(facts)
    assert (facts["status"], facts["mime"], facts["length"]) == ("200", "text/plain", "6"), facts
    assert re.fullmatch("[A-Z2-7]{32}", facts["digest"]), facts


main()
