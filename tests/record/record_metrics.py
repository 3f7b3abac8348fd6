"""Records the metrics that scikit-learn, scipy, seqeval and SQuAD's evaluation scripts compute for made-up predictions.

    python tests/record/record_metrics.py tests/testdata/metrics EVALUATE_V1

EVALUATE_V1 is the official evaluate-v1.1.py, in the form of a module (metrics/squad/compute_score.py of huggingface/evaluate). The script
for SQuAD 2.0 comes from transformers. Writes classification.json, regression.json, multi_label.json, entities.json, answers.json and
ranking.json. Each holds a list of cases. Recorded with scikit-learn 1.9, scipy 1.17, seqeval 1.2 and transformers 4.40.
"""

import importlib.util
import json
import pathlib
import random
import sys
import types
import warnings

import numpy as np
import scipy.stats
import seqeval.metrics
import sklearn.metrics
from transformers.data.metrics import squad_metrics as squad_v2

warnings.simplefilter("ignore")  # scikit-learn warns about classes without predictions
RANDOM = random.Random(5)


def choices(values, count, favourite=None):
    return [favourite if favourite is not None and RANDOM.random() < 0.6 else RANDOM.choice(values) for _ in range(count)]


def mostly(truths, values):
    return [RANDOM.choice(values) if RANDOM.random() < 0.4 else truth for truth in truths]


def rates(truths, predictions, classes):
    parts = sklearn.metrics.precision_recall_fscore_support(truths, predictions, labels=classes, zero_division=0)
    return {name: part.tolist() for name, part in zip(("precision", "recall", "f1", "support"), parts)}


def classification():
    for classes, count in ((2, 40), (2, 7), (3, 50), (5, 30), (12, 200)):
        seen = list(range(classes if classes < 12 else 10))  # two of the twelve never occur
        truths = choices(seen, count, favourite=0)
        predictions = mostly(truths, seen)
        yield classes, truths, predictions
    yield 2, [0, 0, 1, 1], [0, 0, 0, 0]
    yield 3, [2, 2, 2], [0, 1, 2]
    yield 4, [0, 1, 2, 3], [1, 0, 3, 2]


def classification_cases():
    for classes, truths, predictions in classification():
        every = list(range(classes))
        yield {"classes": classes, "truths": truths, "predictions": predictions,
               "accuracy": sklearn.metrics.accuracy_score(truths, predictions),
               "f1_macro": sklearn.metrics.f1_score(truths, predictions, average="macro", zero_division=0),
               "matthews_correlation": sklearn.metrics.matthews_corrcoef(truths, predictions),
               "of_class": rates(truths, predictions, every)}


def ranking_cases():
    RANDOM.seed(11)
    for classes, count, digits in ((2, 40, 3), (2, 30, 1), (4, 60, 2), (7, 80, 3), (20, 90, 2)):
        truths = choices(list(range(classes)), count, favourite=0) if classes < 20 else [i % 19 for i in range(count)]
        scores = [[round(RANDOM.gauss(2.0 * (i == truth), 1), digits) for i in range(classes)] for truth in truths]
        hits = np.array(truths)[:, None] == np.arange(classes)
        ranked = [i for i in range(classes) if hits[:, i].any()] if classes > 2 else [1]
        values = np.array(scores)
        if classes == 2:
            values = np.stack([values[:, 0], values[:, 1] - values[:, 0]], axis=1).astype(np.float32)
        mean = lambda score: float(np.mean([score(hits[:, i], values[:, i]) for i in ranked]))
        case = {"classes": classes, "truths": truths, "scores": scores, "roc_auc": mean(sklearn.metrics.roc_auc_score),
                "average_precision": mean(sklearn.metrics.average_precision_score)}
        if classes > 5:
            case["top_5_accuracy"] = sklearn.metrics.top_k_accuracy_score(truths, np.array(scores), k=5, labels=list(range(classes)))
        yield case


def regression_cases():
    def case(truths, predictions):
        truths, predictions = [float(x) for x in truths], [float(x) for x in predictions]
        return {"truths": truths, "predictions": predictions, "mse": sklearn.metrics.mean_squared_error(truths, predictions),
                "pearson": scipy.stats.pearsonr(truths, predictions)[0],
                "spearman": scipy.stats.spearmanr(truths, predictions)[0]}
    gauss = [RANDOM.gauss(2.5, 1.5) for _ in range(60)]
    yield case(gauss, [x + RANDOM.gauss(0, 1) for x in gauss])
    rounded = [round(x) for x in gauss]  # many ties
    yield case(rounded, [round(x + RANDOM.gauss(0, 1)) for x in gauss])
    yield case(rounded, gauss)
    yield case([1, 2], [5, 3])
    yield case([1, 2, 3, 4], [1e9 + 1, 1e9 + 3, 1e9 + 2, 1e9 + 4])
    yield case([1, 1, 1, 2], [3, 3, 4, 4])


def multi_label_cases():
    for labels, count in ((3, 40), (6, 25), (1, 10)):
        truths = (np.array([[RANDOM.random() for _ in range(labels)] for _ in range(count)]) < 0.35).astype(int)
        if labels == 6:
            truths[:, 4] = 0  # never occurs, but may be predicted
        logits = np.array([[RANDOM.gauss(1.2 if truth else -1.2, 1.5) for truth in row] for row in truths])
        if labels == 6:
            logits[:, 5] = -1  # never predicted, but may occur
        predictions = (1 / (1 + np.exp(-logits)) > 0.5).astype(int)
        f1 = {f"f1_{average}": sklearn.metrics.f1_score(truths, predictions, average=average, zero_division=0)
              for average in ("micro", "macro")} if labels > 1 else {}
        # scikit-learn takes one column for two classes, so this case is counted by hand.
        of_label = {name: [] for name in ("precision", "recall", "f1", "support")}
        for label in range(labels):
            for name, value in rates(truths[:, label], predictions[:, label], [1]).items():
                of_label[name] += value
        yield {"targets": truths.tolist(), "logits": logits.tolist(), **f1,
               "accuracy": sklearn.metrics.accuracy_score(truths, predictions), "of_label": of_label}


def entity_cases():
    def case(truths, predictions, full=True):
        report = seqeval.metrics.classification_report(truths, predictions, output_dict=True, zero_division=0)
        report = {name: {key: float(value) for key, value in row.items()} for name, row in report.items()}
        return {"truths": truths, "predictions": predictions, "accuracy": seqeval.metrics.accuracy_score(truths, predictions),
                "precision": seqeval.metrics.precision_score(truths, predictions, zero_division=0),
                "recall": seqeval.metrics.recall_score(truths, predictions, zero_division=0),
                "entity_f1": seqeval.metrics.f1_score(truths, predictions, zero_division=0),
                "types": {name: row for name, row in report.items() if not name.endswith(" avg")} if full else {}}
    schemes = {"IOB": "BI", "BIOES": "BIES", "BILOU": "BILU", "IOB1": "I"}
    for letters in schemes.values():
        tags = ["O", "O"] + [f"{letter}-{kind}" for letter in letters for kind in ("PER", "LOC", "creative-work")]
        truths = [choices(tags, RANDOM.randint(1, 12)) for _ in range(40)]
        yield case(truths, [mostly(sentence, tags) for sentence in truths])
    proper = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-PER", "B-PER", "I-PER", "O"]]
    yield case(proper, proper)
    yield case(proper, [["I-PER", "I-PER", "O", "I-LOC"], ["O", "B-PER", "I-PER", "I-PER", "O"]])
    yield case([["B", "I", "O", "B"], ["S", "O", "B", "E"]], [["B", "I", "I", "O"], ["B", "O", "B", "E"]])
    # Tags without a prefix: seqeval takes their first letter for the prefix and does not know it.
    plain = ["O", "O", "PER", "LOC", "TIME"]
    truths = [choices(plain, RANDOM.randint(1, 12)) for _ in range(40)]
    yield case(truths, [mostly(sentence, plain) for sentence in truths], full=False)


QUESTIONS = [  # a prediction and its gold answers; an empty list: the question has no answer
    ("the Eiffel Tower", ["Eiffel Tower", "The Eiffel Tower in Paris"]), ("Paris, France", ["Paris"]),
    ("  An  apple -- a day. ", ["apple day"]), ("1,000 km", ["1000 km", "a thousand"]), ("state-of-the-art", ["state of the art"]),
    ("theatre", ["the atre"]), ("", ["something"]), ("nothing", ["something", "else"]), ("to be or not to be", ["not to be or to be"]),
    ("be be be", ["be"]), ("U.S.A", ["USA"]), ("$5 (five dollars)", ["five dollars", "$5"]), ("ÉCOLE Normale", ["école normale"]),
    ("“the” cat", ["“ ” cat"]), ("l’a dit", ["l’ dit"]), ("ΟΔΟΣ Αθηνών", ["οδος αθηνών"]), ("İstanbul", ["i̇stanbul"]),
    ("МОСКВА", ["москва"]), ("naïve a\u00a0the b", ["naïve b"]), ("東京 タワー", ["東京タワー", "東京"]), ("a\u3000b", ["b"]),
    ("é a é", ["é é"]), ("²a", ["²"]), ("a", ["b"]), ("straße", ["STRASSE", "Straße"]), ("Ǆ Ⅷ Ⓐ", ["ǆ ⅷ ⓐ"]), ("an_a", ["ana"]),
    ("A\u0301", ["a\u0301"]), ("हिन्दी a", ["हिन्दी"])]
UNANSWERABLE = [("", []), ("something", []), ("the", []), ("", [""]), ("", ["the"]), ("x", ["the", "x"]), ("a", ["an", "!"])]


def answer_cases(v1):
    def by_v1(questions):
        best = v1.metric_max_over_ground_truths
        return {"exact_match": [float(best(v1.exact_match_score, said, gold)) for said, gold in questions],
                "f1": [float(best(v1.f1_score, said, gold)) for said, gold in questions]}

    def by_v2(questions):
        examples = [types.SimpleNamespace(qas_id=str(i), answers=[{"text": text} for text in gold])
                    for i, (_, gold) in enumerate(questions)]
        exact, f1 = squad_v2.get_raw_scores(examples, {str(i): said for i, (said, _) in enumerate(questions)})
        return {"exact_match": [float(exact[str(i)]) for i in range(len(questions))],
                "f1": [float(f1[str(i)]) for i in range(len(questions))]}

    for version, questions, score in (("1.1", QUESTIONS, by_v1), ("2.0", QUESTIONS + UNANSWERABLE, by_v2)):
        yield {"version": version, "questions": questions, **score(questions),
               "normalized": [squad_v2.normalize_answer(said) for said, _ in questions]}


out = pathlib.Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("evaluate_v1", sys.argv[2])
evaluate_v1 = importlib.util.module_from_spec(spec)
spec.loader.exec_module(evaluate_v1)
out.mkdir(parents=True, exist_ok=True)
for name, cases in (("classification", classification_cases()), ("regression", regression_cases()),
                    ("multi_label", multi_label_cases()), ("entities", entity_cases()), ("answers", answer_cases(evaluate_v1)),
                    ("ranking", ranking_cases())):
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    (out / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
