"""What the tests of the archive protocols share: the demo's crawl as warcio reads it."""

import json
import subprocess
import sys
import pathlib

from warcio.archiveiterator import ArchiveIterator
from warcio.timeutils import iso_date_to_timestamp

from common import CRAWL


def indexed(paths=CRAWL):
    """The lines of cdxj-indexer, without those of records that are no documents."""
    program = pathlib.Path(sys.executable).parent / "cdxj-indexer"
    done = subprocess.run([program, "-s", *paths], capture_output=True, text=True, timeout=120, check=True)
    lines = done.stdout.splitlines()
    return [line for line in lines if json.loads(line.split(" ", 2)[2]).get("status", "200").startswith("2")]


def payloads(paths=CRAWL):
    """What was captured: bytes by address and date, those of revisits too."""
    by_digest, all_of = {}, {}
    for path in paths:
        with open(path, "rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type not in ("response", "revisit") or record.http_headers.get_statuscode() != "200":
                    continue
                digest = record.rec_headers["WARC-Payload-Digest"]
                if record.rec_type == "response":
                    by_digest[digest] = record.content_stream().read()
                url, date = record.rec_headers["WARC-Target-URI"], record.rec_headers["WARC-Date"]
                all_of[url, iso_date_to_timestamp(date)] = by_digest[digest]
    return all_of
