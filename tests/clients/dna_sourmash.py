"""DNA: --token char --shingle 21 gives sourmash's figures for the same sequences.

Exact values are equal. (sourmash takes a k-mer and its reverse complement for one; in
sequences drawn by chance no 21-mer is the complement of another, so the counts are those
of the k-mers as they stand.) Estimates of both lie around them within sampling error.
"""

import itertools
import json
import math
import pathlib
import sys

import sourmash

from common import ROOT, folder, lookalike

sys.path.insert(0, str(ROOT / "examples"))
import dna  # noqa: E402

K, SCALED, ERRORS = 21, 20, 4.0


def signature(sequence, scaled):
    made = sourmash.MinHash(n=0, ksize=K, scaled=scaled)
    made.add_sequence(sequence)
    return made


def main():
    strains = list(dna.strains())
    worst = 0.0
    with folder() as place:
        place = pathlib.Path(place)
        for name, sequence in strains:
            (place / name).with_suffix(".txt").write_text(sequence)
        for (name, one), (other, two) in itertools.combinations(strains, 2):
            files = [place / f"{n}.txt" for n in (name, other)]
            options = ["--token", "char", "--shingle", str(K), "--format", "text", "--json", "--quiet"]
            told = json.loads(lookalike("compare", *files, *options))
            whole = signature(one, 1), signature(two, 1)
            exact = whole[0].jaccard(whole[1])
            ours = told["resemblance"]["exact"]
            assert math.isclose(ours, exact, abs_tol=1e-12), (name, other, ours, exact)
            contained = whole[0].contained_by(whole[1])
            assert math.isclose(told["a_in_b"]["exact"], contained, abs_tol=1e-12), (name, other)
            # The standard error of a share of n samples; of 0 and 1 nothing may be off.
            sketches = signature(one, SCALED), signature(two, SCALED)
            theirs = sketches[0].jaccard(sketches[1])
            union = len(set(sketches[0].hashes) | set(sketches[1].hashes))
            for estimate, samples in [
                (told["resemblance"]["estimate"]["value"], told["resemblance"]["estimate"]["samples"]),
                (theirs, union),
            ]:
                error = math.sqrt(exact * (1 - exact) / samples)
                assert abs(estimate - exact) <= ERRORS * error + 1e-12, (name, other, estimate, exact)
                worst = max(worst, abs(estimate - exact) / error if error else 0.0)
        # And a whole collection: strains are together with their own kind alone.
        lines = place / "strains.jsonl"
        lines.write_text("".join(json.dumps({"id": n, "text": s}) + "\n" for n, s in strains))
        lookalike("add", place / "c.lk", lines, "--token", "char", "--shingle", K, "--quiet")
        lookalike("cluster", place / "c.lk", "--resemblance", "0.4", "--verify", "exact", "--quiet")
        policy = "resemblance>=0.4 link=chain verify=exact"
        rows = lookalike("export", place / "c.lk", "clusters", "--policy", policy)
        groups = {}
        for row in map(json.loads, rows.splitlines()):
            groups.setdefault(row["cluster"], set()).add(row["id"])
        kinds = {frozenset(ids) for ids in groups.values()}
        genomes = dict(strains)
        for kind in ["alpha", "beta", "gamma"]:
            # One base in 100 replaced leaves 0.99^21 of the 21-mers: two in three are common.
            far = signature(genomes[kind], 1).jaccard(signature(genomes[f"{kind}-far"], 1))
            expected = {kind, f"{kind}-near"} | ({f"{kind}-far"} if far >= 0.4 else set())
            assert any(expected <= ids for ids in kinds), (kind, kinds)
            assert all(name.startswith(kind) for ids in kinds if kind in ids for name in ids), kinds
    pairs = len(strains) * (len(strains) - 1) // 2
    print(f"dna_sourmash: {pairs} pairs equal sourmash's; estimates at most {worst:.1f} standard errors off")


if __name__ == "__main__":
    main()
