#!/usr/bin/env python3
"""Texts in families: near.py FAMILIES > pages.jsonl

Each family is a text of 600 made-up words and four copies, in which 1, 3, 8 and 20 words
were replaced.
"""

import json
import random
import sys

chance = random.Random(5)
word = lambda: f"w{chance.randrange(100_000)}"
for family in range(int(sys.argv[1])):
    text = [word() for _ in range(600)]
    for copy, changes in enumerate([0, 1, 3, 8, 20]):
        words = list(text)
        for at in chance.sample(range(len(words)), changes):
            words[at] = word()
        print(json.dumps({"id": f"p{family}-{copy}", "text": " ".join(words)}))
