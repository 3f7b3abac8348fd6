"""Prints what BM25 (Robertson and Zaragoza, 2009; k1 = 1.2, b = 0.75) finds in a folder in BEIR's layout, with berth's metrics.

    python bench/peer/bm25.py FOLDER [SPLIT]

Words are runs of letters and digits in lower case. There are no stop words and no stems.
"""

import collections
import json
import math
import pathlib
import re
import sys

K1, B = 1.2, 0.75
folder, split = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "test"


def words(text):
    return re.findall(r"\w+", text.lower())


def rows(name):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


corpus = rows("corpus.jsonl")
postings, lengths = collections.defaultdict(list), []
for place, row in enumerate(corpus):
    counts = collections.Counter(words((row.get("title", "") + " " + row["text"]).strip()))
    lengths.append(sum(counts.values()))
    for word, count in counts.items():
        postings[word].append((place, count))
mean = sum(lengths) / len(lengths)
relevant = collections.defaultdict(dict)
for line in (folder / "qrels" / f"{split}.tsv").read_text().splitlines()[1:]:
    query, passage, score = line.split("\t")
    if int(score) > 0:
        relevant[query][passage] = int(score)

sums = collections.Counter()
for row in rows("queries.jsonl"):
    judged = relevant.get(row["_id"])
    if not judged:
        continue
    scores = collections.Counter()
    for word in words(row["text"]):
        found = postings.get(word, [])
        weight = math.log(1 + (len(corpus) - len(found) + 0.5) / (len(found) + 0.5))
        for place, count in found:
            scores[place] += weight * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[place] / mean))
    first = sorted(scores, key=lambda place: (-scores[place], corpus[place]["_id"]))[:100]
    hits = [judged.get(corpus[place]["_id"], 0) for place in first]
    ideal = sum(score / math.log2(rank + 2) for rank, score in enumerate(sorted(judged.values(), reverse=True)[:10]))
    sums["ndcg_at_10"] += sum(score / math.log2(rank + 2) for rank, score in enumerate(hits[:10])) / ideal
    sums["mrr_at_10"] += next((1 / (rank + 1) for rank, score in enumerate(hits[:10]) if score), 0)
    for k in (1, 10, 100):
        sums[f"recall_at_{k}"] += sum(score > 0 for score in hits[:k]) / len(judged)
    sums["queries"] += 1
print({name: value if name == "queries" else round(value / sums["queries"], 4) for name, value in sums.items()})
