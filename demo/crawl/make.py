#!/usr/bin/env python3
"""Makes the three sweeps in this folder from the manual pages of two releases.

    python3 demo/crawl/make.py CORPUS            writes DATE.warc.gz beside this file
    python3 demo/crawl/make.py CORPUS --check    says whether they hold what it would write

CORPUS is a folder with postgresql-13.warc.gz and postgresql-17.warc.gz, each page a
response record. Page bytes are taken as they are; addresses, dates and HTTP headers are
made here, for no one crawled these pages on these days. README.md tells what is in them.

The same corpus and the same zlib give the same bytes. Another zlib may compress
differently, so --check compares what the members hold.
"""

import base64
import gzip
import hashlib
import pathlib
import re
import struct
import sys
import uuid
import zlib

HERE = pathlib.Path(__file__).resolve().parent
DOCS = "https://docs.example.org/current/"
MIRROR = "https://mirror.example.org/docs/"

# Chapters, by the first word of the page's name: enough to show every fate a page can have.
CHAPTERS = """
    auth backup brin btree ddl disk diskusage dml gin gist hash indexes indextypes install
    installation logical mvcc queries spgist subxacts transaction transactions tutorial two
    typeconv xact
""".split()

# Pages that are served by a second host too, byte for byte.
MIRRORED = """
    tutorial.html tutorial-start.html tutorial-install.html tutorial-arch.html
    tutorial-createdb.html tutorial-accessdb.html
""".split()

# Pages that have another address from the second sweep on, and what the old one answers then.
MOVED = {
    "auth-password.html": (DOCS + "password-authentication.html", "404 Not Found"),
    "queries-with.html": (DOCS + "common-table-expressions.html", "301 Moved Permanently"),
    "backup-file.html": ("https://handbook.example.org/backup/file-system.html", "404 Not Found"),
}

FIRST, SECOND, THIRD = "2020-09-24", "2022-05-12", "2024-09-26"
PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def main():
    corpus = pathlib.Path(sys.argv[1])
    old = chosen(corpus / "postgresql-13.warc.gz")
    new = chosen(corpus / "postgresql-17.warc.gz")
    sweeps = dict(zip((FIRST, SECOND, THIRD), crawl(old, new)))
    if sys.argv[2:] == ["--check"]:
        check(sweeps)
        return
    for date, members in sweeps.items():
        path = HERE / f"{date}.warc.gz"
        path.write_bytes(b"".join(map(member, members)))
        print(f"{path.name}: {len(members)} records, {path.stat().st_size} bytes")


def chosen(path):
    """The pages of the chosen chapters, by name, in order of name."""
    with gzip.open(path) as file:
        pages = dict(responses(file.read()))
    return {name: pages[name] for name in sorted(pages) if re.split(r"[-.]", name)[0] in CHAPTERS}


def responses(data):
    """Name and payload of every response record of an uncompressed WARC file."""
    at = 0
    while at < len(data):
        end = data.index(b"\r\n\r\n", at)
        head = data[at:end].decode()
        field = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
        start, length = end + 4, int(field["Content-Length"])
        if field["WARC-Type"] == "response":
            body = data[start : start + length].split(b"\r\n\r\n", 1)[1]
            yield field["WARC-Target-URI"].rsplit("/", 1)[1], body
        at = start + length + 4


def crawl(old, new):
    """The records of each sweep."""
    first = Sweep(FIRST, "release 13")
    for name, page in old.items():
        first.page(DOCS + name, page)
    for name in MIRRORED:
        first.page(MIRROR + name, old[name])

    # Nothing was edited: pages are revisits, and three are met at a new address.
    second = Sweep(SECOND, "release 13 again, three pages moved")
    for name, page in old.items():
        if name not in MOVED:
            second.revisit(DOCS + name, page, first)
            continue
        to, answer = MOVED[name]
        second.refusal(DOCS + name, answer, to)
        second.page(to, page)
    for name in MIRRORED:
        second.revisit(MIRROR + name, old[name], first)

    third = Sweep(THIRD, "release 17")
    for name, page in new.items():
        third.page(MOVED[name][0] if name in MOVED else DOCS + name, page)
    for name in MIRRORED:
        third.page(MIRROR + name, new[name])
    return first.records, second.records, third.records


class Sweep:
    """The records of one WARC file, dated one second apart."""

    def __init__(self, date, what):
        self.date, self.records, self.captured = date, [], {}
        about = (
            "software: demo/crawl/make.py of lookalike\r\n"
            "format: WARC File Format 1.1\r\n"
            f"description: made, not crawled: the PostgreSQL manual, {what}\r\n"
            "rights: PostgreSQL Licence, see LICENCE beside this file\r\n"
        )
        name = f"{date}.warc.gz"
        self.write("warcinfo", name, "application/warc-fields", about.encode(), [("WARC-Filename", name)])

    def page(self, url, payload):
        """A page as it was served."""
        head = http("200 OK", payload)
        self.respond("response", url, head + payload, payload)

    def revisit(self, url, payload, before):
        """A page that has not changed since the sweep `before`: its headers alone."""
        record, date = before.captured[url]
        more = [
            ("WARC-Profile", PROFILE),
            ("WARC-Refers-To", record),
            ("WARC-Refers-To-Target-URI", url),
            ("WARC-Refers-To-Date", date),
        ]
        self.respond("revisit", url, http("200 OK", payload), payload, more)

    def refusal(self, url, answer, to):
        """What an address that holds no page any more answers; a redirect says where to go."""
        payload = f"<!DOCTYPE html><title>{answer}</title><p>{answer}\n".encode()
        more = [f"Location: {to}"] if answer.startswith("301") else []
        self.respond("response", url, http(answer, payload, more) + payload, payload)

    def respond(self, kind, url, block, payload, more=()):
        fields = [
            ("WARC-Target-URI", url),
            ("WARC-Warcinfo-ID", record_id(self.date, "warcinfo", f"{self.date}.warc.gz")),
            *more,
            ("WARC-Payload-Digest", digest(payload)),
        ]
        self.captured[url] = self.write(kind, url, "application/http; msgtype=response", block, fields)

    def write(self, kind, name, media, block, fields):
        """Adds a record; gives its id and date."""
        minute, second = divmod(len(self.records), 60)
        ident, date = record_id(self.date, kind, name), f"{self.date}T06:{minute:02}:{second:02}Z"
        head = [
            ("WARC-Type", kind),
            ("WARC-Record-ID", ident),
            ("WARC-Date", date),
            *fields,
            ("WARC-Block-Digest", digest(block)),
            ("Content-Type", media),
            ("Content-Length", str(len(block))),
        ]
        lines = "".join(f"{key}: {value}\r\n" for key, value in head)
        self.records.append(f"WARC/1.1\r\n{lines}\r\n".encode() + block + b"\r\n\r\n")
        return ident, date


def http(status, payload, more=()):
    lines = ["HTTP/1.1 " + status, *more, "Content-Type: text/html; charset=UTF-8", f"Content-Length: {len(payload)}"]
    return "".join(line + "\r\n" for line in [*lines, ""]).encode()


def record_id(*parts):
    return f"<{uuid.uuid5(uuid.NAMESPACE_URL, ' '.join(parts)).urn}>"


def digest(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def member(data):
    """One gzip member, without a time or a name."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush()
    head = b"\x1f\x8b\x08\0\0\0\0\0\x02\xff"
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def check(sweeps):
    bad = [
        date
        for date, records in sweeps.items()
        if gzip.decompress((HERE / f"{date}.warc.gz").read_bytes()) != b"".join(records)
    ]
    if bad:
        sys.exit(f"not what make.py writes: {', '.join(bad)}")
    print("the sweeps hold what make.py writes")


if __name__ == "__main__":
    main()
