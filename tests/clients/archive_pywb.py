"""pywb over the service, as its CDX source and as its Memento source: what it replays are the bytes of the WARCs.

Runs in an environment of its own: pywb wants other versions of what other clients want too.
"""

import collections
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from archive import payloads
from common import folder
from service import Service, demo


def main():
    contents = payloads()
    with folder() as work:
        work = pathlib.Path(work)
        with Service(demo(work / "crawl.lk")) as service, wayback(work, service) as url:
            counts = {source: replayed(f"{url}/{source}", contents) for source in ("cdx", "memento")}
            through(f"{url}/cdx", contents)
    print(f"pywb: {counts['cdx']} captures replayed through CDX and {counts['memento']} through Memento, the same bytes")


@contextlib.contextmanager
def wayback(work, service):
    """pywb with two collections, neither of which has a file of its own."""
    (work / "pywb").mkdir()
    config = {
        "collections": {
            "cdx": f"cdx+{service.url}/crawl-cdx",
            "memento": f"memento+{service.url}/crawl/",
        }
    }
    (work / "pywb" / "config.yaml").write_text(json.dumps(config))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = pathlib.Path(sys.executable).parent / "wayback"
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--directory", work / "pywb"]
    with open(work / "pywb.log", "w") as log:
        process = subprocess.Popen(command, cwd=work / "pywb", stdout=log, stderr=subprocess.STDOUT)
    try:
        url = f"http://127.0.0.1:{port}"
        wait(url, process, work / "pywb.log")
        yield url
    finally:
        process.terminate()
        process.wait()


def wait(url, process, log):
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.1)
    sys.exit(f"pywb does not start:\n{log.read_text()[-2000:]}")


def get(url):
    """Status, headers and body."""
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def replayed(url, contents):
    """Every capture as it was served, and some as pywb rewrites them."""
    for number, ((page, date), body) in enumerate(sorted(contents.items())):
        status, headers, got = get(f"{url}/{date}id_/{page}")
        assert status == 200, f"{url}: {page} at {date}: status {status}"
        assert got == body, f"{url}: {page} at {date}: other bytes"
        assert headers["Content-Type"].startswith("text/html"), headers["Content-Type"]
        assert headers["Memento-Datetime"], f"{url}: {page} has no date"
        if number % 25 == 0:
            status, _, got = get(f"{url}/{date}mp_/{page}")
            # Links are rewritten, so only what no link is is the same.
            title = body.split(b"<title", 1)[1].split(b"</title>")[0]
            assert status == 200 and title in got, f"{url}: {page} at {date} is not replayed"
    status, _, _ = get(f"{url}/2020id_/http://nobody.example/")
    assert status == 404, f"status {status} for a page that nobody has"
    return len(contents)


def through(url, contents):
    """What we add to lines comes out of pywb's own CDX server."""
    per_page = collections.Counter(page for page, _ in contents)
    page, count = per_page.most_common(1)[0]
    status, _, body = get(f"{url}/cdx?url={page}&output=json")
    lines = [json.loads(line) for line in body.splitlines()]
    assert status == 200 and len(lines) == count, body
    assert all(isinstance(line["cluster"], int) for line in lines), lines
    assert sum("resemblance" in line for line in lines) == count - 1, lines


main()
