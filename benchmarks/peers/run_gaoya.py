"""gaoya: 125 hashes in 25 bands of 5, its own word shingles; queries check the whole sketch."""
import sys

from gaoya.minhash import MinHashStringIndex
from shared import THRESHOLD, WIDTH, WORD, Clusters, documents, write

index = MinHashStringIndex(hash_size=32, jaccard_threshold=THRESHOLD, num_bands=25, band_size=5,
                           analyzer="word", lowercase=False, ngram_range=(WIDTH, WIDTH))
clusters, ids = Clusters(), []
for name, text in documents(sys.argv[1]):
    text = " ".join(WORD.findall(text.lower()))
    number = clusters.add()
    ids.append(name)
    for other in index.query(text):
        clusters.join(other, number)
    index.insert_document(number, text)
write(sys.argv[2], ids, clusters.find)
