"""datatrove's own filter, driven by our lists of what goes, drops exactly our duplicates."""

import json
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
from datatrove.data import Document
from datatrove.pipeline.dedup import MinhashDedupFilter
from datatrove.pipeline.readers import JsonlReader, ParquetReader

from common import edited, folder, lookalike, words

ROWS = 200


def rows(shard):
    """Documents of which some repeat one of another shard or of their own, more or less."""
    for number in range(ROWS):
        text = words(number if number % 5 == 0 else shard * ROWS + number, 80)
        if number % 10 == 0:
            text = edited(text, {shard * 7})
        # What datatrove does not take for a document must not shift the numbers.
        yield {"id": f"{shard}-{number}", "text": "" if number % 37 == 36 else " ".join(text)}


def main():
    with folder() as work:
        work = pathlib.Path(work)
        for reader, suffix in [(ParquetReader, "parquet"), (JsonlReader, "jsonl")]:
            check(work / suffix, reader, suffix)


def check(work, reader, suffix):
    shards = work / "in"
    shards.mkdir(parents=True)
    names = [f"{shard}.{suffix}" for shard in range(3)]
    for shard, name in enumerate(names):
        if suffix == "parquet":
            pq.write_table(pa.Table.from_pylist(list(rows(shard))), shards / name)
        else:
            (shards / name).write_text("".join(json.dumps(row) + "\n" for row in rows(shard)))
    inputs = [shards / name for name in names]
    told = json.loads(lookalike("dedup", *inputs, "-o", work / "remove", "--remove-files", "--json"))
    lookalike("dedup", *inputs, "-o", work / "out")
    kept, dropped = [], 0
    for rank, name in enumerate(names):
        dropping = Dropped()
        read = reader(str(shards), glob_pattern=name)
        step = MinhashDedupFilter(input_folder=str(work / "remove"), exclusion_writer=dropping)
        # Each shard is a rank of its own: the reader gives rank 0 its only file.
        stays = list(step.run(read.run(rank=0, world_size=1), rank=rank))
        kept += [document.id for document in stays]
        dropped += len(dropping.documents)
    ours = [row["id"] for name in names for row in read_rows(work / "out" / name)]
    assert kept == ours, f"{len(kept)} stay with datatrove, {len(ours)} with us"
    assert dropped == told["removed"] > 0
    print(f"datatrove dropped our {dropped} duplicates of {3 * ROWS} {suffix} documents, and no other")


def read_rows(path):
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    return [json.loads(line) for line in path.read_text().splitlines()]


class Dropped:
    """What the filter writes what it drops to."""

    def __init__(self):
        self.documents: list[Document] = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def write(self, document, rank=0):
        self.documents.append(document)


main()
