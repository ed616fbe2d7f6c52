"""Collections: the program's own folders, made and asked from Python."""

import datetime
import json

import lookalike
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import arrow, generated, run, words

pytestmark = pytest.mark.filterwarnings("ignore::lookalike.RejectedWarning")


def export(folder, table, tmp_path):
    out = tmp_path / f"{table}.parquet"
    run("export", folder, table, "-o", out)
    return pq.read_table(out).to_pylist()


def test_a_sweep_in_memory_is_a_sweep_of_the_same_file(cases, parquet, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    rows = generated(600)
    pages = lookalike.Collection.create(ours)
    for number, sweep in enumerate([cases, rows[:400], rows[300:]]):
        report = pages.add(pl.DataFrame(arrow(sweep)), sweep_date=f"2026-0{number + 1}-01")
        path = parquet(sweep, "table")
        told = json.loads(run("add", theirs, path, "--json", "--quiet", "--date", f"2026-0{number + 1}-01", "--input-format", "parquet"))
        assert all(told[name] == value for name, value in report.items())
    for name, found in [("documents", pages.documents()), ("pairs", pages.pairs()), ("quality", pages.clusters())]:
        wanted = export(theirs, name, tmp_path)
        found = pa.table(found).to_pylist()
        for row in found + wanted:
            row.pop("file", None)
        assert found == wanted, name
        assert len(found) == len(export(ours, name, tmp_path))
    assert json.loads(run("verify", ours, "--json", "--quiet"))
    assert len(pages) == len(found) or len(pages) == pages.documents().num_rows


def test_dictionaries_and_strings_are_rows(cases, tmp_path):
    one = lookalike.Collection.create(tmp_path / "one")
    other = lookalike.Collection.create(tmp_path / "other")
    assert one.add(iter(cases)) == other.add(arrow(cases))
    assert pa.table(one.documents()).to_pylist() == pa.table(other.documents()).to_pylist()
    texts = lookalike.Collection.create(tmp_path / "texts")
    assert texts.add(row["text"] for row in generated(10))["added"] == 10
    assert pa.table(texts.documents())["id"].null_count == 10


def test_dates_of_any_kind(tmp_path):
    pages = lookalike.Collection.create(tmp_path / "c")
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    rows = [moment, datetime.date(2026, 1, 2), "2026-01-02T03:04:05Z", "never", None]
    report = pages.add([{"text": f"text number {n}", "date": date} for n, date in enumerate(rows)])
    found = pa.table(pages.documents())["date"].to_pylist()
    assert found == [moment, moment.replace(hour=0, minute=0, second=0), moment, None, None]
    assert report["dates_unreadable"] == 1


def test_find_and_where_tell_what_the_program_tells(parquet, tmp_path):
    rows, folder = generated(400), tmp_path / "c"
    pages = lookalike.Collection.create(folder)
    pages.add_files(parquet(rows[:200], "a.parquet"), sweep_date="2026-01-01")
    pages.add_files(parquet(rows[200:], "b.parquet"), sweep_date="2026-02-01")
    for row in rows[2:60:3]:
        (tmp_path / "q").write_text(row["text"])
        for options in ({}, {"top": 3, "min_containment": 0.3}, {"min_resemblance": 0.9}, {"exact": True}):
            words = []
            for name, value in options.items():
                words += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
            told = [json.loads(line) for line in run("find", folder, tmp_path / "q", "--json", "--quiet", *words, status=(0, 1)).splitlines()]
            for match in told:
                del match["query"]
            assert pages.find(row["text"], **options) == told
        told = [json.loads(line) for line in run("find", folder, "--url", row["url"], "--json", "--quiet").splitlines()]
        assert pages.find(url=row["url"]) == [{k: v for k, v in match.items() if k != "query"} for match in told]
        assert pages.where(row["url"]) == json.loads(run("where", folder, row["url"], "--json", status=(0, 1)))
    assert pages.where("http://nowhere.example/")["status"] == "unknown"


def test_clusterings_live_side_by_side(tmp_path, parquet):
    rows, folder = generated(300), tmp_path / "c"
    pages = lookalike.Collection.create(folder)
    pages.add_files(parquet(rows))
    told = pages.cluster(0.9, link="star")
    assert told == json.loads(run("cluster", folder, "--resemblance", "0.9", "--link", "star", "--json"))
    strict, loose = pages.documents(policy=told["policy"]), pages.documents()
    size = lambda table: max(pa.table(table)["cluster_size"].to_pylist())
    assert size(strict) <= size(loose)
    with pytest.raises(lookalike.NotFoundError):
        pages.documents(policy="none of these")


def test_text_that_was_in_memory_is_kept_when_asked(tmp_path):
    rows = generated(200)
    for keep in (False, True):
        pages = lookalike.Collection.create(tmp_path / f"c{keep}")
        pages.add(arrow(rows), keep_text=keep)
        # Near pairs were decided on true values while the rows were there.
        assert pages.cluster()["by_estimate"] == 0
        again = pages.cluster(0.55, verify="exact")
        assert (again["by_estimate"] == 0) == keep


def test_what_stands_in_the_way_is_told(tmp_path):
    text = " ".join(words(1, 40))
    folder = tmp_path / "c"
    pages = lookalike.Collection.create(folder)
    with pytest.raises(lookalike.EmptyError, match="there is no collection"):
        pages.find(text)
    with pytest.raises(lookalike.EmptyError, match="there are no documents in the table"):
        pages.add([])
    assert not folder.exists() and len(pages) == 0
    pages.add([text])
    with pytest.raises(TypeError, match="Collection.open"):
        lookalike.Collection(str(folder))
    assert pages.path == folder
    with pytest.raises(lookalike.UsageError, match="there is a collection .* already"):
        lookalike.Collection.create(folder)
    with pytest.raises(lookalike.KindError, match="row 1: `text` must be a string, and is int"):
        pages.add([{"text": "x"}, {"text": 7}])
    with pytest.raises(lookalike.KindError, match="put a single one into a list"):
        pages.add("one text")
    with pytest.raises(lookalike.UsageError, match="a date is written"):
        pages.add([text], sweep_date="soon")
    with pytest.raises(lookalike.EmptyError):
        pages.find("...")
    with pytest.raises(lookalike.NotFoundError, match="there is no document `gone`"):
        pages.find(url="gone")
    for top in (0, -1, 2**70, "3", 1.5):
        with pytest.raises(lookalike.UsageError, match="`top` is a whole number from 1"):
            pages.find(text, top=top)
        with pytest.raises(lookalike.UsageError, match="`top` is a whole number from 1"):
            pages.find(url="http://a.example/", top=top)
    for asked in ({}, {"text": text, "url": "http://a.example/"}):
        with pytest.raises(lookalike.UsageError, match="give one of the two"):
            pages.find(**asked)
    secret = lookalike.Collection.create(tmp_path / "s", key=b"k" * 32)
    secret.add([text])
    with pytest.raises(lookalike.UsageError, match="cannot use collection .* give the same one with key="):
        lookalike.Collection.open(tmp_path / "s")
    assert lookalike.Collection.open(tmp_path / "s", key=b"k" * 32).find(text)[0]["doc"] == 0


def test_nothing_is_added_when_a_rejected_row_is_raised(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "some words"}\n{"text": 7}\n')
    pages = lookalike.Collection.create(tmp_path / "c")
    for count in (0, 1):
        with pytest.raises(lookalike.RejectedError, match="1 of 2 rows were rejected: 1 missing text") as raised:
            pages.add([{"text": "another"}, {"id": "without"}], on_reject="raise")
        assert raised.value.hint.startswith("nothing was added")
        assert len(pages) == count
        with pytest.raises(lookalike.RejectedError, match="1 of 2 rows"):
            pages.add_files(path, on_reject="raise")
        assert len(pages) == count
        if count == 0:
            pages.add(["the first"], on_reject="raise")
    assert pages.add_files(path)["added"] == 1 and len(pages) == 2


@pytest.mark.parametrize("last", ["sketch", "clusters"])
def test_nothing_is_added_when_the_callback_raises(tmp_path, last):
    def progress(phase, *_):
        if phase == last:
            raise ZeroDivisionError

    pages = lookalike.Collection.create(tmp_path / "c")
    for _ in range(20):
        with pytest.raises(ZeroDivisionError):
            pages.add(["a text", "another"], progress=progress)
        assert len(pages) == 0
    told = []
    pages.add(["a text", "another"], progress=lambda *what: told.append(what[0]))
    assert len(pages) == 2 and told[-1] == "clusters"
    for _ in range(20):
        with pytest.raises(ZeroDivisionError):
            pages.add(["one more"], progress=progress)
        assert len(pages) == 2


def test_a_second_writer_waits_for_nobody(tmp_path):
    pages = lookalike.Collection.create(tmp_path / "c")
    pages.add(["a text"])
    raised = []

    def progress(*_):
        try:
            lookalike.Collection.open(tmp_path / "c").add(["another"])
        except lookalike.Error as error:
            raised.append(error)

    pages.add(arrow(generated(20000)), progress=progress)
    assert raised and all(isinstance(error, lookalike.LockedError) for error in raised)
    assert "another writer holds" in str(raised[0])


def test_damage_is_an_error_never_an_answer(tmp_path):
    pages = lookalike.Collection.create(tmp_path / "c")
    pages.add(arrow(generated(50)))
    for path in (tmp_path / "c").glob("sweep-*"):
        path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(lookalike.DamagedError):
        lookalike.Collection.open(tmp_path / "c").find("some words")
