#!/usr/bin/env python3
"""Rows of a table as features: which are the same person, shop or book?

    rows.py TABLE.csv > rows.jsonl              each value a feature
    rows.py TABLE.csv --weights > rows.jsonl    a value counts more, the rarer it is

The first column is the id. Values are compared without case, accents and white space; of
longer ones the pairs of letters count too, so that a misspelling does not lose them.
"""

import collections
import csv
import json
import math
import sys
import unicodedata


def features(row):
    for column, value in row.items():
        plain = unicodedata.normalize("NFKD", value.casefold())
        plain = "".join(c for c in plain if c.isalnum())
        if plain:
            yield f"{column}={plain}"
        if len(plain) > 4:
            for pair in {plain[i : i + 2] for i in range(len(plain) - 1)}:
                yield f"{column}~{pair}"


with open(sys.argv[1], encoding="utf-8", newline="") as file:
    table = list(csv.DictReader(file))
ids = [row.pop(next(iter(row))) for row in table]
rows = [sorted(set(features(row))) for row in table]
if "--weights" in sys.argv:
    seen = collections.Counter(feature for row in rows for feature in row)
    weight = {feature: round(math.log(1 + len(rows) / count), 3) for feature, count in seen.items()}
    rows = [{feature: weight[feature] for feature in row} for row in rows]
for name, row in zip(ids, rows):
    print(json.dumps({"id": name, "features": row}))
