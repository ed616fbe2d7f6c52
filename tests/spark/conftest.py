"""A real cluster on this machine: a master and two workers, each with one executor."""

import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import time

import pyspark
import pytest

CASES = pathlib.Path(__file__).resolve().parents[2] / "crates/lookalike-testkit/cases.jsonl"
SPARK = os.path.dirname(pyspark.__file__)

# Executors and driver are this interpreter's, on the loopback alone.
os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", SPARK_HOME=SPARK)


def run(*args, status=(0, 3)):
    """Runs the program that is the judge of every answer; gives its standard output."""
    command = [os.environ["LOOKALIKE"], *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in status, f"{command}: {done.returncode}\n{done.stderr[-3000:]}"
    return done.stdout


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(log, name, *args):
    """One of Spark's own programs."""
    command = [os.path.join(SPARK, "bin", "spark-class"), f"org.apache.spark.deploy.{name}", *map(str, args)]
    return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


#: Processes of the workers: whatever they start is in their sessions.
workers: list[int] = []


@pytest.fixture(scope="session")
def master(tmp_path_factory):
    """The address of a cluster."""
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with open(folder / "log", "wb") as log:
        own = ["--host", "127.0.0.1", "--webui-port", "0"]
        started = [start(log, "master.Master", *own, "--port", port)]
        for number in range(2):
            work = folder / f"worker-{number}"
            started.append(
                start(log, "worker.Worker", *own, "--cores", 1, "--memory", "3g", "--work-dir", work, url)
            )
        try:
            until = time.monotonic() + 180
            while (folder / "log").read_bytes().count(b"Successfully registered with master") < 2:
                assert time.monotonic() < until, (folder / "log").read_text()[-4000:]
                time.sleep(0.5)
            workers.extend(process.pid for process in started[1:])
            yield url
        finally:
            for process in started:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def session(master):
    """A session of that cluster. It is given back before anybody else asks for executors."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("tests")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    yield spark
    spark.stop()


def generated(count, seed=7, lengths=(20, 40, 120)):
    """Texts of which every third is an edited copy of an earlier one, by more or fewer words,
    and all of which end in the same words. Of those longer than a sketch some copies are so
    near the threshold that they must be read again."""
    draw = random.Random(seed)
    texts = []
    for number in range(count):
        if number % 3 == 2:
            text = draw.choice(texts[-3000:]).split()
            edits = [0, 1, 2, 4, 6, 8] if len(text) < 300 else [0, 4, 12, 13, 14, 15]
            for _ in range(draw.choice(edits)):
                text[draw.randrange(len(text))] = f"e{draw.randrange(10**9)}"
        else:
            text = [f"w{draw.randrange(100_000)}" for _ in range(draw.choice(lengths))]
            text += [f"common{i}" for i in range(12)]
        texts.append(" ".join(text))
    return texts
