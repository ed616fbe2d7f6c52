"""What the client tests share: the program under test, and its promise about counts."""

import json
import os
import pathlib
import random
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRAWL = sorted((ROOT / "demo" / "crawl").glob("*.warc.gz"))
LOOKALIKE = pathlib.Path(os.environ.get("LOOKALIKE", ROOT / "target/release/lookalike")).resolve()

# The contract for `add --json`: these fields are there, more may be.
ADD_FIELDS = """
    read added skipped rejected identical lexical shingle distinct pairs seconds peak_memory scratch
""".split()


def lookalike(*args, status=(0,)):
    """Runs the program; gives its standard output. Any other exit status fails the test."""
    command = [str(LOOKALIKE), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode not in status:
        raise AssertionError(
            f"$ {' '.join(command)}\nexit status {done.returncode}, expected {status}\n{done.stderr[-4000:]}"
        )
    return done.stdout


def add(collection, *inputs, status=(0,)):
    """`add --json`; gives the report, once its counts add up."""
    report = json.loads(lookalike("add", collection, *inputs, "--json", status=status))
    missing = [field for field in ADD_FIELDS if field not in report]
    assert not missing, f"the report of add has no {missing}"
    total = report["added"] + sum(report["skipped"].values()) + sum(report["rejected"].values())
    assert report["read"] == total, f"read = added + skipped + rejected does not hold: {report}"
    return report


def folder():
    """A folder that goes when the test ends."""
    return tempfile.TemporaryDirectory(prefix="lookalike-clients-")


def words(seed, count):
    """`count` words drawn by `seed`: two seeds share no run of ten."""
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(count)]


def edited(text, places):
    """The same words, another one at each of `places`: each costs ten shingles."""
    return ["changed" if at in places else word for at, word in enumerate(text)]
