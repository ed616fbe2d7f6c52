"""How quick and how small a service is under load, by wrk: `make load`.

COLLECTION names the collection, the demo's crawl without; QUERIES a file of JSONL whose
texts are looked for, cut to 1,000 words, else words that it has not; SECONDS how long 16
connections ask. RECORD=name writes benchmarks/record/name.md.
"""

import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import threading

from common import ROOT, folder, words
from service import Service, demo, is_there

WORDS, QUERIES = 1000, 2000
SCRIPT = pathlib.Path(__file__).with_suffix(".lua")


def main():
    if not is_there("wrk"):
        sys.exit(1)
    seconds = int(os.environ.get("SECONDS") or 60)
    with folder() as work:
        work = pathlib.Path(work)
        collection = os.environ.get("COLLECTION") or demo(work / "crawl")
        bodies = work / "bodies"
        bodies.write_text("".join(f"{text}\n" for text in queries()))
        with Service(collection) as service:
            size = service.ask("/api/v1/collection").json()["documents"]
            load(service, bodies, 16, 5)  # Files are in memory afterwards.
            few = load(service, bodies, 16, seconds)
            many = load(service, bodies, 256, 10)
            assert service.ask("/healthz").status == 200
            assert service.stop() == 0
    rows = table(few, many)
    print("\n".join(rows))
    if os.environ.get("RECORD"):
        record(os.environ["RECORD"], size, seconds, rows)
    if any("missed" in row for row in rows):
        sys.exit("load: a target is missed")


def queries():
    """Documents of 1,000 words, each on a line."""
    path = os.environ.get("QUERIES")
    if not path:
        return [" ".join(words(seed, WORDS)) for seed in range(QUERIES)]
    texts = []
    with open(path) as file:
        for line in file:
            text = json.loads(line)["text"].split()
            if len(text) >= WORDS:
                texts.append(" ".join(text[:WORDS]))
            if len(texts) == QUERIES:
                break
    assert texts, f"{path} has no text of {WORDS} words"
    return texts


def load(service, bodies, connections, seconds):
    """What wrk measured, the answers by status, and the most that the service held meanwhile."""
    before, spent = answered(service), service.processor()
    memory, descriptors = [], []
    is_over = threading.Event()

    def watch():
        while not is_over.wait(0.5):
            memory.append(service.anonymous())
            descriptors.append(len(service.files()))

    watching = threading.Thread(target=watch)
    watching.start()
    command = ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", SCRIPT, service.url]
    environment = {**os.environ, "LOAD_BODIES": str(bodies)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    is_over.set()
    watching.join()
    assert done.returncode == 0, f"wrk: {done.stdout}{done.stderr}"
    measured = json.loads(done.stdout.strip().splitlines()[-1])
    after, spent = answered(service), service.processor() - spent
    statuses = {status: after[status] - before.get(status, 0) for status in after}
    # What was refused before it was counted.
    statuses[400] = statuses.get(400, 0) + max(0, measured["requests"] - sum(statuses.values()))
    measured["statuses"] = statuses
    return {**measured, "spent": spent, "memory": max(memory), "descriptors": max(descriptors)}


def answered(service):
    """How many requests for find were answered, by status."""
    lines = re.findall(r'route="/api/v1/find",status="(\d+)"} (\d+)', service.ask("/metrics").text)
    return {int(status): int(count) for status, count in lines}


def table(few, many):
    """One table: figure, measured, target."""
    rate = few["statuses"].get(200, 0) / few["seconds"]
    failed = sum(count for status, count in few["statuses"].items() if status != 200) + few["broken"]
    others = sum(count for status, count in many["statuses"].items() if status not in (200, 429, 503)) + many["broken"]
    rows = ["| figure | measured | target | |", "|---|--:|--:|---|"]
    for figure, measured, target, is_met in [
        ("16 connections: answers a second", f"{rate:,.0f}", "≥ 5,000", rate >= 5000),
        ("processor time of the service an answer, ms", f"{1e3 * few['spent'] / few['requests']:.3f}", "", True),
        ("half within, ms", f"{few['p50']:.2f}", "", True),
        ("99 of 100 within, ms", f"{few['p99']:.2f}", "≤ 50", few["p99"] <= 50),
        ("other answers, or broken off", failed, "0", failed == 0),
        ("resident memory apart from mapped files, MiB", f"{few['memory']:.0f}", "≤ 200", few["memory"] <= 200),
        ("descriptors", few["descriptors"], "", True),
        ("256 connections: answers of 200 a second", f"{many['statuses'].get(200, 0) / many['seconds']:,.0f}", "", True),
        ("of 503 and 429 a second", f"{sum(many['statuses'].get(status, 0) for status in (429, 503)) / many['seconds']:,.0f}", "", True),
        ("99 of 100 within, ms", f"{many['p99']:.2f}", "", True),
        ("other answers, or broken off", others, "0", others == 0),
        ("resident memory, MiB", f"{many['memory']:.0f}", "≤ 200", many["memory"] <= 200),
    ]:  # fmt: skip
        rows.append(f"| {figure} | {measured} | {target} | {'' if is_met else 'missed'} |")
    return rows


def record(name, size, seconds, rows):
    given = [f"{key}={pathlib.Path(os.environ[key]).name}" for key in ("COLLECTION", "QUERIES", "SECONDS") if os.environ.get(key)]
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    cpu = cpu[1] if cpu else platform.machine()
    wrk = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout.split(" [")[0]
    lines = [
        f"# The service under load: {name}", "",
        "```sh", " ".join(["make load", *given, f"RECORD={name}"]), "```", "",
        f"- {datetime.date.today()}, {cpu}, {os.cpu_count()} processors, which {wrk} shares",
        f"- {size:,} documents; `POST /api/v1/find` of {WORDS:,} words for {seconds} s, connections kept alive", "",
        *rows, "",
    ]  # fmt: skip
    path = ROOT / "benchmarks" / "record" / f"{name}.md"
    path.write_text("\n".join(lines))
    print(f"wrote {path.relative_to(ROOT)}")


main()
