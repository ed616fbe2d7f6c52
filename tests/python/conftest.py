"""What the tests share: the program, the case table, and texts made of nothing."""

import json
import os
import pathlib
import random
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "crates/lookalike-testkit/cases.jsonl"


def run(*args, status=(0, 3)):
    """Runs the program that is the judge of every answer; gives its standard output."""
    command = [os.environ["LOOKALIKE"], *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in status, f"{command}: {done.returncode}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def cases():
    """The rows of the case table; a few have no text."""
    return [json.loads(line) for line in CASES.read_text().splitlines()]


def words(seed, count):
    """So many words, of so many there are that hardly ten in a row come twice."""
    draw = random.Random(seed)
    return [f"w{draw.randrange(100_000)}" for _ in range(count)]


def generated(count, seed=7):
    """Rows of which every third is an edited copy of an earlier one, by more or fewer words."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        if number % 3 == 2:
            text = draw.choice(rows)["text"].split()
            for _ in range(draw.choice([0, 1, 2, 4, 6, 8])):
                text[draw.randrange(len(text))] = f"e{draw.randrange(10**9)}"
        else:
            text = words(draw.randrange(10**9), draw.choice([30, 120, 400]))
        date = f"2026-01-{1 + draw.randrange(28):02d}"
        rows.append({"id": f"n{number}", "url": f"http://h{number % 17}.example/{number}", "date": date, "text": " ".join(text)})
    return rows


FIELDS = ("id", "url", "date", "text")


def arrow(rows, kind=None, chunks=1):
    """Rows as a table of pyarrow, the text in any type of strings."""
    columns = {name: [row.get(name) for row in rows] for name in FIELDS}
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    if kind is not None:
        place = table.column_names.index("text")
        text = table["text"]
        if pa.types.is_dictionary(kind):
            text = text.dictionary_encode().cast(kind)
        table = table.set_column(place, "text", text.cast(kind))
    if chunks > 1:
        size = max(1, -(-len(table) // chunks))
        table = pa.concat_tables([table.slice(at, size) for at in range(0, len(table), size)])
    return table


@pytest.fixture
def parquet(tmp_path):
    """Writes rows as a file for the program."""

    def write(rows, name="rows.parquet"):
        path = tmp_path / name
        pq.write_table(rows if isinstance(rows, pa.Table) else arrow(rows), path)
        return path

    return write
