"""Daft: minhash of 125 in 25 bands of 5; what a band joins is joined.

Reading, cleaning and sketching are Daft's; the bands are compared and joined in NumPy and SciPy,
not by a self-join in Daft.
"""
import sys

import daft
import numpy as np
from daft import col
from daft.functions import minhash, regexp_replace
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from shared import WIDTH, write

BANDS, ROWS = 25, 5
table = daft.read_json(sys.argv[1]).select("id", "text")
clean = regexp_replace(col("text").lower(), r"[^\p{L}\p{N}_]+", " ")
table = table.select("id", minhash(clean, num_hashes=BANDS * ROWS, ngram_size=WIDTH).alias("sketch"))
table = table.to_arrow()
ids = table["id"].to_pylist()
flat = table["sketch"].combine_chunks().flatten().to_numpy()
sketches = flat.reshape(len(ids), BANDS, ROWS)
left, right = [], []
for band in range(BANDS):
    keys = np.ascontiguousarray(sketches[:, band, :]).view(np.dtype((np.void, ROWS * 4))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    left.append(np.arange(len(ids)))
    right.append(first[inverse])
left, right = np.concatenate(left), np.concatenate(right)
graph = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(len(ids), len(ids)))
_, label = connected_components(graph, directed=False)
write(sys.argv[2], ids, lambda i: label[i])
