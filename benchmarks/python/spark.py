"""The job on Spark beside the engine, on generated documents: processor time a document.

    make bench-spark NAME=2026-11-spark

Everything runs on this machine, Spark as `local[2]`. Of Spark all its processes are counted,
from the moment that the session stands. A target that is missed is an exit status of 1.
"""

import hashlib
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parents[2]
TICK = os.sysconf("SC_CLK_TCK")
TABLES = ("documents", "pairs", "clusters")
COUNTS = tuple(int(count) for count in os.environ.get("COUNTS", "200000 400000").split())
#: The driver's budget.
MEMORY = "256M"
VOCABULARY = [f"w{number}" for number in range(100_000)]


def write(folder, count):
    """Every fifth document is an earlier one with a few other words."""
    draw = random.Random(7)
    folder.mkdir()
    recent = []
    files = [open(folder / f"{number:02d}.jsonl", "w") for number in range(16)]
    for number in range(count):
        if number % 5 == 4:
            text = draw.choice(recent).split()
            for _ in range(draw.choice([0, 1, 2, 4, 8])):
                text[draw.randrange(len(text))] = f"e{draw.randrange(10**9)}"
        else:
            text = draw.choices(VOCABULARY, k=draw.choice([60, 120, 240]))
        recent = (recent + [" ".join(text)])[-500:]
        row = {"id": f"n{number}", "text": recent[-1]}
        files[number * 16 // count].write(json.dumps(row) + "\n")
    for file in files:
        file.close()


def of_engine(inputs, collection):
    """User and system seconds of `lookalike add`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [os.environ["LOOKALIKE"], "add", collection, inputs, "-q"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def processes(group):
    """Of every process of a group: processor time, and the memory of its own. Files that it
    has mapped are the system's to take back."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                # Group, session; user and system time.
                if group not in (int(fields[2]), int(fields[3])):
                    continue
                # Not its name: a thread that is about to start a process gives it its own.
                exe = os.readlink(f"/proc/{entry}/exe")
                with open(f"/proc/{entry}/status") as file:
                    status = dict(line.split(":", 1) for line in file)
            except OSError:
                continue
            own = int(status.get("RssAnon", "0 kB").split()[0]) << 10
            is_java = os.path.basename(exe) == "java"
            found[int(entry)] = (sum(map(int, fields[11:13])) / TICK, own, is_java)
    return found


def size(folder):
    """Bytes of all files below a folder, which may be changing."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_size
            except OSError:
                pass
    return total


class Run:
    """The job on Spark, without the start of the session."""

    def __init__(self, folder):
        local, log = folder / "local", folder / "log"
        settings = {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": "--conf spark.ui.enabled=false --driver-memory 2g "
            f"--conf spark.local.dir={local} pyspark-shell",
        }
        args = ["cluster", folder / "in", "-o", folder / "out", "--collection", folder / "c"]
        args += ["--work", folder / "work", "--master", "local[2]", "--memory", MEMORY]
        with open(log, "w") as out:
            job = subprocess.Popen(
                [sys.executable, "-m", "lookalike.spark", *args],
                stdout=subprocess.PIPE, stderr=out, env={**os.environ, **settings}, text=True,
                start_new_session=True,
            )
            seen, self.shuffled = {}, 0
            # What had been used when each phase began.
            begun = {}
            while job.poll() is None:
                for pid, (used, own, is_java) in processes(job.pid).items():
                    seen[pid] = (used, max(own, seen.get(pid, (0, 0))[1]), is_java)
                used = sum(one[0] for one in seen.values())
                for line in log.read_text().splitlines():
                    if line.startswith("lookalike: ") and line.endswith(": begun"):
                        begun.setdefault(line.split(": ")[1], used)
                self.shuffled = max(self.shuffled, size(local))
                time.sleep(0.1)
        assert job.returncode == 0, log.read_text()[-3000:]
        self.report = json.loads(job.stdout.read())
        end = sum(one[0] for one in seen.values())
        names, starts = list(begun), [*begun.values(), end]
        self.cpu = end - starts[0]
        self.phases = {name: starts[at + 1] - starts[at] for at, name in enumerate(names)}
        # The driver's own process; the largest that runs our functions.
        self.driver = seen[job.pid][1]
        self.worker = max(one[1] for pid, one in seen.items() if pid != job.pid and not one[2])
        jobs = list((folder / "work").glob("job-*"))
        self.written = {path.name: size(path) for path in sorted(jobs[0].iterdir())}
        self.collection = size(folder / "c")


def same(one, other):
    read = lambda folder: {path.name: path.read_bytes() for path in folder.iterdir()}
    return read(one) == read(other)


def checksum(path):
    """Of every row of a table, in order."""
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(pq.read_table(path), sink)
    return hashlib.sha256(sink.getvalue()).hexdigest()[:16]


def tables_of_engine(folder):
    for name in TABLES:
        command = [os.environ["LOOKALIKE"], "export", folder / "engine", name, "-o", folder / f"{name}.parquet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        yield checksum(folder / f"{name}.parquet")


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else None
    lines = [
        f"# Spark: {name or 'a run'}", "", "```sh", f"make bench-spark NAME={name}", "```", "",
        "- processor seconds of all processes; Spark as `local[2]`, its session's start apart",
        "- *ours*: the engine's functions in the executors, of what Spark takes",
        "- *same*: the collection has the engine's bytes, and every row of the tables is the engine's", "",
        "| documents | engine | Spark | times (target 12 at the most) | ours | same | growth (target 2.2) |",
        "|--:|--:|--:|--:|--:|---|--:|",
    ]
    sums, runs, engines, is_met = [], [], [], True
    texts = 0
    for count in COUNTS:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-spark-"))
        write(folder / "in", count)
        texts = size(folder / "in")
        engines.append(of_engine(folder / "in", folder / "engine"))
        run = Run(folder)
        wanted = list(tables_of_engine(folder))
        found = [checksum(folder / "out" / f"{name}.parquet") for name in TABLES]
        is_same = same(folder / "engine", folder / "c") and found == wanted
        growth = run.cpu / runs[-1].cpu if runs else None
        times = run.cpu / engines[-1]
        # What Spark takes to begin with weighs less the more there is.
        is_met &= is_same and (count < max(COUNTS) or times <= 12) and (growth is None or growth <= 2.2)
        lines.append(
            f"| {count:,} | {engines[-1]:.1f} | {run.cpu:.1f} | {times:.1f} | "
            f"{run.report['engine_seconds'] / run.cpu:.0%} | {'yes' if is_same else 'NO'} | "
            f"{'' if growth is None else f'{growth:.2f}'} |"
        )
        print(lines[-1], flush=True)
        sums.append(f"- {count:,} documents: " + ", ".join(f"{name} {sum}" for name, sum in zip(TABLES, found)))
        runs.append(run)
        shutil.rmtree(folder)
    (less, more), (few, many) = runs, COUNTS
    each = lambda bytes: f"{bytes / many:,.0f}"
    grown = lambda of: f"{(of(more) - of(less)) / (many - few):,.1f}"
    lines += [
        "", "Checksums of the tables, over every row:", "", *sums, "",
        f"What a document costs, at {many:,}; *more for each* is the difference to {few:,}, by as many documents.", "",
        "| figure | of one document | more for each |", "|---|--:|--:|",
        f"| bytes of input | {each(texts)} | |",
        f"| processor ms of all of Spark | {1e3 * more.cpu / many:.3f} | {grown(lambda run: 1e3 * run.cpu)[:6]} |",
        *(f"| – in phase `{name}` | {1e3 * used / many:.3f} | |" for name, used in more.phases.items()),
        f"| bytes below `work` | {each(sum(more.written.values()))} | {grown(lambda run: sum(run.written.values()))} |",
        *(f"| – of phase `{name}` | {each(bytes)} | |" for name, bytes in more.written.items()),
        f"| bytes on Spark's local disks, at most | {each(more.shuffled)} | {grown(lambda run: run.shuffled)} |",
        f"| bytes of the collection | {each(more.collection)} | {grown(lambda run: run.collection)} |",
        f"| memory of the driver's Python, of {more.driver >> 20} MiB with `--memory {MEMORY}` | | {grown(lambda run: run.driver)} |",
        "", f"The largest process with our functions had {more.worker >> 20} MiB ({less.worker >> 20} with {few:,}).",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if name:
        (HERE / "benchmarks/record" / f"{name}.md").write_text(text)
    return int(not is_met)


if __name__ == "__main__":
    sys.exit(main())
