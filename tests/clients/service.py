"""What the tests of `lookalike serve` share: a service under test, and plain questions to it."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys

from common import CRAWL, LOOKALIKE, add


def demo(collection, sweeps=len(CRAWL)):
    """The crawl that ships with the source as a collection, each sweep under its date."""
    for warc in CRAWL[:sweeps]:
        add(collection, warc, "--date", warc.name.removesuffix(".warc.gz"))
    return collection


class Service:
    """`lookalike serve` on a free port of this machine."""

    def __init__(self, collection, *options, listen="127.0.0.1:0", under=()):
        command = [*under, str(LOOKALIKE), "serve", str(collection), "--listen", listen, "--json", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline()
        if not said:
            raise AssertionError(f"$ {' '.join(command)}\nexit status {self.process.wait()}")
        self.port = int(json.loads(said)["listening"].rpartition(":")[2])
        self.url = f"http://127.0.0.1:{self.port}"

    def connection(self, timeout=10):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, path, method="GET", body=None, headers=None, timeout=10):
        """One request on a connection of its own: the response, its body in `text` and `json()`."""
        with contextlib.closing(self.connection(timeout)) as connection:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            response.body = response.read()
        response.text = response.body.decode()
        response.json = lambda: json.loads(response.body)
        return response

    def anonymous(self):
        """Resident memory that is not of files, in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0]) / 1024

    def processor(self):
        """Seconds of processor time so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def files(self):
        """What its descriptors are of."""
        names = []
        for entry in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                names.append(os.readlink(entry))
        return names

    def stop(self, within=11):
        """Asks it to end; gives its exit status."""
        self.process.terminate()
        return self.process.wait(within)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def is_there(program):
    """Whether a program is installed. Without it a test is skipped aloud; under CI=true it fails."""
    if shutil.which(program):
        return True
    if os.environ.get("CI") == "true":
        sys.exit(f"{program}: not installed")
    print(f"{program}: skipped, it is not installed")
    return False
