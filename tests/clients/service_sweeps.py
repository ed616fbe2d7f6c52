"""Sweeps are added to a collection while it is served: every answer is of one whole generation, the
newest is seen at once, and nothing of the old ones stays behind.

SECONDS makes it go on for so long with small sweeps, and 16 clients in place of 4.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import threading
import time

from common import CRAWL, add, folder, words
from service import Service

SECONDS = int(os.environ.get("SECONDS") or 0)
THREADS = 16 if SECONDS else 4


def main():
    with folder() as work:
        work = pathlib.Path(work)
        collection = work / "crawl"
        start = work / "start.jsonl"
        start.write_text(json.dumps({"id": "start", "text": " ".join(words(1, 200))}) + "\n")
        add(collection, start)
        with Service(collection) as service:
            known = {}
            learn(service, known)
            answers, waits = [], []
            with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
                is_over = threading.Event()
                asking = [pool.submit(ask, service, is_over) for _ in range(THREADS)]
                try:
                    for sweep in sweeps(work):
                        add(collection, sweep)
                        waits.append(until_seen(service, known))
                    time.sleep(1)
                finally:
                    is_over.set()
                for one in asking:
                    answers += one.result()
            check_answers(answers, known, len(waits))
            assert max(waits) < 2, f"a sweep was seen only after {max(waits):.1f} s"
            descriptors, memory = check_left(service, collection)
        seen = len({generation for generation, _, _ in answers})
        print(
            f"sweeps: {len(answers)} answers of {seen} generations, each whole; a sweep is seen after at most "
            f"{max(waits):.1f} s; {descriptors} descriptors and {memory:.0f} MiB at the end"
        )


def sweeps(work):
    """The crawl's, then small ones until the time is over."""
    end = time.monotonic() + SECONDS
    yield from CRAWL
    number = 0
    while time.monotonic() < end:
        number += 1
        path = work / f"{number}.jsonl"
        texts = (" ".join(words(1000 * number + i, 300)) for i in range(20))
        path.write_text("".join(json.dumps({"id": f"{number}-{i}", "text": text}) + "\n" for i, text in enumerate(texts)))
        yield path
        time.sleep(2)


def learn(service, known):
    """What the generation that is served has."""
    collection = service.ask("/api/v1/collection").json()
    known[collection["generation"]] = collection["documents"]
    return collection["generation"]


def until_seen(service, known):
    """How long after the commit the new sweep is served, in seconds."""
    committed = time.monotonic()
    newest = max(known)
    while learn(service, known) == newest:
        assert time.monotonic() - committed < 10, "a new sweep is not seen"
        time.sleep(0.02)
    return time.monotonic() - committed


def ask(service, is_over):
    """Asks on one connection; gives generation, documents and matches of every answer."""
    document = " ".join(words(1, 200)).encode()
    answers = []
    with contextlib.closing(service.connection()) as connection:
        while not is_over.is_set():
            connection.request("POST", "/api/v1/find", document)
            response = connection.getresponse()
            body = response.read()
            assert response.status == 200, f"status {response.status}: {body[:200]}"
            answer = json.loads(body)
            answers.append((answer["generation"], answer["documents"], [one["doc"] for one in answer["matches"]]))
            for path in ("/", "/clusters", "/api/v1/clusters?limit=500"):
                connection.request("GET", path)
                response = connection.getresponse()
                response.read()
                assert response.status == 200, f"{path}: status {response.status}"
    return answers


def check_answers(answers, known, added):
    assert len(known) == 1 + added, f"generations {known}"
    for generation, documents, matches in answers:
        assert known.get(generation) == documents, f"{documents} documents in generation {generation} of {known}"
        assert matches == [0], f"the first document is found as {matches}"
    missing = set(known) - {generation for generation, _, _ in answers}
    assert not missing, f"nobody was answered from generation {missing}"


def check_left(service, collection):
    """It holds what a service holds that was started on the newest generation, and no more."""
    held = descriptors, memory = holds(service)
    gone = [name for name in service.files() if name.endswith(" (deleted)")]
    assert not gone, f"files of old generations are still open: {gone}"
    with Service(collection) as fresh:
        expected = holds(fresh)
    assert descriptors == expected[0], f"{descriptors} descriptors, {expected[0]} in a new service"
    assert memory <= expected[1] + 32, f"{memory:.0f} MiB, {expected[1]:.0f} MiB in a new service"
    return held


def holds(service):
    """Descriptors and memory once all that a page needs was asked for, and connections are closed."""
    for path in ("/", "/clusters", "/lookup", "/documents/0"):
        service.ask(path)
    time.sleep(0.5)
    return len(service.files()), service.anonymous()


main()
