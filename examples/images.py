#!/usr/bin/env python3
"""Images as features: which show the same, resized, darkened or slightly cropped?

    images.py FILE.pgm… > images.jsonl      features of greyscale images
    images.py --make FOLDER                 some images to try, with copies of each

An image is brought to 17 × 17 cells. A feature says of two cells side by side, or one above
the other, which is brighter: 16 · 17 · 2 of them, which stay when all of it becomes smaller,
darker or noisier, and mostly when its edges go.
"""

import json
import pathlib
import random
import sys

CELLS = 17


def read(path):
    """Width, height and rows of a binary PGM."""
    magic, width, height, most, data = pathlib.Path(path).read_bytes().split(maxsplit=4)
    assert magic == b"P5" and most == b"255", path
    width, height = int(width), int(height)
    return [data[y * width : (y + 1) * width] for y in range(height)]


def write(path, rows):
    head = f"P5 {len(rows[0])} {len(rows)} 255\n".encode()
    path.write_bytes(head + b"".join(bytes(row) for row in rows))


def cells(rows):
    """The mean brightness of each cell."""
    height, width = len(rows), len(rows[0])
    edges = lambda size: [i * size // CELLS for i in range(CELLS + 1)]
    ys, xs = edges(height), edges(width)
    mean = lambda part: sum(map(sum, part)) / (len(part) * len(part[0]))
    return [
        [mean([row[xs[i] : xs[i + 1]] for row in rows[ys[j] : ys[j + 1]]]) for i in range(CELLS)]
        for j in range(CELLS)
    ]


def features(rows):
    grid = cells(rows)
    for y in range(CELLS):
        for x in range(CELLS - 1):
            yield f"{x},{y}{'<' if grid[y][x] < grid[y][x + 1] else '>'}"
            yield f"{y},{x}{'^' if grid[x][y] < grid[x + 1][y] else 'v'}"


def resized(rows, width, height):
    from_y, from_x = len(rows) / height, len(rows[0]) / width
    return [[rows[int(y * from_y)][int(x * from_x)] for x in range(width)] for y in range(height)]


def picture(seed):
    """Spots of light on a slope."""
    chance = random.Random(seed)
    spots = [(chance.randrange(160), chance.randrange(120), chance.randrange(8, 30)) for _ in range(14)]
    slope = chance.uniform(-0.4, 0.4)

    def light(x, y):
        spot = sum(r * r * 60 / ((x - a) ** 2 + (y - b) ** 2 + r * r) for a, b, r in spots)
        return max(0, min(255, int(40 + slope * x + spot)))

    return [[light(x, y) for x in range(160)] for y in range(120)]


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(6):
        rows = picture(seed)
        chance = random.Random(100 + seed)
        noisy = [[max(0, min(255, p + chance.randrange(-12, 13))) for p in row] for row in rows]
        write(folder / f"{seed}.pgm", rows)
        write(folder / f"{seed}-small.pgm", resized(rows, 96, 72))
        write(folder / f"{seed}-dark.pgm", [[p * 3 // 5 for p in row] for row in rows])
        write(folder / f"{seed}-noisy.pgm", noisy)
        write(folder / f"{seed}-cropped.pgm", [row[3:-3] for row in rows[3:-3]])


if sys.argv[1] == "--make":
    make(pathlib.Path(sys.argv[2]))
else:
    for path in sys.argv[1:]:
        line = {"id": pathlib.Path(path).stem, "features": list(features(read(path)))}
        print(json.dumps(line))
