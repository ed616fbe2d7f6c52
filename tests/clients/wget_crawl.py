"""A crawl by wget of a small site: same pages are found through any encoding on the wire."""

import gzip
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

from warcio.archiveiterator import ArchiveIterator

from common import add, edited, folder, lookalike, words

PAGES = 30
# Pages that hold the same text, by number. 3 and 4 differ in four words of 400.
SAME = [(1, 2), (3, 4), (5, 6), (7, 8)]
GZIPPED, CHUNKED = 5, 7


def main():
    if shutil.which("wget") is None:
        if os.environ.get("CI") == "true":
            sys.exit("wget: not installed")
        print("wget: skipped, it is not installed")
        return
    with folder() as work:
        work = pathlib.Path(work)
        crawl(work)
        check_wire(work / "site.warc.gz")
        report = add(work / "site", work / "site.warc.gz")
        lookalike("cluster", work / "site", "--resemblance", "0.5", "-o", work / "clusters.jsonl")
        rows = [json.loads(line) for line in (work / "clusters.jsonl").read_text().splitlines()]
        check_clusters(rows)
        print(f"wget: {report['added']} documents of its crawl, {len(SAME)} planted pairs found and no other")


def texts():
    """The text of every page, by number."""
    pages = {number: words(number, 400) for number in range(PAGES)}
    pages[4] = edited(pages[3], {50, 150, 250, 350})
    for a, b in SAME:
        if a != 3:
            pages[b] = pages[a]
    return pages


def site():
    """Path to page; the first links to all."""
    pages = {}
    for number, text in texts().items():
        links = range(PAGES) if number == 0 else ()
        anchors = "".join(f'<a href="/{to}.html"></a>' for to in links)
        name = "/" if number == 0 else f"/{number}.html"
        pages[name] = f"<!DOCTYPE html><html><body><p>{' '.join(text)}</p>{anchors}</body></html>\n".encode()
    pages["/0.html"] = pages["/"]
    return pages


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pages = site()

    def do_GET(self):
        page = self.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if self.path == f"/{GZIPPED}.html":
            page = gzip.compress(page, mtime=0)
            self.send_header("Content-Encoding", "gzip")
        if self.path == f"/{CHUNKED}.html":
            self.send_header("Transfer-Encoding", "chunked")
            # 97 bytes at a time: chunk borders fall within words.
            parts = [page[at : at + 97] for at in range(0, len(page), 97)] + [b""]
            page = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts)
        else:
            self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


def crawl(work):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        # 8 says that the server sent an error: there is no robots.txt.
        done = subprocess.run(
            ["wget", "--no-config", "--no-proxy", "--recursive", "--level=inf", "--delete-after", "--no-verbose",
             "--tries=2", "--timeout=10", "--warc-file=site", f"http://127.0.0.1:{server.server_port}/"],
            cwd=work, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        server.shutdown()
        server.server_close()
    assert done.returncode in (0, 8), f"wget: exit status {done.returncode}\n{done.stderr}"


def check_wire(warc):
    """The crawl holds the encodings this test is about."""
    seen = {}
    with open(warc, "rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "response":
                path = record.rec_headers["WARC-Target-URI"].strip("<>").split("/", 3)[3]
                seen[path] = record.http_headers
    assert len(seen) >= PAGES, f"wget fetched only {sorted(seen)}"
    assert seen[f"{GZIPPED}.html"].get_header("Content-Encoding") == "gzip"
    assert seen[f"{CHUNKED}.html"].get_header("Transfer-Encoding") == "chunked"


def check_clusters(rows):
    """The planted pairs and nothing else. `/` and `/0.html` are one page too."""
    clusters = {}
    for row in rows:
        # wget adds its own log as resources: metadata://gnu.org/….
        if row["url"].startswith("http:"):
            clusters.setdefault(row["cluster"], set()).add(row["url"].split("/", 3)[3])
    found = {frozenset(names) for names in clusters.values() if len(names) > 1}
    expected = {frozenset(f"{number}.html" for number in pair) for pair in SAME} | {frozenset(("", "0.html"))}
    assert found == expected, f"clusters of more than one: {sorted(map(sorted, found))}"
    alone = sum(len(names) == 1 for names in clusters.values())
    assert alone == PAGES - 1 - 2 * len(SAME), f"{alone} pages stand alone"


main()
