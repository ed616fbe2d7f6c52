"""What every peer needs around its library: the documents in, clusters out."""
import json
import re

WORD = re.compile(r"\w+")
WIDTH = 10
THRESHOLD = 0.5


def documents(path):
    """Every document's id and text."""
    with open(path, "rb") as lines:
        for line in lines:
            document = json.loads(line)
            yield document["id"], document["text"]


def shingles(text):
    """Shingles of ten words; all the words when they are fewer."""
    words = WORD.findall(text.lower())
    last = max(len(words) - WIDTH + 1, min(len(words), 1))
    return [" ".join(words[i:i + WIDTH]) for i in range(last)]


class Clusters:
    """Union-find over places in the list of documents."""

    def __init__(self):
        self.parent = []

    def add(self):
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def find(self, x):
        parent = self.parent
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    def join(self, a, b):
        a, b = self.find(a), self.find(b)
        self.parent[max(a, b)] = min(a, b)


def write(path, ids, cluster_of):
    with open(path, "w") as out:
        for i, name in enumerate(ids):
            out.write(f"{name}\t{cluster_of(i)}\n")
