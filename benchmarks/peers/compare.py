"""Runs the exact program, lookalike and its peers on the same documents, and writes one table.

    compare.py DOCUMENTS.jsonl [--sample N] [--only NAME,NAME] [--limit SECONDS] [--record FILE]

CPU seconds are those of the whole process tree (wait4), memory the largest process of it. Recall: of the pairs
that truly resemble by the threshold or more, those put in one cluster. Precision: of the pairs put in one
cluster, those that single-link clustering of the true pairs puts in one cluster too; counted by
cluster sizes, since a large cluster has more pairs than fit anywhere.
"""
import argparse
import collections
import datetime
import itertools
import json
import os
import pathlib
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"

# The command lines of lookalike, one a line; the last one leaves the clusters.
LOOKALIKE = os.environ.get("LOOKALIKE_STEPS", """
{bin}/lookalike add {work}/{name} {documents} --memory 512M --quiet
{bin}/lookalike export {work}/{name} clusters --quiet -o {out}
""")
ONE_THREAD = LOOKALIKE.replace(" --memory", " --threads 1 --memory")
EXACT = "{bin}/exact {documents} --threshold 0.5 --clusters {out} --pairs {work}/pairs.tsv"
PEER = "{python} {here}/run_{name}.py {documents} {out}"
PROGRAMS = {
    "exact": ("the exact program, in memory", EXACT),
    "lookalike": ("lookalike", LOOKALIKE),
    "lookalike-1": ("lookalike, one thread", ONE_THREAD),
    "daft": ("Daft minhash, 25×5 bands", PEER),
    "gaoya": ("gaoya, 25×5, sketch check", PEER),
    "rensa": ("rensa, 32×4, sketch check", PEER),
    "datasketch": ("datasketch, 25×5", PEER),
}


class Failed(Exception):
    pass


def run(command, limit, log):
    """CPU seconds and peak memory of a command and all it starts."""
    with open(log, "ab") as err:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err, start_new_session=True)
    late = threading.Event()

    def stop():
        late.set()
        os.killpg(child.pid, signal.SIGKILL)

    clock = threading.Timer(limit, stop)
    clock.start()
    _, status, usage = os.wait4(child.pid, 0)
    clock.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    if late.is_set():
        raise Failed(f"stopped after {limit:.0f} s")
    if child.returncode:
        raise Failed(f"status {child.returncode}, see {log.name}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def read_clusters(path):
    if path.suffix == ".jsonl":
        with open(path) as lines:
            rows = map(json.loads, lines)
            return {row["id"]: row["cluster"] for row in rows}
    with open(path) as lines:
        return dict(line.rstrip("\n").split("\t") for line in lines)


def pairs_of(sizes):
    return sum(n * (n - 1) // 2 for n in sizes)


def quality(found, truth, pairs):
    """Recall, precision, size of the largest cluster. A document without cluster stands alone."""
    cluster = {name: found[name] if found.get(name) is not None else ("alone", name) for name in truth}
    together = pairs_of(collections.Counter(cluster.values()).values())
    both = pairs_of(collections.Counter((cluster[name], truth[name]) for name in truth).values())
    met = total = 0
    with open(pairs) as lines:
        for line in lines:
            a, b, _ = line.split("\t")
            total += 1
            met += cluster[a] == cluster[b]
    largest = max(collections.Counter(cluster.values()).values())
    return met / max(total, 1), both / max(together, 1), largest


def percent(share):
    """Rounded down: 99.99 is not 100."""
    return f"{int(share * 10000) / 100:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=pathlib.Path)
    parser.add_argument("--sample", type=int, help="only the first N documents")
    parser.add_argument("--only", help="names, with commas: " + ",".join(PROGRAMS))
    parser.add_argument("--limit", type=float, default=1200, help="seconds for each program (1200)")
    parser.add_argument("--record", type=pathlib.Path, help="where the table is written as well")
    options = parser.parse_args()
    work = options.documents.parent / "peers"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    documents = options.documents
    if options.sample:
        documents = work / "sample.jsonl"
        with open(options.documents, "rb") as source, open(documents, "wb") as out:
            out.writelines(itertools.islice(source, options.sample))
    with open(documents, "rb") as lines:
        count = sum(1 for _ in lines)
    wanted = options.only.split(",") if options.only else list(PROGRAMS)
    wanted = ["exact"] + [name for name in wanted if name != "exact"]
    head = ["| program | CPU s | peak MiB | pair recall % | precision % | largest cluster |", "|---|--:|--:|--:|--:|--:|"]
    rows, truth = [], None
    print("\n".join(head), flush=True)
    for name in wanted:
        title, lines = PROGRAMS[name]
        out = work / f"{name}.{'jsonl' if name.startswith('lookalike') else 'tsv'}"
        names = dict(bin=TARGET, documents=documents, work=work, out=out, here=HERE, name=name, python=sys.executable)
        cpu = memory = 0
        try:
            for line in lines.strip().splitlines():
                spent, held = run(shlex.split(line.format(**names)), options.limit, work / f"{name}.log")
                cpu, memory = cpu + spent, max(memory, held)
            found = read_clusters(out)
            truth = truth or found
            recall, precision, largest = quality(found, truth, work / "pairs.tsv")
            row = f"| {title} | {cpu:.1f} | {memory / 2**20:.0f} | {percent(recall)} | {percent(precision)} | {largest} |"
        except (Failed, OSError, ValueError, KeyError) as why:
            if truth is None:
                sys.exit(f"compare.py: no truth without the exact program: {why}")
            row = f"| {title} | {why} | | | | |"
        rows.append(row)
        print(row, flush=True)
    if options.record:
        sample = f" --sample {options.sample}" if options.sample else ""
        only = f" --only {options.only}" if options.only else ""
        versions = (HERE / "requirements.txt").read_text().splitlines()
        versions = ", ".join(line.replace("==", " ") for line in versions if "==" in line)
        steps = "\n".join(line.strip().replace("{bin}/", "") for line in LOOKALIKE.strip().splitlines())
        processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "?")
        options.record.write_text("\n".join([
            "# Against the obvious", "",
            "```sh", f"scripts/bench-peers{sample}{only}", "```", "",
            f"- {datetime.date.today().isoformat()}, {processor}, {os.cpu_count()} cores, Python {platform.python_version()}",
            f"- {count} documents, {documents.stat().st_size} bytes of JSONL (`scripts/bench-documents`); "
            "shingles of 10 words, resemblance ≥ 0.5",
            f"- {versions}",
            "- banding and checks were chosen by hand: the quality columns rank configurations, not libraries",
            "", *head, *rows, "", "lookalike ran as", "", "```sh", steps, "```", ""]))


if __name__ == "__main__":
    main()
