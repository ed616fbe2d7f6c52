"""The same job on Apache Spark: the paper's phases as stages, our functions inside.

    executors                                driver
    source -> pieces (sketch) ------------>  numbers, copies set aside
    postings -> groups (join) ------------>  how large a group may be
    meetings -> pairs (count) ------------>  sure links; which pairs must be true
    sources read again (verify) ---------->  clusters; tables, or a collection

Every phase is written down before the next begins, below ``work``: the same job started
again goes on behind the last whole one. What travels between machines is packed by the
engine: a row holds thousands of documents. Answers are those of the command line, row for
row, in whatever partitions and order the documents come, and also when an executor dies.

On a cluster that is there::

    spark-submit --master spark://HOST:7077 .../lookalike/spark.py cluster INPUT... -o OUT

or ``python -m lookalike.spark cluster INPUT... -o OUT --master spark://HOST:7077``, or as a library, with a session at hand::

    from lookalike import spark
    clusters = spark.cluster(df, id="id", text="text", resemblance=0.8, work="/shared/work")
"""

from __future__ import annotations

if __name__ == "__main__" and not __package__:
    # As a file, by spark-submit: a module of its package all the same.
    import sys

    from lookalike.spark import main

    sys.exit(main())

import argparse
import atexit
import functools
import hashlib
import itertools
import json
import os
import shutil
import socket
import sys
import tempfile
import time
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterable, Iterator
from urllib.parse import urlsplit

from . import _lookalike as engine
from .errors import ColumnError, EmptyError, Error, KindError, MachineError, UsageError

try:
    import pyarrow as pa
    import pyarrow.fs
    import pyarrow.parquet as pq
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F
except ImportError as missing:  # pragma: no cover - said in words, not as a trace
    raise MachineError(
        f"Spark is not there: {missing}", "install it with `pip install lookalike[spark]`"
    ) from missing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["sketch", "pairs", "cluster", "dedup", "components", "add", "session", "main"]

#: The options that say which pairs are linked, and how.
POLICY = ("resemblance", "containment", "link", "verify")
#: Bytes of postings or meetings that one task holds at a time.
TASK = 64 << 20
#: Bytes that a task gathers before it hands them on.
FLUSH = 32 << 20
#: Bytes of numbers that go to every executor instead of into a shuffle.
BROADCAST = 128 << 20
#: Our rows hold megabytes each: Spark would gather thousands of them in one place.
BATCHES = {
    "spark.sql.parquet.columnarReaderBatchSize": "4",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(TASK),
}
#: Documents that are read again in one go, where it is possible to jump to them.
AGAIN = 4096


# Tasks: what runs in an executor. Each takes an iterator of Arrow batches.


class _Ours:
    """The engine's functions, and a clock of the processor time they take."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        function = getattr(engine, name)

        def timed(*args: Any, **options: Any) -> Any:
            before = time.thread_time()
            try:
                return function(*args, **options)
            finally:
                self.clock.add(time.thread_time() - before)

        return timed

    def __reduce__(self) -> Any:
        return _Ours, (self.clock,)


def _rows(schema: pa.Schema, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema)], schema=schema
    )


def _schema(**fields: pa.DataType) -> pa.Schema:
    return pa.schema(list(fields.items()))


def _ddl(schema: pa.Schema) -> str:
    names = {pa.int32(): "int", pa.int64(): "long", pa.binary(): "binary", pa.string(): "string"}
    return ", ".join(f"{field.name} {names[field.type]}" for field in schema)


PIECES = _schema(
    source=pa.int32(), piece=pa.int32(), heads=pa.binary(), bodies=pa.binary(), notes=pa.string()
)
PARTS = _schema(range=pa.int32(), data=pa.binary())
GROUPS = _schema(range=pa.int32(), groups=pa.binary(), sizes=pa.string())
JUDGED = _schema(
    range=pa.int32(), pairs=pa.binary(), aside=pa.int64(), unjudged=pa.binary(), docs=pa.binary()
)
PAIRS = _schema(range=pa.int32(), pairs=pa.binary(), aside=pa.int64())
OF_DOC = _schema(doc=pa.int64(), data=pa.binary())
RANGE_OF_DOC = _schema(range=pa.int32(), doc=pa.int64())
DATA = _schema(data=pa.binary())


@contextmanager
def _at_hand(source: str) -> Iterator[str | None]:
    """Where the bytes of a source are: a path as it is, anything else in a passing file."""
    path = json.loads(source)["path"]
    if "://" not in path:
        yield None
        return
    files, name = pyarrow.fs.FileSystem.from_uri(_uri(path))
    with tempfile.TemporaryDirectory(prefix="lookalike-") as folder:
        place = os.path.join(folder, os.path.basename(name))
        with files.open_input_stream(name, compression=None) as there, open(place, "wb") as here:
            shutil.copyfileobj(there, here, 1 << 20)
        yield place


def _uri(path: str) -> str:
    """Spark's names of object stores, as Arrow has them."""
    for spark, arrow in (("s3a://", "s3://"), ("s3n://", "s3://")):
        if path.startswith(spark):
            return arrow + path[len(spark) :]
    return path


def _sketching(ours: _Ours, job: str, key: bytes | None, sources: Any) -> Any:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                source = sources.value[number]
                with _at_hand(source) as place:
                    pieces = ours.phase_sketch(job, number, source, key=key, place=place)
                rows, held = [], 0
                for piece, (heads, bodies, notes) in enumerate(pieces):
                    rows.append((number, piece, heads, bodies, notes))
                    held += len(heads) + len(bodies)
                    if held >= FLUSH:
                        yield _rows(PIECES, rows)
                        rows, held = [], 0
                if rows:
                    yield _rows(PIECES, rows)

    return task


class _Bins:
    """Bytes by range, handed on when there are enough."""

    def __init__(self) -> None:
        self.bins: dict[int, list[bytes]] = {}
        self.held = 0

    def add(self, parts: Iterable[bytes]) -> None:
        for number, part in enumerate(parts):
            if part:
                self.bins.setdefault(number, []).append(part)
                self.held += len(part)

    def batches(self, least: int = 0) -> Iterator[pa.RecordBatch]:
        if self.bins and self.held >= least:
            rows = [(number, b"".join(parts)) for number, parts in sorted(self.bins.items())]
            self.bins, self.held = {}, 0
            yield _rows(PARTS, rows)


def _posting(ours: _Ours, job: str, ranges: int) -> Any:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bins = _Bins()
        for batch in batches:
            for heads, bodies, numbers in zip(*(column.to_pylist() for column in batch.columns)):
                bins.add(ours.phase_postings(job, heads, bodies, numbers, ranges))
                yield from bins.batches(FLUSH)
        yield from bins.batches()

    return task


def _by_range(batches: Iterable[pa.RecordBatch]) -> dict[int, list[tuple[Any, ...]]]:
    """The rows of a partition, by their first column."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns)):
            found.setdefault(row[0], []).append(row[1:])
    return dict(sorted(found.items()))


def _grouping(ours: _Ours) -> Any:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, parts in _by_range(batches).items():
            groups, sizes = ours.phase_groups([part for (part,) in parts])
            yield _rows(GROUPS, [(number, groups, sizes)])

    return task


def _common(ours: _Ours, cap: int) -> Any:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for groups in batch.column(0).to_pylist():
                _, members = ours.phase_meetings(groups, cap, 1, 1)
                if members:
                    yield _rows(DATA, [(members,)])

    return task


def _meeting(ours: _Ours, cap: int | None, documents: int, ranges: int) -> Any:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bins = _Bins()
        for batch in batches:
            for groups in batch.column(0).to_pylist():
                parts, _ = ours.phase_meetings(groups, cap, documents, ranges)
                bins.add(parts)
                yield from bins.batches(FLUSH)
        yield from bins.batches()

    return task


def _judging(ours: _Ours, job: str, common: Any) -> Any:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lists = engine.Common(common.value)
        for number, parts in _by_range(batches).items():
            judged = ours.phase_judge(job, [part for (part,) in parts], lists)
            yield _rows(JUDGED, [(number, *judged)])

    return task


def _wanting(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number, docs in zip(*(column.to_pylist() for column in batch.columns)):
            docs = memoryview(docs).cast("I")
            for at in range(0, len(docs), 1 << 16):
                some = docs[at : at + (1 << 16)].tolist()
                yield _rows(RANGE_OF_DOC, [(number, doc) for doc in some])


def _sampling(ours: _Ours, wanted: Any) -> Any:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for heads, bodies, numbers in zip(*(column.to_pylist() for column in batch.columns)):
                found = ours.phase_samples(heads, bodies, numbers, wanted.value)
                if found:
                    yield _rows(OF_DOC, found)

    return task


def _judging_rest(ours: _Ours, job: str, common: Any) -> Any:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lists = engine.Common(common.value)
        for number, rows in _by_range(batches).items():
            samples = [(doc, data) for _, _, doc, data in rows if doc >= 0]
            ((pairs, unjudged),) = [row[:2] for row in rows if row[2] < 0]
            kept, aside = ours.phase_judge_rest(job, pairs, unjudged, lists, samples)
            yield _rows(PAIRS, [(number, kept, aside)])

    return task


def _reading_again(ours: _Ours, job: str, key: bytes | None, sources: Any) -> Any:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, wanted in zip(*(column.to_pylist() for column in batch.columns)):
                source = sources.value[number]
                with _at_hand(source) as place:
                    sets = ours.phase_sets(job, source, wanted, key=key, place=place)
                rows, held = [], 0
                for row in sets:
                    rows.append(row)
                    held += len(row[1])
                    if held >= FLUSH:
                        yield _rows(OF_DOC, rows)
                        rows, held = [], 0
                if rows:
                    yield _rows(OF_DOC, rows)

    return task


def _telling(ours: _Ours) -> Any:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = zip(*(column.to_pylist() for column in batch.columns))
            pairs = [(ours.phase_exact(*row),) for row in rows]
            if pairs:
                yield _rows(DATA, pairs)

    return task


# The driver.


class Job:
    """One job: its sources, its options, and where its phases are written down."""

    def __init__(
        self,
        spark: SparkSession,
        sources: list[str],
        work: str,
        *,
        left_out: list[Any] | None = None,
        say: Any = None,
        **options: Any,
    ) -> None:
        self.spark = spark
        self.sources = sources
        self.left_out = left_out or []
        self.options = options
        self.key: bytes | None = options.get("key")
        self.job = engine.phase_job(**options)
        self.say = say or (lambda text: None)
        same = json.dumps([1, engine.__version__, self.job, sources])
        self.work = f"{work.rstrip('/')}/job-{_name(same)}"
        # Sketches and pairs serve many policies, what was read again for one does not.
        of_policy = {name: options.get(name) for name in POLICY}
        self.policy = f"policy-{_name(json.dumps(of_policy))}"
        self.shared = spark.sparkContext.broadcast(sources)
        self.done: list[str] = []
        self.clock = spark.sparkContext.accumulator(0.0)
        self.ours = _Ours(self.clock)

    # Phases that are written down.

    def _phase(self, place: str, make: Any) -> "DataFrame":
        path, name = f"{self.work}/{place}", place.rpartition("/")[2]
        if _is_whole(self.spark, path):
            self.say(f"{name}: done before")
        else:
            self.say(f"{name}: begun")
            self.spark.sparkContext.setJobDescription(f"lookalike: {name}")
            make().write.mode("overwrite").parquet(path)
            self.done.append(name)
        return self.spark.read.parquet(path)

    def _read(self, name: str, columns: list[str]) -> Iterator[dict[str, Any]]:
        """The rows of a phase, here, in the order they were written."""
        files, folder = _files(f"{self.work}/{name}")
        parts = files.get_file_info(pyarrow.fs.FileSelector(folder))
        names = sorted(part.path for part in parts if part.path.endswith(".parquet"))
        for part in names:
            with files.open_input_file(part) as file:
                for batch in pq.ParquetFile(file).iter_batches(4, columns=columns):
                    yield from batch.to_pylist()

    def _parallel(self) -> int:
        return max(2, self.spark.sparkContext.defaultParallelism)

    # The phases.

    def sketch(self) -> None:
        def make() -> "DataFrame":
            # Slices in order: so the order of the parts is that of the sources.
            slices = min(len(self.sources), max(4 * self._parallel(), len(self.sources) // 64))
            numbers = self.spark.range(0, len(self.sources), 1, slices)
            task = _sketching(self.ours, self.job, self.key, self.shared)
            return numbers.mapInArrow(task, _ddl(PIECES))

        self._phase("sketch", make)

    def number(self, draft: Any) -> None:
        """Numbers the documents; writes the numbers down for those who make postings."""
        places: list[tuple[int, int]] = []

        def pieces() -> Iterator[tuple[bytes, bytes, str]]:
            columns = ["source", "piece", "heads", "bodies", "notes"]
            for row in self._read("sketch", columns):
                place = (row["source"], row["piece"])
                if places and place <= places[-1]:
                    raise MachineError("the sketches are not in the order of the sources")
                places.append(place)
                yield row["heads"], row["bodies"], row["notes"]

        self.say("numbers: begun")
        numbers = draft.number(pieces())
        self.documents, self.postings = draft.totals()
        files, folder = _files(f"{self.work}/numbers")
        files.create_dir(folder, recursive=True)
        table = pa.table(
            {
                "source": pa.array([place[0] for place in places], pa.int32()),
                "piece": pa.array([place[1] for place in places], pa.int32()),
                "numbers": pa.array(numbers, pa.binary()),
            }
        )
        pq.write_table(table, f"{folder}/numbers.parquet", filesystem=files, row_group_size=4096)
        self.numbers_len = sum(map(len, numbers))

    def _numbered(self) -> "DataFrame":
        numbers = self.spark.read.parquet(f"{self.work}/numbers")
        if self.numbers_len <= BROADCAST:
            numbers = F.broadcast(numbers)
        pieces = self.spark.read.parquet(f"{self.work}/sketch")
        numbered = pieces.join(numbers, ["source", "piece"])
        return numbered.select("heads", "bodies", "numbers")

    def _ranges(self, size: int) -> int:
        return max(2 * self._parallel(), -(-size // TASK))

    def join(self) -> None:
        def make() -> "DataFrame":
            ranges = self._ranges(24 * self.postings)
            postings = self._numbered().mapInArrow(_posting(self.ours, self.job, ranges), _ddl(PARTS))
            groups = postings.repartition(ranges, "range")
            return groups.mapInArrow(_grouping(self.ours), _ddl(GROUPS))

        self._phase("groups", make)
        self.sizes = [row["sizes"] for row in self._read("groups", ["sizes"])]

    def count(self) -> None:
        groups = self.spark.read.parquet(f"{self.work}/groups").select("groups")
        cap = engine.phase_cap(self.sizes)
        members = b""
        if cap is not None:
            found = groups.mapInArrow(_common(self.ours, cap), _ddl(DATA)).collect()
            members = b"".join(bytes(row["data"]) for row in found)
        common = self.spark.sparkContext.broadcast(members)

        def make() -> "DataFrame":
            ranges = min(self._ranges(24 * self.postings), self.documents)
            task = _meeting(self.ours, cap, self.documents, ranges)
            met = groups.mapInArrow(task, _ddl(PARTS)).repartition(ranges, "range")
            return met.mapInArrow(_judging(self.ours, self.job, common), _ddl(JUDGED))

        judged = self._phase("judged", make)
        self._phase("pairs", lambda: self._judge_rest(judged, common))

    def _judge_rest(self, judged: "DataFrame", common: Any) -> "DataFrame":
        """Where meetings could not be judged without samples: these are brought along."""
        done = judged.where(F.length("docs") == 0).select("range", "pairs", "aside")
        rest = judged.where(F.length("docs") > 0)
        docs = rest.select("range", "docs").mapInArrow(_wanting, _ddl(RANGE_OF_DOC))
        wanted = sorted(row["doc"] for row in docs.select("doc").distinct().collect())
        if not wanted:
            return done
        bytes_of = pa.array(wanted, pa.uint32()).buffers()[1].to_pybytes()[: 4 * len(wanted)]
        shared = self.spark.sparkContext.broadcast(bytes_of)
        samples = self._numbered().mapInArrow(_sampling(self.ours, shared), _ddl(OF_DOC))
        nothing = F.lit(None).cast("binary")
        of_docs = docs.join(samples, "doc").select(
            "range", nothing.alias("pairs"), nothing.alias("unjudged"), "doc", "data"
        )
        of_ranges = rest.select(
            "range", "pairs", "unjudged", F.lit(-1).cast("long").alias("doc"), nothing.alias("data")
        )
        together = of_docs.unionByName(of_ranges).repartition(self._parallel() * 2, "range")
        judged_rest = together.mapInArrow(_judging_rest(self.ours, self.job, common), _ddl(PAIRS))
        return done.unionByName(judged_rest)

    def take_pairs(self, draft: Any) -> None:
        rows = sorted(self._read("pairs", ["range", "pairs", "aside"]), key=lambda row: row["range"])
        for row in rows:
            draft.pairs(row["pairs"])
        draft.counted(self.sizes, sum(row["aside"] for row in rows))

    def verify(self, draft: Any) -> None:
        """Clusters; what must be true for it is read again by the executors."""
        number = 0
        while asked := draft.cluster():
            number += 1
            sets, exact = f"{self.policy}/sets-{number}", f"{self.policy}/exact-{number}"
            self._phase(sets, lambda: self._sets(draft.places(asked)))
            self._phase(exact, lambda: self._exact(asked, sets))
            told = (row["data"] for row in self._read(exact, ["data"]))
            draft.tell(asked, b"".join(told))

    def _sets(self, places: list[tuple[int, bytes]]) -> "DataFrame":
        rows = []
        for source, wanted in places:
            kind = json.loads(self.sources[source])["kind"]
            step = 28 * AGAIN if kind in ("warc", "parquet") else len(wanted)
            for at in range(0, len(wanted), step):
                rows.append((source, wanted[at : at + step]))
        table = self.spark.createDataFrame(rows, "source int, wanted binary")
        table = table.repartition(min(len(rows), 4 * self._parallel()))
        task = _reading_again(self.ours, self.job, self.key, self.shared)
        return table.mapInArrow(task, _ddl(OF_DOC))

    def _exact(self, asked: bytes, sets: str) -> "DataFrame":
        words = pa.array(memoryview(asked).cast("I").tolist(), pa.int64())
        table = pa.table({"a": words[0::2], "b": words[1::2]})
        pairs = self.spark.createDataFrame(table)
        sets_of = self.spark.read.parquet(f"{self.work}/{sets}")
        of_a = sets_of.select(F.col("doc").alias("a"), F.col("data").alias("of_a"))
        of_b = sets_of.select(F.col("doc").alias("b"), F.col("data").alias("of_b"))
        both = pairs.join(of_a, "a").join(of_b, "b").select("a", "b", "of_a", "of_b")
        return both.mapInArrow(_telling(self.ours), _ddl(DATA))

    def run(self, collection: str) -> dict[str, Any]:
        """All phases, into a new collection on this machine."""
        with _settings(self.spark, BATCHES):
            return self._run(collection)

    def _run(self, collection: str) -> dict[str, Any]:
        # First, so that a collection in the way is told before any work.
        draft = engine.Draft(collection, self.sources, self.left_out, **self.options)
        self.sketch()
        self.number(draft)
        self.join()
        self.count()
        self.take_pairs(draft)
        self.verify(draft)
        report: dict[str, Any] = json.loads(draft.commit())
        # Processor time of the engine's functions in the executors.
        report["engine_seconds"] = round(self.clock.value, 3)
        return report


@contextmanager
def _settings(spark: SparkSession, wanted: dict[str, str]) -> Iterator[None]:
    """A session with other settings for a while."""
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def _name(same: str) -> str:
    """A short name for what is the same."""
    return hashlib.sha256(same.encode()).hexdigest()[:16]


def _files(path: str) -> tuple[Any, str]:
    if "://" in path:
        return pyarrow.fs.FileSystem.from_uri(_uri(path))
    return pyarrow.fs.LocalFileSystem(), os.path.abspath(path)


def session(master: str | None = None, *, name: str = "lookalike") -> SparkSession:
    """The session at hand, or a new one; an error in words where there can be none."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    if shutil.which(java) is None:
        raise MachineError("Spark needs Java, and there is none", "install Java 17 or set JAVA_HOME")
    master = master or os.environ.get("MASTER") or os.environ.get("SPARK_MASTER")
    if master and master.startswith("spark://"):
        _reach(master)
    builder = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    try:
        return builder.getOrCreate()
    except Exception as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise MachineError(f"Spark does not start: {first[0]}") from error


def _reach(master: str) -> None:
    """Spark tries for a minute and says little; a socket tells at once."""
    wrong = ""
    for one in master.removeprefix("spark://").split(","):
        place = urlsplit(f"spark://{one}")
        try:
            socket.create_connection((place.hostname or "", place.port or 7077), 10).close()
            return
        except OSError as error:
            wrong = error.strerror or str(error)
    raise MachineError(f"no Spark master answers at {master}: {wrong}", "is the cluster running?")


def _sources(job: str, paths: list[str]) -> tuple[list[str], list[Any]]:
    """What some paths name: files and folders here, objects in a store; and what is left out."""
    found: list[str] = []
    left_out = []
    for path in paths:
        if "://" not in path:
            sources, others = engine.phase_inputs(job, [path])
            found.extend(sources)
            left_out.append(others)
            continue
        files, name = pyarrow.fs.FileSystem.from_uri(_uri(path))
        info = files.get_file_info(name)
        if info.type == pyarrow.fs.FileType.NotFound:
            raise UsageError(f"cannot read `{path}`: there is no such object")
        inside = [info]
        if info.type == pyarrow.fs.FileType.Directory:
            inside = files.get_file_info(pyarrow.fs.FileSelector(name, recursive=True))
        scheme = path.split("://")[0]
        for one in sorted(inside, key=lambda one: one.path):
            base = os.path.basename(one.path)
            if one.type == pyarrow.fs.FileType.File and not base.startswith(("_", ".")):
                found.append(_object(f"{scheme}://{one.path}", one.size, one.mtime_ns))
    if not found:
        raise UsageError("there is nothing to read")
    return found, left_out


def _object(path: str, size: int, written: int | None) -> str:
    """A source in a store, told by its name. When it was written tells it from another of
    that name, whose phases are others."""
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    kinds = {
        ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".warc": "warc", ".wet": "warc",
        ".wacz": "wacz", ".parquet": "parquet",
    }
    kind = next((kind for end, kind in kinds.items() if name.endswith(end)), "document")
    if kind == "document" and name != path.lower():
        kind = "packed document"
    source = {"name": path, "path": path, "kind": kind, "len": size, "modified": 0, "written": written}
    return json.dumps(source, separators=(",", ":"))


TABLES = ("documents", "pairs", "clusters")


def _write_tables(
    collection: str, out: str, key: bytes | None, tables: Iterable[str] = TABLES
) -> None:
    """The tables of a collection, as Parquet."""
    from . import Collection

    files, folder = _files(out)
    files.create_dir(folder, recursive=True)
    opened = Collection.open(collection, key=key)
    for name in tables:
        # Clusters are told document by document, as the command line does.
        table = opened.pairs() if name == "pairs" else opened.documents()
        reader = pa.RecordBatchReader.from_stream(table)
        passing = f"{folder}/.{name}.parquet.part"
        with files.open_output_stream(passing) as file:
            with pq.ParquetWriter(file, reader.schema, compression="zstd") as writer:
                for batch in reader:
                    writer.write_batch(batch)
        files.move(passing, f"{folder}/{name}.parquet")


def add(
    inputs: Iterable[str],
    *,
    collection: str | None = None,
    out: str | None = None,
    work: str | None = None,
    spark: SparkSession | None = None,
    say: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Runs the job over files: into a new collection that the command line opens, or
    tables in a folder, or both. ``work`` is where phases are written down; every executor
    must reach it. What became of what was read is returned.
    """
    if collection is None and out is None:
        raise UsageError("say where the result goes: `collection` or `out`")
    collection, out, work = (path and os.fspath(path) for path in (collection, out, work))
    spark = spark or session()
    job = engine.phase_job(**options)
    sources, left_out = _sources(job, [os.fspath(path) for path in inputs])
    with _folder(work, "work") as at, _folder(collection, "collection") as place:
        one = Job(spark, sources, at, left_out=left_out, say=say, **options)
        report = one.run(place)
        if out is not None:
            _write_tables(place, out, one.key)
    report["phases"] = one.done
    return report


@contextmanager
def _folder(path: str | None, what: str) -> Iterator[str]:
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix=f"lookalike-{what}-") as passing:
        yield os.path.join(passing, what)


# As a library.


def sketch(df: "DataFrame", *, text: str = "text", id: str = "id", **options: Any) -> "DataFrame":
    """The sketch of each row: ``id``, ``tokens``, ``samples``, and ``sketch`` as bytes, for
    ``lookalike.Sketch.from_bytes``. Nothing but the id where there is nothing to sketch."""
    _check(df, text, id)
    kind = df.schema[id].dataType.simpleString()

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from . import sketch as one

        for batch in batches:
            ids, texts = batch.columns
            rows = [_sketched(one, text, options) for text in texts.to_pylist()]
            yield pa.RecordBatch.from_arrays(
                [
                    ids,
                    pa.array([row[0] for row in rows], pa.int64()),
                    pa.array([row[1] for row in rows], pa.list_(pa.int64())),
                    pa.array([row[2] for row in rows], pa.binary()),
                ],
                ["id", "tokens", "samples", "sketch"],
            )

    schema = f"id {kind}, tokens long, samples array<long>, sketch binary"
    return df.select(F.col(id).alias("id"), F.col(text).alias("text")).mapInArrow(task, schema)


def _sketched(one: Any, text: str | None, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    try:
        made = one(text or "", **options)
    except EmptyError:
        return None, None, None
    # Spark has no unsigned numbers.
    signed = [x - (1 << 64) if x >> 63 else x for x in made.samples]
    return made.tokens, signed, bytes(made)


def _check(df: "DataFrame", text: str, id: str) -> None:
    for name in (text, id):
        if name not in df.columns:
            raise ColumnError(f"there is no column `{name}`, only {', '.join(df.columns)}")
    kind = df.schema[text].dataType.simpleString()
    if kind not in ("string", "binary"):
        raise KindError(f"the column `{text}` holds {kind}, not text")


def _work(spark: SparkSession, work: str | None) -> str:
    """Where phases are written down: as given, as set, or in a folder that goes with us."""
    found = work or spark.conf.get("spark.lookalike.work", None)
    if found is None:
        found = tempfile.mkdtemp(prefix="lookalike-")
        atexit.register(shutil.rmtree, found, ignore_errors=True)
    return os.fspath(found).rstrip("/")


def _is_whole(spark: SparkSession, folder: str) -> bool:
    """Whether Spark has written a folder to its end."""
    path = spark._jvm.org.apache.hadoop.fs.Path(f"{folder}/_SUCCESS")
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())
    return bool(files.exists(path))


def _rows_of(
    df: "DataFrame", text: str, id: str, url: str | None, date: str | None
) -> "DataFrame":
    """The columns that matter, under the names that the engine looks for."""
    _check(df, text, id)
    columns = [F.col(text).alias("text"), F.col(id).cast("string").alias("id")]
    for field, name in (("url", url), ("date", date)):
        # Only what was asked for by another name must be there.
        if name in df.columns:
            columns.append(F.col(name).alias(field))
        elif name not in (None, field):
            raise ColumnError(f"there is no column `{name}`, only {', '.join(df.columns)}")
    return df.select(*columns)


def _checked_ids(rows: "DataFrame", id: str) -> str:
    """Every row must have an id of its own. A name that tells these rows from any others."""
    named = [F.col(name).cast("binary" if name == "text" else "string") for name in rows.columns]
    sums = [
        F.sum(F.xxhash64(*order).cast("decimal(38,0)")).alias(f"sum{number}")
        for number, order in enumerate((named, named[::-1]))
    ]
    found = rows.agg(
        F.count(F.lit(1)).alias("all"), F.count("id").alias("named"),
        F.countDistinct("id").alias("ids"), *sums,
    ).first()
    if found is None or found["all"] == 0:
        raise EmptyError("there are no rows")
    if found["named"] < found["all"]:
        raise UsageError(f"{found['all'] - found['named']} rows have no `{id}`")
    if found["ids"] < found["all"]:
        raise UsageError(f"`{id}` names more than one row: {found['all']} rows, {found['ids']} ids")
    same = json.dumps([rows.columns, [str(value) for value in found]])
    return _name(same)


def _of_frame(
    rows: "DataFrame", name: str, tables: tuple[str, ...], work: str, options: dict[str, Any]
) -> dict[str, "DataFrame"]:
    """Runs the job over a frame: its rows in the order of their ids, so that neither their
    own order nor their partitions show. The same rows again find what was done of them."""
    spark = rows.sparkSession
    at = f"{work}/frame-{name}"
    if not _is_whole(spark, f"{at}/rows"):
        rows.sort("id").write.mode("overwrite").parquet(f"{at}/rows")
    files, folder = _files(f"{at}/rows")
    parts = [part.path for part in files.get_file_info(pyarrow.fs.FileSelector(folder))]
    parts = sorted(f"{at}/rows/{os.path.basename(part)}" for part in parts if part.endswith(".parquet"))
    sources, _ = _sources(engine.phase_job(**options), parts)
    job = Job(spark, sources, at, **options)
    with tempfile.TemporaryDirectory(prefix="lookalike-collection-") as passing:
        place = os.path.join(passing, "collection")
        job.run(place)
        at = f"{job.work}/{job.policy}"
        _write_tables(place, at, job.key, tables)
    return {table: spark.read.parquet(f"{at}/{table}.parquet") for table in tables}


def _in_parts(
    rows: "DataFrame", name: str, parts: int, work: str, options: dict[str, Any]
) -> Iterator[tuple[int, int, "DataFrame"]]:
    """The clusters of every two parts of the rows: any two rows are together somewhere."""
    for one in range(parts):
        for other in range(one + 1, parts):
            some = rows.where(_part_of(parts).isin(one, other))
            named = f"{name}-{parts}-{one}-{other}"
            yield one, other, _of_frame(some, named, ("clusters",), work, options)["clusters"]


def _part_of(parts: int) -> Any:
    return F.pmod(F.xxhash64(F.col("id")), F.lit(parts))


def _checked_parts(parts: int, options: dict[str, Any]) -> None:
    if parts < 1:
        raise UsageError(f"parts={parts}: there is at least one")
    if parts > 2 and options.get("link", "chain") != "chain":
        raise UsageError("what is clustered in parts is joined by chains: link=`chain`")


def pairs(
    df: "DataFrame", *, text: str = "text", id: str = "id", url: str | None = "url",
    date: str | None = "date", work: str | None = None, **options: Any,
) -> "DataFrame":
    """The counted pairs of a frame's rows, as the table ``pairs`` of the command line."""
    rows = _rows_of(df, text, id, url, date)
    name, at = _checked_ids(rows, id), _work(df.sparkSession, work)
    return _of_frame(rows, name, ("pairs",), at, options)["pairs"]


def cluster(
    df: "DataFrame", *, text: str = "text", id: str = "id", url: str | None = "url",
    date: str | None = "date", work: str | None = None, parts: int = 1, **options: Any,
) -> "DataFrame":
    """The clusters of a frame's rows: one row for each of them, as the table ``clusters``.

    One job numbers 4,294,967,294 documents at most, and its driver holds some bytes of each.
    For more, ``parts``: rows fall into so many parts by their ids, every two parts are a job
    of their own, and what they link is put together by :func:`components`. A row then tells
    ``id``, ``url``, ``date``, ``tokens``, ``cluster`` (the smallest id of it) and
    ``cluster_size``. The work grows as the number of parts less one.
    """
    _checked_parts(parts, options)
    rows = _rows_of(df, text, id, url, date)
    name, at = _checked_ids(rows, id), _work(df.sparkSession, work)
    if parts <= 2:
        return _of_frame(rows, name, ("clusters",), at, options)["clusters"]
    documents, links = [], []
    for one, other, table in _in_parts(rows, name, parts, at, options):
        first = table.where("doc = cluster").select("cluster", F.col("id").alias("b"))
        some = table.where("cluster_size > 1").select("cluster", F.col("id").alias("a"))
        links.append(some.join(first, "cluster").select("a", "b").where("a != b"))
        # Each row is in many jobs: a part is told of by the job with its next, the last by
        # that with the one before.
        own = [one] if other == one + 1 else []
        own += [other] if one == parts - 2 else []
        if own:
            told = table.where(_part_of(parts).isin(*own))
            documents.append(told.select("id", "url", "date", "tokens"))
    both = lambda x, y: x.unionByName(y)
    joined = components(functools.reduce(both, links), work=f"{at}/frame-{name}-{parts}")
    every = functools.reduce(both, documents).join(joined, "id", "left")
    every = every.withColumn("cluster", F.coalesce("cluster", "id"))
    sizes = every.groupBy("cluster").agg(F.count(F.lit(1)).alias("cluster_size"))
    return every.join(sizes, "cluster").select("id", "url", "date", "tokens", "cluster", "cluster_size")


def components(
    links: "DataFrame", *, a: str = "a", b: str = "b", work: str | None = None
) -> "DataFrame":
    """What hangs together: ``id`` and ``cluster``, the smallest id that can be reached from
    it, of all ids in some links. Ids are of any kind that has an order.

    Nothing is held on the driver. In turns every id is linked to the smallest of those it
    is linked with: first for the larger ones of them (large star), then for the smaller
    (small star), until nothing changes. That takes some log2 of the longest chain rounds
    (Kiveris et al., Connected Components in MapReduce and Beyond, 2014).
    """
    spark = links.sparkSession
    at = f"{_work(spark, work)}/components-{uuid.uuid4().hex[:12]}"
    edges = links.select(F.greatest(a, b).alias("a"), F.least(a, b).alias("b"))
    edges = edges.where("a != b").distinct()
    before: Any = None
    for number in itertools.count():
        edges.write.mode("overwrite").parquet(f"{at}/round-{number}")
        edges = spark.read.parquet(f"{at}/round-{number}")
        of_edge = F.xxhash64("a", "b").cast("decimal(38,0)")
        found = edges.agg(F.count(F.lit(1)), F.sum(of_edge)).first()
        if number > 1:
            _remove(spark, f"{at}/round-{number - 2}")
        if found == before:
            break
        before = found
        edges = _small_star(_large_star(edges))
    linked = edges.select(F.col("a").alias("id"), F.col("b").alias("cluster"))
    return linked.union(edges.select("b", "b").distinct())


def _large_star(edges: "DataFrame") -> "DataFrame":
    """Links the larger neighbours of each id to the smallest of all, or to itself."""
    both = edges.union(edges.select(F.col("b"), F.col("a")))
    least = both.groupBy("a").agg(F.least(F.col("a"), F.min("b")).alias("least"))
    larger = edges.select(F.col("a").alias("v"), F.col("b").alias("a"))
    return larger.join(least, "a").select(F.col("v").alias("a"), F.col("least").alias("b")).distinct()


def _small_star(edges: "DataFrame") -> "DataFrame":
    """Links each id and its smaller neighbours to the smallest of them."""
    least = edges.groupBy("a").agg(F.min("b").alias("least"))
    smaller = edges.join(least, "a").where("b != least").select(F.col("b").alias("a"), F.col("least").alias("b"))
    return smaller.union(least.select("a", F.col("least").alias("b"))).distinct()


def _remove(spark: SparkSession, folder: str) -> None:
    path = spark._jvm.org.apache.hadoop.fs.Path(folder)
    path.getFileSystem(spark._jsc.hadoopConfiguration()).delete(path, True)


def dedup(
    df: "DataFrame", *, text: str = "text", id: str = "id", url: str | None = "url",
    date: str | None = "date", keep: str = "first", work: str | None = None, parts: int = 1,
    **options: Any,
) -> "DataFrame":
    """The rows that stay: one of each cluster. Rows with nothing to compare in them go too,
    as on the command line.

    ``keep`` is ``first`` (by id), ``longest`` or ``newest``; ``parts`` as in :func:`cluster`.
    """
    from pyspark.sql import Window

    best = {
        "first": [F.col("id")],
        "longest": [F.col("tokens").desc(), F.col("id")],
        "newest": [F.col("date").desc_nulls_last(), F.col("id")],
    }
    if keep not in best:
        raise UsageError(f"there is no keep=`{keep}`; there are first, longest and newest")
    table = cluster(df, text=text, id=id, url=url, date=date, work=work, parts=parts, **options)
    order = Window.partitionBy("cluster").orderBy(*best[keep])
    stays = table.withColumn("place", F.row_number().over(order)).where("place = 1")
    stays = stays.select(F.col("id").alias("_stays"))
    return df.join(stays, df[id].cast("string") == stays["_stays"], "left_semi")


# From the shell.


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lookalike.spark", description="Near-duplicates on Apache Spark."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("cluster", "tables of pairs and clusters"), ("add", "a new collection")):
        one = commands.add_parser(name, help=text, description=f"Makes {text} of files.")
        one.add_argument("inputs", nargs="+", metavar="INPUT", help="a file, folder or object")
        if name == "cluster":
            one.add_argument("-o", "--out", required=True, help="folder for the tables")
        one.add_argument("--collection", required=name == "add", help="folder of a new collection")
        one.add_argument("--work", help="folder for phases, which all executors reach")
        one.add_argument("--master", help="as spark-submit has it")
        one.add_argument("--resemblance", type=float)
        one.add_argument("--containment", type=float)
        one.add_argument("--link", choices=("chain", "star"))
        one.add_argument("--verify", choices=("auto", "exact", "none"))
        for option in ("token", "sketch", "format"):
            one.add_argument(f"--{option}")
        for option in ("shingle", "samples", "seed"):
            one.add_argument(f"--{option}", type=int)
        for option in ("text", "id", "url", "date"):
            one.add_argument(f"--{option}-field", dest=option, metavar="FIELD")
        one.add_argument(
            "--memory", type=_bytes, metavar="BYTES",
            help="the driver's own, as in 512M or 4G; a quarter of its machine otherwise",
        )
        one.add_argument("--labelled", action="store_true", default=None)
        one.add_argument("--keep-case", action="store_true", default=None)
        one.add_argument("--key-file", help="a secret recipe; every executor is told it")
        one.add_argument("--quiet", "-q", action="store_true")
    return parser.parse_args(argv)


def _bytes(text: str) -> int:
    """A number of bytes, as the command line has it."""
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    unit = text[-1:].upper()
    number = text[:-1] if unit in units else text
    if not number.isdecimal():
        raise argparse.ArgumentTypeError(f"`{text}` is no number of bytes, as in 512M or 4G")
    return int(number) << units.get(unit, 0)


def main(argv: list[str] | None = None) -> int:
    """What ``python -m lookalike.spark`` does. The exit status is that of the command line."""
    given = vars(_arguments(argv))
    command, quiet = given.pop("command"), given.pop("quiet")
    key = given.pop("key_file")
    inputs, master = given.pop("inputs"), given.pop("master")
    places = {name: given.pop(name, None) for name in ("collection", "work", "out")}
    options = {name: value for name, value in given.items() if value is not None}

    def say(text: str) -> None:
        if not quiet:
            print(f"lookalike: {text}", file=sys.stderr, flush=True)

    try:
        if key is not None:
            with open(key, "rb") as file:
                options["key"] = file.read()
        engine.phase_job(**options)
        report = add(inputs, spark=session(master), say=say, **places, **options)
    except Error as error:
        hint = f"\n  hint: {error.hint}" if error.hint else ""
        print(f"lookalike: {error}{hint}", file=sys.stderr)
        return error.status
    except (OSError, PySparkException, Py4JError) as error:
        # Of Spark's own, which go on for pages, the first line.
        first = str(error).strip().splitlines() or [type(error).__name__]
        print(f"lookalike: {first[0]}", file=sys.stderr)
        return 6
    rejects = report.pop("rejects", "")
    for line in rejects.splitlines():
        say(f"rejected: {line}")
    print(json.dumps({"command": command, **report}))
    return 3 if report["rejected"] else 0


if __name__ == "__main__":
    # By its own name, so that executors import what it sends them.
    from lookalike.spark import main as named

    sys.exit(named())
