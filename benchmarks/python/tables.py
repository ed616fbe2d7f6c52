"""`lookalike.dedup` of a Polars table beside `lookalike dedup` of the same rows as Parquet.

    tables.py DOCUMENTS.jsonl WORK RECORD

Prints a table and writes it to RECORD. Processor time is user and system of the process, the
best of five rounds; both run in turns, so that a busy minute hits both. A target that is
missed is an exit status of 1.
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import threading
import time

ROUNDS = 5


def cpu():
    """Processor seconds of this process and all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def status(name):
    """A figure of this process in bytes: VmRSS, VmHWM."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


def once(path):
    """One call in a process of its own: its cost, and what memory it took on top."""
    import lookalike
    import polars

    frame = polars.read_parquet(path)
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    memory, before, wall = status("VmRSS"), cpu(), time.monotonic()
    kept = lookalike.dedup(frame)
    report = {
        "cpu": cpu() - before,
        "wall": time.monotonic() - wall,
        "input": frame.estimated_size(),
        "above": status("VmHWM") - memory,
        "kept": len(kept),
        "rows": len(frame),
    }
    print(json.dumps(report))


def two(path):
    """Two calls on one thread each, one after the other and at the same time."""
    import lookalike
    import polars

    frame = polars.read_parquet(path)
    work = lambda: lookalike.dedup(frame, threads=1)
    best = {}
    for _ in range(3):
        start, used = time.monotonic(), cpu()
        work()
        work()
        alone = (time.monotonic() - start, cpu() - used)
        threads = [threading.Thread(target=work) for _ in range(2)]
        start, used = time.monotonic(), cpu()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        together = (time.monotonic() - start, cpu() - used)
        figures = {"alone": alone, "together": together, "at once": together[1] / together[0]}
        if not best or figures["at once"] > best["at once"]:
            best = figures
    print(json.dumps(best))


def child(what, path):
    command = [sys.executable, __file__, what, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def command(path, out):
    """The program's processor time, and how many rows it keeps."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = [os.environ["LOOKALIKE"], "dedup", path, "-o", out, "--overwrite", "--json", "--quiet"]
    told = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": used, "kept": told["kept"], "rows": told["read"]}


def main(documents, work, record):
    import polars

    work = pathlib.Path(work)
    path = work / "rows.parquet"
    polars.read_ndjson(documents).write_parquet(path)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(command(path, work / "out.parquet"))
        ours.append(child("once", path))
    assert {(one["kept"], one["rows"]) for one in ours + theirs} == {(ours[0]["kept"], ours[0]["rows"])}
    best = min(ours, key=lambda one: one["cpu"])
    program = min(one["cpu"] for one in theirs)
    above = max(one["above"] for one in ours)
    both = child("two", path)
    mib = 1 << 20
    share = best["cpu"] / program
    rows = [
        ("processor seconds of `lookalike dedup`, Parquet to Parquet", f"{program:.2f}", ""),
        ("processor seconds of `lookalike.dedup`, Polars to Polars", f"{best['cpu']:.2f}", ""),
        ("as a share of the program's", f"{share:.2f}", "≤ 1.20"),
        ("MiB of the table", f"{best['input'] / mib:.0f}", ""),
        ("MiB at the peak above the process with the table, worst of all rounds", f"{above / mib:.0f}", "≤ 300"),
        ("two calls after each other, one thread each: seconds", f"{both['alone'][0]:.2f}", ""),
        ("two calls at once from two Python threads: seconds", f"{both['together'][0]:.2f}", ""),
        ("processors busy meanwhile", f"{both['at once']:.2f}", "> 1"),
    ]
    lines = [
        f"# Python: {pathlib.Path(record).stem}",
        "",
        "```sh",
        "make bench-python",
        "```",
        "",
        f"{best['rows']:,} generated documents, of which {best['kept']:,} stay; best of {ROUNDS} rounds, in turns.",
        "",
        "| figure | measured | target |",
        "|---|--:|--:|",
        *(f"| {what} | {value} | {target} |" for what, value, target in rows),
        "",
    ]
    print("\n".join(lines))
    pathlib.Path(record).write_text("\n".join(lines))
    return int(not (share <= 1.2 and above <= 300 * mib and both["at once"] > 1))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["once", path]:
            once(path)
        case ["two", path]:
            two(path)
        case [documents, work, record]:
            sys.exit(main(documents, work, record))
        case _:
            sys.exit(__doc__)
