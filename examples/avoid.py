#!/usr/bin/env python3
"""Changes a text so that no fingerprint that a public recipe samples is left of it.

    avoid.py TEXT ONE_IN > ALTERED

ONE_IN is the level of the sketch that `lookalike sketch TEXT` tells: one fingerprint in so
many is kept. Every ten words of the text are sketched by themselves, which tells where the
sampled ones stand, and one word of each of those is changed. A cheat can do this for any
recipe that is public, and for none whose key is not known.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

WIDTH = 10


def sampled(words, one_in):
    """The places of the shingles that the recipe samples."""
    with tempfile.TemporaryDirectory() as folder:
        shingles = pathlib.Path(folder, "shingles.jsonl")
        with shingles.open("w") as out:
            for at in range(len(words) - WIDTH + 1):
                text = " ".join(words[at : at + WIDTH])
                print(json.dumps({"id": str(at), "text": text}), file=out)
        probe = str(pathlib.Path(folder, "probe.lk"))
        run = ["lookalike", "add", probe, str(shingles), "--sketch", f"mod:{one_in}", "--quiet"]
        subprocess.run(run, check=True)
        export = ["lookalike", "export", probe, "sketches", "--format", "jsonl"]
        rows = subprocess.run(export, check=True, capture_output=True, text=True).stdout
        rows = map(json.loads, rows.splitlines())
        return sorted(int(row["id"]) for row in rows if row["samples"])


def altered(words, one_in):
    """The words with one of each sampled shingle changed, until none is left."""
    words = list(words)
    kept = {tuple(words[at : at + WIDTH]) for at in sampled(words, one_in)}
    while True:
        behind = 0
        for at in range(len(words) - WIDTH + 1):
            # One changed word undoes all sampled shingles that it stands in.
            if at >= behind and tuple(words[at : at + WIDTH]) in kept:
                words[at + WIDTH - 1] = f"altered{at}"
                behind = at + WIDTH
        if behind == 0:
            return words


if __name__ == "__main__":
    text = pathlib.Path(sys.argv[1]).read_text()
    print(" ".join(altered(text.lower().split(), int(sys.argv[2]))))
