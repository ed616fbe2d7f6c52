"""Tables: every library's, of every kind of string; the same rows as the program keeps."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import duckdb
import lookalike
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIELDS, arrow, generated, run, words

pytestmark = pytest.mark.filterwarnings("ignore::lookalike.RejectedWarning")

POLICIES = [
    {},
    {"resemblance": 0.9},
    {"resemblance": 0.3, "link": "star"},
    {"containment": 0.8},
    {"resemblance": 0.6, "verify": "none"},
    {"verify": "exact", "shingle": 3, "samples": 64},
]


def arguments(options):
    return [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), str(value))]


def split(options):
    recipe = {name: value for name, value in options.items() if name in ("shingle", "samples")}
    return recipe, {name: value for name, value in options.items() if name not in recipe}


def program_s_clusters(path, tmp_path, options):
    """The table of documents as `add` and `cluster` write it."""
    recipe, policy = split(options)
    collection, out = tmp_path / f"c{time.monotonic_ns()}", tmp_path / "clusters.parquet"
    run("add", collection, path, "--quiet", *arguments(recipe))
    run("cluster", collection, "-o", out, *arguments(policy))
    return pq.read_table(out)


def rows_of(table):
    """All values but the name of the input, of whatever can be made a table of pyarrow."""
    table = pa.table(table) if not isinstance(table, pa.Table) else table
    return table.drop_columns(["file"]).to_pylist()


@pytest.mark.parametrize("options", POLICIES)
@pytest.mark.parametrize("which", ["cases", "generated"])
def test_clusters_are_the_program_s_row_for_row(cases, parquet, tmp_path, options, which):
    rows = cases if which == "cases" else generated(1500)
    path = parquet(rows)
    wanted = program_s_clusters(path, tmp_path, options)
    found = lookalike.cluster(arrow(rows), **options)
    assert found.schema.names == wanted.schema.names
    assert rows_of(found) == rows_of(wanted)


@pytest.mark.parametrize("keep", ["first", "longest", "newest"])
@pytest.mark.parametrize("options", POLICIES)
@pytest.mark.parametrize("which", ["cases", "generated"])
def test_what_stays_is_what_the_program_keeps(cases, parquet, tmp_path, options, keep, which):
    rows = cases if which == "cases" else generated(1500)
    out = tmp_path / "out.parquet"
    told = run("dedup", parquet(rows), "-o", out, "--keep", keep, "--json", "--quiet", *arguments(options))
    report = {}
    found = lookalike.dedup(arrow(rows), keep=keep, report=report, **options)
    assert found.to_pylist() == pq.read_table(out).to_pylist()
    assert report == json.loads(told)


def test_annotation_is_the_program_s(cases, parquet, tmp_path):
    out = tmp_path / "out.parquet"
    run("dedup", parquet(cases, "table"), "-o", out, "--annotate", "--quiet", "--input-format", "parquet")
    found = lookalike.dedup(arrow(cases), annotate=True)
    wanted = pq.read_table(out)
    assert found.column_names == wanted.column_names
    for mine, its in zip(found.to_pylist(), wanted.to_pylist(), strict=True):
        # Documents without a name go by their place: a path there, `table` here.
        if str(its["lookalike_representative"]).endswith(tuple(f"/table:{n}" for n in range(len(cases)))):
            its["lookalike_representative"] = "table:" + its["lookalike_representative"].rsplit(":", 1)[1]
        assert mine == its
    for table in (pl.DataFrame(arrow(cases)), arrow(cases).to_pandas(), duckdb.sql("select 'a b' as text")):
        marked = lookalike.dedup(table, annotate=True)
        names = marked.columns if hasattr(marked, "columns") else marked.column_names
        assert "lookalike_cluster" in list(names)


def test_against_a_collection_goes_what_it_has(tmp_path, parquet):
    rows = generated(300)
    run("add", tmp_path / "c", parquet(rows[:150]), "--quiet")
    out = tmp_path / "out.parquet"
    run("dedup", parquet(rows[100:], "b.parquet"), "-o", out, "--against", tmp_path / "c", "--quiet")
    before = sorted(os.listdir(tmp_path))
    found = lookalike.dedup(arrow(rows[100:]), against=tmp_path / "c")
    assert found.to_pylist() == pq.read_table(out).to_pylist()
    assert lookalike.dedup(arrow(rows[100:]), against=lookalike.Collection.open(tmp_path / "c")).equals(found)
    assert sorted(os.listdir(tmp_path)) == before, "something was left behind"


KINDS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.large_string()),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("chunks", [1, 7])
def test_every_kind_of_string_and_chunk_gives_the_same(cases, kind, chunks):
    wanted = lookalike.cluster(arrow(cases)).to_pylist()
    assert lookalike.cluster(arrow(cases, kind, chunks)).to_pylist() == wanted
    table = arrow(cases, kind, chunks)
    stays = [row["doc"] for row in wanted]
    found = lookalike.dedup(table)
    assert found.schema == table.schema and 0 < len(found) < len(stays)


def test_tables_come_back_as_what_they_were(cases):
    table = arrow(cases).append_column("n", pa.array(range(len(cases))))
    wanted = lookalike.dedup(table)
    assert isinstance(wanted, pa.Table)
    stays = wanted["n"].to_pylist()

    batch = table.combine_chunks().to_batches()[0]
    assert lookalike.dedup(batch).equals(wanted) and isinstance(lookalike.cluster(batch), pa.Table)
    assert lookalike.dedup(batch, annotate=True).equals(lookalike.dedup(table, annotate=True))

    frame = pl.DataFrame(table)
    found = lookalike.dedup(frame)
    assert isinstance(found, pl.DataFrame) and found.schema == frame.schema
    assert found.equals(frame.filter(pl.col("n").is_in(stays)))
    assert isinstance(lookalike.cluster(frame), pl.DataFrame)

    frame = table.to_pandas().set_index("n")
    found = lookalike.dedup(frame)
    assert isinstance(found, pd.DataFrame) and list(found.index) == stays
    assert list(found.columns) == list(frame.columns)
    assert isinstance(lookalike.cluster(table.to_pandas()), pd.DataFrame)

    connection = duckdb.connect()
    found = lookalike.dedup(connection.from_arrow(table))
    assert isinstance(found, lookalike.Table) and len(found) == len(stays)
    assert [row[0] for row in connection.sql("select n from found").fetchall()] == stays
    assert pa.table(found).to_pylist() == wanted.to_pylist()
    assert pl.DataFrame(found).to_dicts() == wanted.to_pylist()

    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    assert pa.table(lookalike.dedup(reader)).equals(wanted.combine_chunks()) or pa.table(
        lookalike.dedup(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()))
    ).to_pylist() == wanted.to_pylist()


def test_other_columns_are_untouched():
    text = " ".join(words(1, 50))
    table = pa.table(
        {
            "tags": pa.array([["a"], None, []], pa.list_(pa.string())),
            "deep": pa.array([{"x": 1}, {"x": None}, None], pa.struct([("x", pa.int8())])),
            "text": [text, text.upper(), "quite another"],
            "kind": pa.array(["u", "v", "u"]).dictionary_encode(),
        }
    )
    assert lookalike.dedup(table).equals(table.take([0, 2]))
    found = lookalike.dedup(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()))
    assert pa.table(found).to_pylist() == table.take([0, 2]).to_pylist()


def test_fields_are_reached_by_dots_and_by_other_names():
    text = " ".join(words(1, 50))
    table = pa.table({"meta": [{"body": text, "key": 7}, {"body": text + "!", "key": 8}]})
    found = lookalike.cluster(table, text="meta.body", id="meta.key")
    assert found["id"].to_pylist() == ["7", "8"] and found["cluster"].to_pylist() == [0, 0]


def test_features_are_a_column_of_lists():
    table = pa.table({"features": [["a", "b", "c"], ["c", "b", "a"], ["x", "y"]]})
    assert lookalike.dedup(table, token="feature").to_pylist() == table.take([0, 2]).to_pylist()


def test_threads_memory_and_scratch_change_nothing(cases, tmp_path):
    wanted = lookalike.cluster(arrow(cases)).to_pylist()
    for threads in (1, 2, 5):
        found = lookalike.cluster(arrow(cases), threads=threads, memory=16 << 20, scratch=tmp_path)
        assert found.to_pylist() == wanted
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("call", [lookalike.dedup, lookalike.cluster])
@pytest.mark.parametrize(
    "table, options, kind, words",
    [
        (pa.table({"a": ["x"], "b": [1]}), {}, lookalike.ColumnError, "it has no column `text`, only a, b"),
        (pa.table({"text": ["x"]}), {"text": "body"}, lookalike.ColumnError, "it has no column `body`, only text"),
        (pa.table({"text": [1, 2]}), {}, lookalike.KindError, "its column `text` holds Int64, not text"),
        (pa.table({"text": [["x"]]}), {}, lookalike.KindError, "its column `text` holds List"),
        (pa.table({"text": pa.nulls(3)}), {}, lookalike.KindError, "its column `text` holds Null, not text"),
        (pa.table({"text": pa.array([], pa.string())}), {}, lookalike.EmptyError, "there are no documents in the table"),
        (pa.table({"text": pa.nulls(3, pa.string())}), {}, lookalike.EmptyError, "there are no documents in the table: 3 missing text"),
        (pa.table({"text": ["", " ."]}), {}, lookalike.EmptyError, "there are no documents in the table: "),
        (pa.chunked_array([["x"]]), {}, lookalike.KindError, "a table has columns with names"),
        (pa.array(["x"]), {}, lookalike.KindError, "a table has columns with names"),
        (pl.Series(["x"]), {}, lookalike.KindError, "a table has columns with names"),
        ([1, 2], {}, lookalike.KindError, "a table must speak the Arrow C stream"),
        (pa.table({"text": ["x"]}), {"resemblance": 1.5}, lookalike.UsageError, "a threshold is above 0 and at most 1"),
        (pa.table({"text": ["x"]}), {"resemblance": float("nan")}, lookalike.UsageError, "a threshold is above 0"),
        (pa.table({"text": ["x"]}), {"link": "knot"}, lookalike.UsageError, "knot"),
        (pa.table({"text": ["x"]}), {"threads": 0}, lookalike.UsageError, "thread"),
        (pa.table({"text": ["x"]}), {"memory": 5}, lookalike.MachineError, "memory=5 is too little"),
        (pa.table({"text": ["x"]}), {"on_reject": "shout"}, lookalike.UsageError, "unknown on_reject `shout`"),
        (pa.table({"text": ["x"]}), {"scratch": "/dev/null/x"}, lookalike.MachineError, ""),
    ],
)
def test_bad_input_is_one_clear_exception(call, table, options, kind, words):
    with pytest.raises(kind) as raised:
        call(table, **options)
    assert words in str(raised.value)


@pytest.mark.parametrize("option", ["id", "url", "date"])
def test_a_column_that_is_named_must_be_there(option, tmp_path):
    rows = generated(4)
    wrong = {option: "misspelt"}
    for call in (lookalike.dedup, lookalike.cluster):
        with pytest.raises(KeyError, match="it has no column `misspelt`, only id, url, date, text"):
            call(arrow(rows), **wrong)
    pages = lookalike.Collection.create(tmp_path / "c")
    with pytest.raises(lookalike.ColumnError, match="it has no column `misspelt`"):
        pages.add(arrow(rows), **wrong)
    with pytest.raises(lookalike.ColumnError, match="no row has a field `misspelt`"):
        pages.add(rows, **wrong)
    with pytest.raises(lookalike.ColumnError, match="no row has a field `misspelt`"):
        pages.add(["a text"], **wrong)
    # One row that has it is enough, and the default names may be absent.
    assert pages.add([{"text": "one"}, {"text": "two", "misspelt": "2026-01-01"}], **wrong)["added"] == 2
    assert len(lookalike.dedup(arrow(rows).select(["text"]))) > 0


@pytest.mark.parametrize("dates", [None, [None, None], ["soon", "never"]])
def test_the_newest_of_rows_without_dates_is_told(dates):
    text = " ".join(words(1, 50))
    columns = {"n": [1, 2], "text": [text, text + "!"]}
    if dates:
        columns["date"] = pa.array(dates, pa.string())
    report = {}
    with pytest.warns(lookalike.UndatedWarning, match="no row has a date in `date`"):
        found = lookalike.dedup(pa.table(columns), keep="newest", report=report)
    assert found["n"].to_pylist() == [1] and report["undated"] is True
    columns["date"] = pa.array([None, "2026-01-01"], pa.string())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = {}
        assert lookalike.dedup(pa.table(columns), keep="newest", report=report)["n"].to_pylist() == [2]
        assert "undated" not in report


def test_exceptions_are_the_ones_python_has():
    with pytest.raises(KeyError):
        lookalike.dedup(pa.table({"a": ["x"]}))
    with pytest.raises(TypeError):
        lookalike.dedup(pa.table({"text": [1]}))
    with pytest.raises(TypeError):
        lookalike.dedup(pa.table({"text": ["x"]}), nonsense=1)
    with pytest.raises(ValueError, match="unknown keep `best`"):
        lookalike.dedup(pa.table({"text": ["x"]}), keep="best")
    with pytest.raises(ValueError, match="it has a field `lookalike_cluster` already"):
        lookalike.dedup(pa.table({"text": ["x"], "lookalike_cluster": [1]}), annotate=True)


def test_what_is_rejected_is_told():
    table = pa.table({"text": ["one text", None, "another", None]})
    with pytest.warns(lookalike.RejectedWarning, match="2 of 4 rows were rejected: 2 missing text"):
        assert len(lookalike.dedup(table)) == 2
    with pytest.raises(lookalike.RejectedError, match="2 of 4 rows"):
        lookalike.dedup(table, on_reject="raise")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(lookalike.dedup(table, on_reject="ignore")) == 2
        lookalike.dedup(table.drop_null())


def test_text_that_is_no_utf8_is_one_rejected_row():
    table = pa.table({"text": pa.array([b"fine words", b"\xff\xfe", b"other words"], pa.binary())})
    report = {}
    assert len(lookalike.dedup(table, report=report)) == 2
    assert report["rejected"] == {"not utf-8": 1}


def test_progress_is_told_by_phase():
    told = []
    rows = generated(3000)
    lookalike.dedup(arrow(rows), progress=lambda *what: told.append(what))
    phases = list(dict.fromkeys(phase for phase, _, _ in told))
    assert phases == [phase for phase in ("sketch", "copies", "sort", "pairs", "clusters") if phase in phases]
    assert phases[-1] == "clusters"
    done = [(done, of) for phase, done, of in told if phase == "sketch" and of is not None]
    assert done == sorted(done) and all(done <= of == 3000 for done, of in done)


def test_an_exception_of_the_callback_ends_the_work(tmp_path):
    class Enough(Exception):
        pass

    def progress(*_):
        raise Enough

    with pytest.raises(Enough):
        lookalike.dedup(arrow(generated(3000)), progress=progress, scratch=tmp_path)
    assert os.listdir(tmp_path) == []


INTERRUPTED = """
import os, signal, sys, threading, time
sys.path.insert(0, {tests!r})
import lookalike
from conftest import arrow, generated
table = arrow(generated(60000))
def interrupt(phase, done, of, sent=[]):
    if phase == {phase!r} and not sent:
        sent.append(1)
        os.kill(os.getpid(), signal.SIGINT)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("phase", ["sketch", "clusters"])
def test_ctrl_c_ends_the_work_and_leaves_nothing(tmp_path, phase):
    call = f"lookalike.dedup(table, progress=interrupt, scratch={str(tmp_path)!r})"
    code = INTERRUPTED.format(tests=os.path.dirname(__file__), phase=phase, call=call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "interrupted\n", done.stderr
    assert os.listdir(tmp_path) == []


def test_ctrl_c_leaves_no_half_collection(tmp_path):
    folder = tmp_path / "c"
    call = f"lookalike.Collection.create({str(folder)!r}).add(table, progress=interrupt)"
    code = INTERRUPTED.format(tests=os.path.dirname(__file__), phase="sketch", call=call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "interrupted\n", done.stderr
    with pytest.raises(lookalike.EmptyError, match="there is no collection"):
        lookalike.Collection.open(folder)


def test_other_threads_run_meanwhile():
    table = arrow(generated(20000))
    steps, is_over = 0, threading.Event()

    def work():
        lookalike.dedup(table, threads=1)
        is_over.set()

    thread = threading.Thread(target=work)
    thread.start()
    # Were the lock held, this thread would not come to its second step before the end.
    while not is_over.is_set():
        steps += 1
        time.sleep(0.001)
    thread.join()
    assert steps > 20


def test_two_tables_at_once_give_what_they_give_alone():
    tables = [arrow(generated(2000, seed)) for seed in range(4)]
    alone = [lookalike.dedup(table).to_pylist() for table in tables]
    together = [None] * len(tables)

    def work(number):
        together[number] = lookalike.dedup(tables[number]).to_pylist()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(tables))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
