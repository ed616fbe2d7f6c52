"""datasketch: 125 permutations in 25 bands of 5; what a band joins is joined."""
import sys

from datasketch import MinHash, MinHashLSH
from shared import Clusters, documents, shingles, write

lsh = MinHashLSH(num_perm=125, params=(25, 5))
clusters, ids = Clusters(), []
for name, text in documents(sys.argv[1]):
    sketch = MinHash(num_perm=125)
    sketch.update_batch([shingle.encode() for shingle in shingles(text)])
    number = clusters.add()
    ids.append(name)
    for other in lsh.query(sketch):
        clusters.join(other, number)
    lsh.insert(number, sketch, check_duplication=False)
write(sys.argv[2], ids, clusters.find)
