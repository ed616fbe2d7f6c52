#!/usr/bin/env python3
"""Strains of made-up bacteria: sequences of known ancestry.

    dna.py > strains.jsonl

Three unrelated genomes of 20,000 bases, and strains of each in which one base in 1,000 or
one in 100 was replaced by chance. One line of JSON a strain; from FASTA files, put the
lines of each record together in the same way.
"""

import json
import random

BASES = "ACGT"


def strain(genome, one_in, random):
    bases = list(genome)
    for i, base in enumerate(bases):
        if random.randrange(one_in) == 0:
            bases[i] = random.choice([other for other in BASES if other != base])
    return "".join(bases)


def strains():
    chance = random.Random(21)
    for name in ["alpha", "beta", "gamma"]:
        genome = "".join(chance.choice(BASES) for _ in range(20_000))
        yield name, genome
        yield f"{name}-near", strain(genome, 1000, chance)
        yield f"{name}-far", strain(genome, 100, chance)


if __name__ == "__main__":
    for name, sequence in strains():
        print(json.dumps({"id": name, "text": sequence}))
