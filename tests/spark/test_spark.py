"""The job on Spark makes the bytes that the command line makes."""

import gzip
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from conftest import CASES, SPARK, generated, run, workers
from pyspark.sql import SparkSession

import lookalike
from lookalike import spark


def files(folder):
    """All bytes of a collection."""
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}


def assert_same(one, other):
    one, other = files(one), files(other)
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


def shards(folder, lines, count):
    folder.mkdir()
    for number in range(count):
        part = lines[number * len(lines) // count : (number + 1) * len(lines) // count]
        (folder / f"{number:03d}.jsonl").write_text("".join(part))
    return folder


def checksum(path):
    """Of every row of a table, in order."""
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(pq.read_table(path), sink)
    return hashlib.sha256(sink.getvalue()).hexdigest()


@pytest.mark.parametrize("parts", [1, 3, 8])
def test_the_case_table_in_any_parts(session, tmp_path, parts):
    inputs = shards(tmp_path / "in", CASES.read_text().splitlines(keepends=True), parts)
    run("add", tmp_path / "engine", inputs, "-q")
    report = spark.add(
        [inputs], collection=tmp_path / "spark", out=tmp_path / "out", work=str(tmp_path / "work"), spark=session
    )
    assert report["added"] > 0
    assert_same(tmp_path / "engine", tmp_path / "spark")
    for name in ("documents", "pairs", "clusters"):
        run("export", tmp_path / "engine", name, "-o", tmp_path / f"{name}.parquet")
        ours = pq.read_table(tmp_path / "out" / f"{name}.parquet")
        theirs = pq.read_table(tmp_path / f"{name}.parquet")
        assert ours.to_pylist() == theirs.to_pylist(), name


@pytest.mark.parametrize("options", [
    {"sketch": "mod:25"},
    {"sketch": "min:100"},
    {"sketch": "perm:84"},
    {"shingle": 3, "keep_case": True},
])
def test_every_recipe(session, tmp_path, options):
    lines = [json.dumps({"id": f"n{i}", "text": text}) + "\n" for i, text in enumerate(generated(600))]
    inputs = shards(tmp_path / "in", lines, 3)
    flags = []
    for name, value in options.items():
        flags += [f"--{name.replace('_', '-')}"] + ([] if value is True else [value])
    run("add", tmp_path / "engine", inputs, "-q", *flags)
    spark.add([inputs], collection=tmp_path / "spark", work=str(tmp_path / "work"), spark=session, **options)
    assert_same(tmp_path / "engine", tmp_path / "spark")


@pytest.mark.parametrize("options", [
    {"link": "star", "resemblance": 0.45},
    {"verify": "exact"},
    {"verify": "none", "containment": 0.8},
])
def test_every_policy(session, tmp_path, options):
    rows = [(f"n{i:05d}", text) for i, text in enumerate(generated(600))]
    table = pa.table({"id": [id for id, _ in rows], "text": [text for _, text in rows]})
    wanted = lookalike.cluster(table, **options).drop_columns(["file", "offset"]).to_pylist()
    df = session.createDataFrame(rows, "id string, text string").repartition(3)
    found = spark.cluster(df, work=str(tmp_path), **options).drop("file", "offset").collect()
    assert sorted((row.asDict() for row in found), key=lambda row: row["doc"]) == wanted


def edited(count):
    """Texts longer than a sketch, every second with so many other words that it is near a
    threshold of 0.5 or 0.8."""
    draw = random.Random(3)
    for number in range(count):
        if number % 2 == 0:
            text = [f"w{draw.randrange(100_000)}" for _ in range(600)]
        else:
            for _ in range(draw.choice([5, 6, 7, 18, 20, 22])):
                text[draw.randrange(len(text))] = f"e{draw.randrange(10**9)}"
        yield f"n{number:05d}", " ".join(text)


def test_one_policy_after_another(session, tmp_path):
    rows = list(edited(160))
    df = session.createDataFrame(rows, "id string, text string").repartition(2)
    table = pa.table({"id": [id for id, _ in rows], "text": [text for _, text in rows]})
    told = lambda rows: {(row["id"], row["cluster"], row["resemblance"]) for row in rows}
    first = None
    for options in ({"resemblance": 0.8}, {"resemblance": 0.5}, {"resemblance": 0.5, "link": "star"}):
        found = spark.cluster(df, work=str(tmp_path), **options)
        assert told(found.collect()) == told(lookalike.cluster(table, **options).to_pylist()), options
        first = first or (found, told(found.collect()))
    assert len(list(tmp_path.glob("frame-*/job-*/sketch"))) == 1
    # What was returned stays what it was.
    assert told(first[0].collect()) == first[1]


def test_a_secret_recipe_has_tables(session, tmp_path):
    rows = list(edited(20))
    df = session.createDataFrame(rows, "id string, text string")
    key = bytes(range(32))
    found = spark.cluster(df, work=str(tmp_path / "work"), key=key).collect()
    table = pa.table({"id": [id for id, _ in rows], "text": [text for _, text in rows]})
    wanted = lookalike.cluster(table, key=key).to_pylist()
    assert {(row["id"], row["cluster"]) for row in found} == {(row["id"], row["cluster"]) for row in wanted}


def test_an_object_that_changed_is_read_again(session, tmp_path):
    path = tmp_path / "a.jsonl"
    told = []
    for number, other in enumerate(("rose", "mary")):
        rows = [("a", "a rose is a rose"), ("b", f"a {other} is a {other}")]
        path.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in rows))
        os.utime(path, ns=(number, number))
        out = tmp_path / f"out-{number}"
        spark.add([path.as_uri()], out=out, work=str(tmp_path / "work"), spark=session)
        told.append(pq.read_table(out / "clusters.parquet")["cluster"].to_pylist())
    assert told == [[0, 0], [0, 1]]


def test_every_kind_of_input(session, tmp_path):
    inputs = tmp_path / "in"
    inputs.mkdir()
    texts = generated(200)
    (inputs / "a.txt").write_text(texts[0])
    (inputs / "b.html").write_text(f"<p>{texts[2]}</p>")
    table = {"id": [f"p{i}" for i in range(100)], "text": texts[:100]}
    pq.write_table(pa.table(table), inputs / "c.parquet", row_group_size=7)
    rows = "".join(json.dumps({"url": f"http://a.example/{i}", "text": text}) + "\n" for i, text in enumerate(texts))
    (inputs / "d.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    (inputs / ".hidden.txt").write_text(texts[5])
    crawl = sorted((CASES.parents[2] / "demo/crawl").glob("*.warc.gz"))
    assert crawl
    every = [inputs, *crawl]
    run("add", tmp_path / "engine", *every, "-q")
    spark.add(every, collection=tmp_path / "spark", work=str(tmp_path / "work"), spark=session)
    assert_same(tmp_path / "engine", tmp_path / "spark")
    assert run("find", tmp_path / "spark", inputs / "a.txt", "--json")


def test_order_and_partitions_of_a_frame_do_not_show(session, tmp_path):
    rows = [(f"n{i:05d}", text) for i, text in enumerate(generated(900))]
    lines = [json.dumps({"id": id, "text": text}) + "\n" for id, text in rows]
    (tmp_path / "in.jsonl").write_text("".join(lines))
    run("add", tmp_path / "engine", tmp_path / "in.jsonl", "-q")
    wanted = {}
    for name in ("pairs", "clusters"):
        run("export", tmp_path / "engine", name, "-o", tmp_path / f"{name}.jsonl")
        wanted[name] = [json.loads(line) for line in open(tmp_path / f"{name}.jsonl")]
    keep = ["doc", "id", "tokens", "grade", "cluster", "cluster_size", "representative", "resemblance"]
    for parts in (1, 3, 8):
        random.Random(parts).shuffle(rows)
        df = session.createDataFrame(rows, "id string, text string").repartition(parts)
        clusters = spark.cluster(df, work=str(tmp_path / f"work-{parts}"))
        ours = sorted((row.asDict() for row in clusters.select(*keep).collect()), key=lambda row: row["doc"])
        assert ours == [{name: row[name] for name in keep} for row in wanted["clusters"]]
        found = spark.pairs(df, work=str(tmp_path / f"work-{parts}"))
        ours = sorted((row["a"], row["b"], row["common"], row["exact"]) for row in found.collect())
        assert ours == sorted((row["a"], row["b"], row["common"], row["exact"]) for row in wanted["pairs"])


def test_what_stays_is_what_the_wheel_keeps(session, tmp_path):
    rows = [(f"n{i:05d}", text) for i, text in enumerate(generated(600))] + [("x", "..."), ("y", "")]
    df = session.createDataFrame(rows, "id string, text string").repartition(3)
    for options in ({}, {"keep": "longest", "resemblance": 0.8}):
        ours = spark.dedup(df, work=str(tmp_path), **options)
        table = pa.table({"id": [id for id, _ in rows], "text": [text for _, text in rows]})
        theirs = pa.table(lookalike.dedup(table, **options))
        assert sorted(row["id"] for row in ours.collect()) == sorted(theirs["id"].to_pylist())
        assert ours.columns == df.columns


def test_what_hangs_together(session, tmp_path):
    draw = random.Random(5)
    chain = [(number, number + 1) for number in range(1000, 1060)]
    star = [(draw.randrange(10**12, 10**13), 77) for _ in range(200)]
    ring = [(5, 9), (9, 7), (7, 5), (5, 5)]
    many = [(draw.randrange(2000, 3000), draw.randrange(2000, 3000)) for _ in range(900)]
    links = chain + star + ring + many
    draw.shuffle(links)
    first = {id: id for link in links for id in link}

    def root(id):
        while first[id] != id:
            id = first[id]
        return id

    for a, b in links:
        low, high = sorted((root(a), root(b)))
        first[high] = low
    wanted = {id: root(id) for link in links if link[0] != link[1] for id in link}
    frame = session.createDataFrame(links, "a long, b long").repartition(5)
    found = spark.components(frame, work=str(tmp_path)).collect()
    assert len(found) == len(wanted)
    assert {row["id"]: row["cluster"] for row in found} == wanted
    none = spark.components(session.createDataFrame([], "x string, y string"), a="x", b="y", work=str(tmp_path))
    assert none.collect() == [] and none.schema["cluster"].dataType.simpleString() == "string"


def test_in_parts_the_clusters_are_the_same(session, tmp_path):
    rows = [(f"n{i:05d}", text, f"2026-01-{1 + i % 28:02d}") for i, text in enumerate(generated(400))]
    rows.append(("nothing", "...", None))
    table = pa.table({name: list(values) for name, values in zip(("id", "text", "date"), zip(*rows))})
    whole = lookalike.cluster(table).to_pylist()
    first = {row["doc"]: row["id"] for row in whole}
    wanted = {row["id"]: (first[row["cluster"]], row["cluster_size"], row["tokens"]) for row in whole}
    assert any(size > 2 for _, size, _ in wanted.values())
    df = session.createDataFrame(rows, "id string, text string, date string").repartition(2)
    found = spark.cluster(df, parts=3, date="date", work=str(tmp_path)).collect()
    assert len(found) == len(wanted)
    assert {row["id"]: (row["cluster"], row["cluster_size"], row["tokens"]) for row in found} == wanted
    # The column of dates has its own name.
    stays = spark.dedup(df, parts=3, keep="newest", work=str(tmp_path)).collect()
    theirs = lookalike.dedup(table, keep="newest")["id"].to_pylist()
    assert sorted(row["id"] for row in stays) == sorted(theirs) and len(theirs) < len(wanted)
    with pytest.raises(lookalike.UsageError, match="joined by chains"):
        spark.cluster(df, parts=3, link="star", work=str(tmp_path))


def test_a_frame_again_finds_what_was_done(session, tmp_path):
    rows = [(f"n{i:05d}", text) for i, text in enumerate(generated(200))]
    df = session.createDataFrame(rows, "id string, text string")
    spark.cluster(df, work=str(tmp_path)).collect()
    sketches = lambda: {path: path.stat().st_mtime_ns for path in tmp_path.glob("frame-*/job-*/sketch/*.parquet")}
    before = sketches()
    spark.pairs(df.repartition(3), work=str(tmp_path)).collect()
    assert sketches() == before and before
    changed = session.createDataFrame(rows[:-1] + [("n00199", "other words")], "id string, text string")
    spark.cluster(changed, work=str(tmp_path)).collect()
    assert len(sketches()) > len(before)


def test_sketches_of_a_frame(session):
    df = session.createDataFrame([("a", "a rose is a rose is a rose"), ("b", None)], "id string, text string")
    rows = {row["id"]: row for row in spark.sketch(df, shingle=3).collect()}
    made = lookalike.sketch("a rose is a rose is a rose", shingle=3)
    assert rows["a"]["tokens"] == 8
    assert [x % (1 << 64) for x in rows["a"]["samples"]] == list(made.samples)
    assert lookalike.Sketch.from_bytes(bytes(rows["a"]["sketch"])) == made
    assert rows["b"]["samples"] is None and rows["b"]["sketch"] is None


@pytest.mark.parametrize(("rows", "schema", "options", "words"), [
    ([("a", "text")], "id string, text string", {"text": "body"}, "no column `body`"),
    ([("a", "text")], "id string, text string", {"id": "key"}, "no column `key`"),
    ([("a", "text")], "id string, text string", {"date": "day"}, "no column `day`"),
    ([("a", 1)], "id string, text long", {}, "holds bigint, not text"),
    ([], "id string, text string", {}, "there are no rows"),
    ([(None, "text")], "id string, text string", {}, "1 rows have no `id`"),
    ([("a", "x"), ("a", "y")], "id string, text string", {}, "names more than one row"),
    ([("a", None)], "id string, text string", {}, "there are no documents"),
    ([("a", "text")], "id string, text string", {"resemblance": 2.0}, "a threshold is above 0"),
])
def test_bad_frames_are_told_in_words(session, tmp_path, rows, schema, options, words):
    df = session.createDataFrame(rows, schema)
    with pytest.raises(lookalike.Error, match=words):
        spark.cluster(df, work=str(tmp_path), **options)


# By the shell: each has executors of its own.


SETTINGS = (
    "--conf spark.driver.host=127.0.0.1 --conf spark.ui.enabled=false "
    "--conf spark.cores.max=2 --conf spark.executor.memory=1g"
)


def spark_job(master, *args, log=None, **environment):
    """Starts `python -m lookalike.spark`."""
    settings = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": f"{SETTINGS} pyspark-shell"}
    command = [sys.executable, "-m", "lookalike.spark", *map(str, args), "--master", master]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, **settings, **environment}, text=True
    )


def submitted(master, *args, log=None):
    """The same by `spark-submit`."""
    command = [os.path.join(SPARK, "bin", "spark-submit"), "--master", master, *SETTINGS.split()]
    command += [spark.__file__, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)


def executors():
    """The processes of the executors that our workers have started."""
    sessions = ",".join(map(str, workers))
    command = ["pgrep", "-s", sessions, "-f", "CoarseGrainedExecutorBackend"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return [int(number) for number in found.stdout.split()]


def wait_for(path, words, process, seconds=300):
    until = time.monotonic() + seconds
    while words not in path.read_text():
        assert process.poll() is None, path.read_text()[-4000:]
        assert time.monotonic() < until, path.read_text()[-4000:]
        time.sleep(0.05)


TABLES = ("documents", "pairs", "clusters")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Documents, what the engine makes of them, and the checksums of its tables."""
    # The session above has the executors, if it is there.
    if session := SparkSession.getActiveSession():
        session.stop()
    folder = tmp_path_factory.mktemp("many")
    count = int(os.environ.get("SPARK_DOCUMENTS", "10000"))
    lines = [json.dumps({"id": f"n{i}", "text": text}) + "\n" for i, text in enumerate(generated(count, lengths=(20, 40, 120, 400)))]
    inputs = shards(folder / "in", lines, 16)
    run("add", folder / "engine", inputs, "-q")
    for name in TABLES:
        run("export", folder / "engine", name, "-o", folder / f"{name}.parquet")
    return inputs, folder / "engine", [checksum(folder / f"{name}.parquet") for name in TABLES]


def assert_whole(many, folder):
    """The collection and the tables in a folder are the engine's."""
    _, engine, sums = many
    assert_same(engine, folder / "c")
    assert [checksum(folder / "out" / f"{name}.parquet") for name in TABLES] == sums


#: Which phases an executor is killed in: two of them each time, all of them in the soak test.
PHASES = ["sketch", "groups", "judged", "sets-1"]
KILLED = PHASES * 2 if os.environ.get("SPARK_SOAK") else ["sketch", "judged"]


def job_of(many, folder):
    """The arguments of a job over these documents."""
    return ["cluster", many[0], "-o", folder / "out", "--collection", folder / "c", "--work", folder / "work"]


def at_work(executor):
    """Whether an executor has a task of ours, which is when it has started Python."""
    return subprocess.run(["pgrep", "-P", str(executor), "python"], capture_output=True, check=False).returncode == 0


def kill_in(phase, log, job, wait):
    """Kills one of two executors while a phase runs. Gives what the job had said by then."""
    wait_for(log, f"lookalike: {phase}: begun", job)
    until = time.monotonic() + 60
    # The master starts executors before the job knows of them: only one at work is missed.
    while len(alive := [one for one in executors() if at_work(one)]) < 2:
        assert time.monotonic() < until, log.read_text()[-4000:]
        time.sleep(0.02)
    time.sleep(wait)
    os.kill(alive[0], signal.SIGKILL)
    return log.read_text()


@pytest.mark.parametrize("phase", KILLED)
def test_an_executor_dies(master, many, tmp_path, phase, request):
    draw = random.Random(request.node.name)
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        log = folder / "log"
        with open(log, "w") as out:
            job = spark_job(master, *job_of(many, folder), log=out)
            told = kill_in(phase, log, job, draw.uniform(0.0, 0.4) / 2**attempt)
            report, _ = job.communicate(timeout=900)
        # Whatever phase it was in, nothing is lost or invented.
        assert job.returncode == 0, log.read_text()[-4000:]
        assert "Lost executor" in log.read_text()
        assert json.loads(report)["added"] > 0
        assert_whole(many, folder)
        if told.rindex(": begun") == told.rindex(f"{phase}: begun") + len(phase):
            return
    pytest.fail(f"{phase} was over before its executor was killed, five times")


def test_a_driver_that_died_goes_on(master, many, tmp_path):
    log = tmp_path / "log"
    with open(log, "w") as out:
        job = spark_job(master, *job_of(many, tmp_path), log=out)
        wait_for(log, "lookalike: judged: begun", job)
        job.kill()
        job.communicate()
    assert not list((tmp_path / "c").glob("MANIFEST*")) and not (tmp_path / "out").exists()
    log = tmp_path / "again"
    with open(log, "w") as out:
        job = submitted(master, *job_of(many, tmp_path), log=out)
        report, _ = job.communicate(timeout=900)
    assert job.returncode == 0, log.read_text()[-4000:]
    # What the program says on either stream, spark-submit says on one.
    *told, report = report.splitlines()
    assert not {"sketch", "groups"} & set(json.loads(report)["phases"])
    assert "lookalike: sketch: done before" in told
    assert_whole(many, tmp_path)
    # A third time there is a collection, which is told before any work.
    with open(log, "w") as out:
        job = spark_job(master, *job_of(many, tmp_path), log=out)
        job.communicate(timeout=300)
    assert job.returncode == 2 and "there is a collection" in log.read_text(), log.read_text()[-4000:]
    assert_whole(many, tmp_path)


@pytest.mark.parametrize(("args", "words", "status"), [
    (["cluster", "nowhere.jsonl", "-o", "out"], "nowhere.jsonl", 2),
    (["cluster", CASES, "-o", "out", "--resemblance", "0"], "a threshold is above 0", 2),
])
def test_wrong_arguments(tmp_path, args, words, status):
    with open(tmp_path / "log", "w") as log:
        job = spark_job("local[1]", *args, log=log)
        job.communicate(timeout=300)
    text = (tmp_path / "log").read_text()
    assert job.returncode == status and words in text and "Traceback" not in text, text[-3000:]


def test_no_cluster_and_no_java(tmp_path):
    for master, environment, words in [
        ("spark://127.0.0.1:9", {}, "no Spark master answers"),
        ("local[1]", {"PATH": "/nowhere", "JAVA_HOME": ""}, "Spark needs Java"),
    ]:
        with open(tmp_path / "log", "w") as log:
            args = ["cluster", CASES, "-o", tmp_path / "out"]
            job = spark_job(master, *args, log=log, **environment)
            job.communicate(timeout=120)
        text = (tmp_path / "log").read_text()
        assert job.returncode == 6 and words in text and "Traceback" not in text, text[-3000:]
    assert not (tmp_path / "out").exists()
