"""lookalike meets as many records of each type as warcio does."""

import collections
import csv
import os
import pathlib

from warcio.archiveiterator import ArchiveIterator

from common import CRAWL, add, folder

# Types that never hold a document: skipped, under their own name. All others may.
NO_DOCUMENT = ("warcinfo", "request", "metadata", "continuation")


def main():
    checked = [check(path) for path in CRAWL + agreed()]
    print(f"warcio: {len(checked)} files, {sum(checked)} records, the same counts")


def agreed():
    """The files of the corpus of good and bad WARCs that two readers read alike, without error."""
    corpora = os.environ.get("LOOKALIKE_CORPORA")
    if not corpora:
        print("warcio: LOOKALIKE_CORPORA is not set, only the demo's crawl is read")
        return []
    corpus = pathlib.Path(corpora) / "warc-good-bad"
    with open(corpus / "manifest.tsv", newline="") as file:
        return [
            corpus / row["file"]
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if not row["warcio_error"]
            and not row["fastwarc_error"]
            and row["warcio_records"] == row["fastwarc_records"]
        ]


def kind_of(record):
    """Its type; what a crawler says of its own run, in resources at metadata: URIs, is metadata."""
    uri = record.rec_headers.get_header("WARC-Target-URI") or ""
    about_the_crawl = record.rec_type == "resource" and uri.startswith("metadata:")
    return "metadata" if about_the_crawl else record.rec_type


def check(path):
    with open(path, "rb") as file:
        expected = collections.Counter(kind_of(record) for record in ArchiveIterator(file))
    with folder() as work:
        # 3: a record was rejected; 4: none held a document. The counts must be right even so.
        report = add(pathlib.Path(work) / "one", path, status=(0, 3, 4))
    assert report["read"] == expected.total(), f"{path}: {report}, warcio: {expected}"
    for kind in NO_DOCUMENT:
        skipped = report["skipped"].get(kind, 0)
        assert skipped == expected[kind], f"{path}: {skipped} of type {kind}, warcio: {expected[kind]}"
    return expected.total()


main()
