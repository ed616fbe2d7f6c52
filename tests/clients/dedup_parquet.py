"""`dedup` keeps names, schema and values of shards that pyarrow wrote, and says what it removed."""

import datetime
import decimal
import gzip
import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

from common import edited, folder, lookalike, words

ROWS = 120
SHARDS = ["a.parquet", "b.parquet", "c.jsonl.gz", "d.jsonl.gz"]
# Number of a document to the earlier one it repeats: within a shard, between shards, between
# formats. Those in NEAR differ from it in one word of 400.
COPY_OF = {7: 3, 130: 5, 131: 130, 250: 8, 260: 245, 400: 9, 401: 300, 402: 255}
NEAR = {130, 260, 402}

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("text", pa.large_string()),
        pa.field("url", pa.string()),
        pa.field("score", pa.float32()),
        pa.field("price", pa.decimal128(12, 3)),
        pa.field("seen", pa.timestamp("us", tz="UTC")),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("meta", pa.struct([("lang", pa.dictionary(pa.int32(), pa.string())), ("n", pa.int64())])),
        pa.field("raw", pa.binary(), metadata={"unit": "bytes"}),
    ],
    metadata={"made by": "a test"},
)


def main():
    with folder() as work:
        work = pathlib.Path(work)
        shards, out = work / "in", work / "out"
        shards.mkdir()
        for shard, name in enumerate(SHARDS):
            write(shards / name, range(shard * ROWS, (shard + 1) * ROWS))
        inputs = [shards / name for name in SHARDS]
        report = json.loads(lookalike("dedup", *inputs, "-o", out, "--keep", "first", "--json"))

        names = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
        assert names == SHARDS, f"shards are {names}"
        removed = sum(check(shard, name, shards, out) for shard, name in enumerate(SHARDS))
        assert removed == len(COPY_OF)
        assert report["read"] == ROWS * len(SHARDS), report
        assert report["removed"] == removed and report["kept"] == report["read"] - removed, report
        print(f"dedup: {removed} of {report['read']} documents removed, the rest as pyarrow wrote it")


def text(number):
    if number not in COPY_OF:
        return " ".join(words(number, 400))
    source = text(COPY_OF[number])
    return " ".join(edited(source.split(), {number % 400})) if number in NEAR else source


def row(number):
    """A document with a value of every kind, every third one with nulls."""
    full = number % 3 != 0
    return {
        "id": f"document {number}",
        "text": text(number),
        "url": f"https://example.org/{number}" if full else None,
        "score": number / 7,
        "price": decimal.Decimal(number).scaleb(-3) if full else None,
        "seen": datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(microseconds=number),
        "tags": [f"t{number % 5}", None, "ü"] if full else [],
        "meta": {"lang": "en" if number % 2 else "de", "n": number} if full else None,
        "raw": bytes([number % 256, 0, 255]),
    }


def line(number):
    """A line no JSON writer would give back as it stands."""
    return (
        f'{{ "n": {number}.50e0,"text" : {json.dumps(text(number))},\t"id":"document {number}", '
        f'"big": 12345678901234567890123, "u": "\\u00fc\\/", "again": 1, "again": 2 }}\n'
    ).encode()


def write(path, numbers):
    if path.suffix == ".parquet":
        table = pa.Table.from_pylist([row(number) for number in numbers], schema=SCHEMA)
        pq.write_table(table, path, row_group_size=50, compression="zstd")
    else:
        path.write_bytes(gzip.compress(b"".join(map(line, numbers)), mtime=0))


def check(shard, name, before, after):
    """One shard holds the rows it should, untouched; gives how many were removed."""
    numbers = range(shard * ROWS, (shard + 1) * ROWS)
    kept = [number for number in numbers if number not in COPY_OF]
    if name.endswith(".parquet"):
        old, new = pq.read_table(before / name), pq.read_table(after / name)
        assert new.schema.equals(old.schema, check_metadata=True), f"{name}: the schema is\n{new.schema}"
        places = pa.array([number - numbers[0] for number in kept])
        found, expected = new["id"].to_pylist(), old["id"].take(places).to_pylist()
        assert found == expected, f"{name}: not removed {set(found) - set(expected)}, lost {set(expected) - set(found)}"
        assert new.to_pylist() == old.take(places).to_pylist(), f"{name}: a value changed"
    else:
        lines = gzip.decompress((after / name).read_bytes()).splitlines(keepends=True)
        assert lines == list(map(line, kept)), f"{name}: lines are not those that were written"
    return len(numbers) - len(kept)


main()
