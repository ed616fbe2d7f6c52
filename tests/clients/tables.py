"""Every table opens in pyarrow, DuckDB, Polars and pandas, and says the same in all formats."""

import csv
import datetime
import json
import math
import pathlib

import duckdb
import pandas
import polars
import pyarrow.parquet
import pyarrow.types as types
from warcio.archiveiterator import ArchiveIterator

from common import CRAWL, add, folder, lookalike

DOCUMENTS = """
    doc id url date file offset tokens shingles grade cluster cluster_size representative
    is_representative resemblance containment
""".split()
PAIRS = """
    a b id_a id_b url_a url_b common resemblance resemblance_low resemblance_high a_in_b b_in_a exact
""".split()
COLUMNS = {"documents": DOCUMENTS, "clusters": DOCUMENTS, "pairs": PAIRS}

# A WARC record has no id of the caller's, a document alone no grade of sameness, and an estimate
# that rests on no sample is absent, so is a true value that nobody looked up.
MAY_BE_NULL = set(
    "id id_a id_b grade resemblance resemblance_low resemblance_high containment a_in_b b_in_a exact".split()
)
WHOLE = set("doc offset tokens shingles cluster cluster_size representative a b common".split())
TRUTH = {"is_representative"}
FRACTION = set("resemblance resemblance_low resemblance_high containment a_in_b b_in_a exact".split())
GRADES = {"identical", "lexical", "shingle", "similar", "contained"}


def main():
    with folder() as work:
        work = pathlib.Path(work)
        collection = work / "crawl"
        reports = [add(collection, sweep) for sweep in CRAWL]
        assert all(report["rejected"] == {} for report in reports), reports
        tables = {name: check_table(collection, work, name) for name in COLUMNS}
        check_documents(tables["documents"])
        check_clusters(tables["clusters"])
        check_pairs(tables["pairs"], tables["documents"])
        rows = ", ".join(f"{len(rows)} {name}" for name, rows in tables.items())
        print(f"tables: {rows}; pyarrow, DuckDB, Polars and pandas agree, so do JSONL and CSV")


def check_table(collection, work, name):
    """Exports one table in three formats, opens it with every client; gives its rows."""
    paths = {suffix: work / f"{name}.{suffix}" for suffix in ("parquet", "jsonl", "csv")}
    for path in paths.values():
        lookalike("export", collection, name, "-o", path)
    columns = COLUMNS[name]
    table = pyarrow.parquet.read_table(paths["parquet"])
    check_schema(name, table)
    rows = normal(table.to_pylist())
    assert rows, f"{name} is empty"

    frame = polars.read_parquet(paths["parquet"])
    same(f"{name} in Polars", columns, rows, frame.columns, normal(frame.to_dicts()))
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        found = database.sql(f"SELECT * FROM read_parquet('{paths['parquet']}')")
        same(f"{name} in DuckDB", columns, rows, found.columns, normal(found.to_arrow_table().to_pylist()))
    frame = pandas.read_parquet(paths["parquet"])
    assert list(frame.columns) == columns and len(frame) == len(rows), f"{name} in pandas"

    lines = [json.loads(line) for line in paths["jsonl"].read_text().splitlines()]
    order = [key for key in columns if any(key in line for line in lines)]
    assert all(list(line) == [key for key in order if key in line] for line in lines), f"{name}: order of keys"
    same(f"{name} as JSONL", columns, rows, columns, normal([{**dict.fromkeys(columns), **line} for line in lines]))
    with open(paths["csv"], newline="") as file:
        reader = csv.DictReader(file)
        same(f"{name} as CSV", columns, rows, reader.fieldnames, normal(list(reader)))
    return rows


def check_schema(name, table):
    assert table.column_names == COLUMNS[name], f"{name}: columns are {table.column_names}"
    for field in table.schema:
        where = f"{name}.{field.name} is {field.type}"
        if field.name in WHOLE:
            assert types.is_integer(field.type), where
        if field.name in TRUTH:
            assert types.is_boolean(field.type), where
        if field.name in FRACTION:
            assert types.is_floating(field.type), where
        if field.name not in MAY_BE_NULL:
            assert table[field.name].null_count == 0, f"{name}.{field.name} has nulls"


def normal(rows):
    """Rows whose values compare equal whatever client or format gave them."""
    return [{key: value_of(key, value) for key, value in row.items()} for row in rows]


def value_of(key, value):
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if key in TRUTH:
        return {"true": True, "false": False}[str(value).lower()]
    if key in WHOLE:
        return int(value)
    if key in FRACTION:
        return round(float(value), 6)
    if key == "date":
        return moment(value)
    return str(value)


def moment(value):
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value)
    if not isinstance(value, datetime.datetime):
        return value
    utc = datetime.timezone.utc
    return value.replace(tzinfo=utc) if value.tzinfo is None else value.astimezone(utc)


def same(what, columns, rows, other_columns, other_rows):
    assert list(other_columns) == columns, f"{what}: columns are {other_columns}"
    assert len(other_rows) == len(rows), f"{what}: {len(other_rows)} rows, not {len(rows)}"
    for at, (row, other) in enumerate(zip(rows, other_rows)):
        assert row == other, f"{what}: row {at} is\n{other}, not\n{row}"


def check_documents(rows):
    """Every page that was served is there, and its place leads to its record."""
    served = set()
    for sweep in CRAWL:
        with open(sweep, "rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type == "response" and record.http_headers.get_statuscode() == "200":
                    served.add(record.rec_headers["WARC-Target-URI"])
    assert served == {row["url"] for row in rows}
    assert len({row["doc"] for row in rows}) == len(rows), "a doc is there twice"
    for row in rows[:: max(1, len(rows) // 20)]:
        with open(row["file"], "rb") as file:
            file.seek(row["offset"])
            record = next(iter(ArchiveIterator(file)))
            assert record.rec_headers["WARC-Target-URI"] == row["url"], row


def check_clusters(rows):
    clusters = {}
    for row in rows:
        clusters.setdefault(row["cluster"], []).append(row)
    for members in clusters.values():
        heads = [row["doc"] for row in members if row["is_representative"]]
        assert len(heads) == 1, f"{len(heads)} representatives: {members}"
        assert all(row["cluster_size"] == len(members) for row in members), members
        assert all(row["representative"] == heads[0] for row in members), members
    grades = {row["grade"] for row in rows if row["cluster_size"] > 1}
    assert "identical" in grades and grades - {None} <= GRADES, grades

    # The mirror serves the same bytes; a page that moved is still the same page.
    def together(a, b):
        of_a, of_b = ({row["cluster"] for row in rows if row["url"] == url} for url in (a, b))
        return bool(of_a & of_b)

    docs = "https://docs.example.org/current/"
    assert together(docs + "tutorial-arch.html", "https://mirror.example.org/docs/tutorial-arch.html")
    assert together(docs + "auth-password.html", docs + "password-authentication.html")
    assert together(docs + "backup-file.html", "https://handbook.example.org/backup/file-system.html")
    assert not together(docs + "tutorial-arch.html", docs + "gin.html")


def check_pairs(rows, documents):
    url = {row["doc"]: row["url"] for row in documents}
    for row in rows:
        assert row["a"] != row["b"] and url[row["a"]] == row["url_a"] and url[row["b"]] == row["url_b"], row
        if row["resemblance"] is not None:
            assert row["resemblance_low"] <= row["resemblance"] <= row["resemblance_high"], row
    assert len({frozenset((row["a"], row["b"])) for row in rows}) == len(rows), "a pair is there twice"


main()
