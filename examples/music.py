#!/usr/bin/env python3
"""Tunes in ABC notation as features: the same tune in another key or tempo.

    music.py FILE… > tunes.jsonl

Of each tune (X: begins one) the notes become steps: by how many semitones the next one is
higher, and whether it is longer or shorter. Key and unit length do not count then, nor do
bars, chords and words. One line of JSON a tune.
"""

import json
import re
import sys

SEMITONES = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
# The sharps of a key's signature, in the order they come; flats come the other way round.
SHARPS = "FCGDAEB"
KEYS = {"C": 0, "G": 1, "D": 2, "A": 3, "E": 4, "B": 5, "F": -1, "Bb": -2, "Eb": -3, "Ab": -4}
NOTE = re.compile(r"([_^=]?)([A-Ga-g])([,']*)(\d*)(/?)(\d*)")


def steps(body, key):
    count = KEYS[key]
    changed = {name: 1 for name in SHARPS[:count]} if count > 0 else {
        name: -1 for name in SHARPS[count:]
    }
    notes = []
    for sign, name, octave, times, slash, part in NOTE.findall(body):
        pitch = SEMITONES[name.upper()] + 12 * name.islower()
        pitch += 12 * (octave.count("'") - octave.count(","))
        pitch += {"^": 1, "_": -1, "=": 0}.get(sign, changed.get(name.upper(), 0))
        length = int(times or 1) / (int(part or 2) if slash else 1)
        notes.append((pitch, length))
    for (low, short), (high, long) in zip(notes, notes[1:]):
        ratio = "=" if long == short else "+" if long > short else "-"
        yield f"{high - low:+d}{ratio}"


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for tune in re.split(r"^X:", file.read(), flags=re.M)[1:]:
            title = re.search(r"^T:\s*(.*)$", tune, re.M).group(1)
            key = re.search(r"^K:\s*([A-G]b?)", tune, re.M).group(1)
            body = "\n".join(re.findall(r"^(?![A-Za-z]:|%|\s*\d+\s*$).*$", tune, re.M))
            body = re.sub(r'"[^"]*"|![^!]*!', "", body)
            print(json.dumps({"id": title, "features": list(steps(body, key))}))
