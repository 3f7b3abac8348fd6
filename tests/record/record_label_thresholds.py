"""Records what scikit-learn says of thresholds for sets of labels: the largest F1 that any threshold gives, and the metrics at given ones.

    python tests/record/record_label_thresholds.py > tests/testdata/metrics/label_thresholds.json

Recorded with scikit-learn 1.9.
"""

import json
import random
import warnings

import numpy as np
import sklearn.metrics

warnings.simplefilter("ignore")  # scikit-learn warns about labels without predictions
RANDOM = random.Random(23)


def best_f1(truths, scores):
    """The largest F1 over the thresholds of precision_recall_curve, where score >= threshold is a prediction."""
    if not truths.any():
        return 0.0
    thresholds = sklearn.metrics.precision_recall_curve(truths, scores)[2]
    return float(max(sklearn.metrics.f1_score(truths, scores >= threshold, zero_division=0) for threshold in thresholds))


def case(labels, count, share, digits):
    truths = np.array([[int(RANDOM.random() < share) for _ in range(labels)] for _ in range(count)])
    if labels > 3:
        truths[:, 1] = 0
        truths[:, 2] = 1
    logits = np.array([[round(RANDOM.gauss(0.4 if truth else -1.5, 1.2), digits) for truth in row] for row in truths], dtype=np.float32)
    probabilities = 1 / (1 + np.exp(-logits.astype(np.float64)))
    given = [round(RANDOM.uniform(0.05, 0.95), 3) for _ in range(labels)]
    predictions = (probabilities > np.array(given)).astype(int)
    f1 = {f"f1_{average}": sklearn.metrics.f1_score(truths, predictions, average=average, zero_division=0) for average in ("micro", "macro")}
    return {
        "truths": truths.tolist(),
        "logits": logits.tolist(),
        "best_of_each": [best_f1(truths[:, label], probabilities[:, label]) for label in range(labels)],
        "best_of_all": best_f1(truths.ravel(), probabilities.ravel()),
        "given": given,
        "accuracy": sklearn.metrics.accuracy_score(truths, predictions),
        **f1,
    }


print(json.dumps([case(3, 40, 0.2, 3), case(6, 30, 0.4, 1), case(2, 9, 0.5, 0), case(4, 60, 0.1, 6)]))
