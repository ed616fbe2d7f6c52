"""Schemathesis asks all that /api/openapi.json describes, and much that it forbids."""

import pathlib
import subprocess
import sys

from common import folder, lookalike
from service import Service, demo

CONFIG = pathlib.Path(__file__).with_suffix(".toml")
EXAMPLES = 100


def indexed(crawl):
    demo(crawl)
    lookalike("index", crawl)
    return crawl


def main():
    with folder() as work, Service(indexed(pathlib.Path(work) / "crawl"), "--search") as service:
        program = pathlib.Path(sys.executable).parent / "schemathesis"
        command = [
            program, "--config-file", CONFIG, "run", f"{service.url}/api/openapi.json", "--checks", "all", "--seed", "1997",
            "--max-examples", str(EXAMPLES), "--continue-on-failure", "--no-color",
        ]  # fmt: skip
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            sys.exit(f"schemathesis: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        cases = [line.strip() for line in done.stdout.splitlines() if "generated" in line]
        assert service.process.poll() is None, "the service ended"
        print(f"schemathesis: {' '.join(cases)}")


main()
