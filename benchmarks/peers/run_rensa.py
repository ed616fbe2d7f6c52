"""rensa: 128 permutations in 32 bands of 4; pairs are checked on the whole sketch."""
import sys

from rensa import RMinHash, RMinHashLSH
from shared import THRESHOLD, Clusters, documents, shingles, write

lsh = RMinHashLSH(threshold=THRESHOLD, num_perm=128, num_bands=32)
clusters, ids, sketches = Clusters(), [], []
for name, text in documents(sys.argv[1]):
    sketch = RMinHash(num_perm=128, seed=42)
    sketch.update(shingles(text))
    number = clusters.add()
    for other in lsh.query(sketch):
        if clusters.find(other) != number and sketches[other].jaccard(sketch) >= THRESHOLD:
            clusters.join(other, number)
    lsh.insert(number, sketch)
    ids.append(name)
    sketches.append(sketch)
write(sys.argv[2], ids, clusters.find)
