"""Trains every task with every flag of training, and sees that the loss changes where the table of flags says so.

The program says in --help-json which tasks heed a flag. A flag that a task does not heed must be refused by name; one that it heeds must
change the loss. A new flag of training fails here until it has a value to be tried with.

    task_flags.py BERTH
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TINY = os.path.join(REPOSITORY, "tests/testdata/tiny_model")
BERTH = os.path.abspath(sys.argv[1])
os.environ.update(HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1")
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)

rng = random.Random(1)
WORDS = [w for w in open(os.path.join(TINY, "vocab.txt")).read().split() if w.isalpha() and len(w) > 2][:300]


def text(words):
    """Some words, of which every third one has several pieces."""
    return " ".join(rng.choice(WORDS) + (rng.choice(WORDS) if i % 3 == 2 else "") for i in range(words))


def write(name, header, rows):
    with open(name, "w") as file:
        for row in [header] + rows:
            file.write("\t".join(str(cell) for cell in row) + "\n")


ROWS = 30
write("classes.tsv", ["sentence", "other", "label", "category", "share"],
      [[text(8), text(6), "abc"[i % 3], "xyz"[i % 2], 1 + i % 4] for i in range(ROWS)])
write("scores.tsv", ["sentence", "other", "label", "category", "share"],
      [[text(8), text(6), i % 7 / 2 + 0.25, i % 5 / 4 + 0.1, 1 + i % 4] for i in range(ROWS)])
write("sets.tsv", ["sentence", "other", "label", "category", "share"],
      [[text(8), text(6), ["a", "b", "a|b", "c"][i % 4], ["a", "b|c"][i % 2], 1 + i % 4] for i in range(ROWS)])
write("pairs.tsv", ["sentence1", "sentence2", "score", "other", "category", "share"],
      [[text(8), text(6), i % 5 / 4 * 0.9, text(5), i % 3 / 2 * 0.9, 1 + i % 4] for i in range(ROWS)])
write("anchors.tsv", ["anchor", "positive", "other", "share"], [[text(8), text(6), text(5), 1 + i % 4] for i in range(ROWS)])
write("repeats.tsv", ["anchor", "positive"], [[text(8), WORDS[i % 10]] for i in range(ROWS)])
write("negatives.tsv", ["anchor", "positive", "negative_1", "negative_2"], [[text(8), text(6), text(5), text(7)] for i in range(ROWS)])
write("one_negative.tsv", ["anchor", "positive", "negative"], [[text(8), text(6), text(5)] for i in range(ROWS)])
write("taught.tsv", ["anchor", "positive", "negative_1", "negative_2", "score"],
      [[text(8), text(6), text(5), text(7), "[1.0, 0.%d, 0.%d]" % (i % 7, i % 5)] for i in range(ROWS)])
write("marks.tsv", ["sentence1", "sentence2", "label"], [[text(8), text(6), "%d.0" % (i % 2)] for i in range(ROWS)])
write("passages.tsv", ["query", "passage", "label", "other", "category", "share"],
      [[text(8), text(6), i % 2, text(5), i % 3 / 2, 1 + i % 4] for i in range(ROWS)])
write("choices.tsv", ["sent1", "sent2", "ending0", "ending1", "ending2", "label", "other", "category", "share"],
      [[text(8), text(3), text(4), text(5), text(4), i % 3, text(6), (i + i // 3) % 3, 1 + i % 4] for i in range(ROWS)])
write("texts.tsv", ["text", "other", "share"], [[text(8), text(6), 1 + i % 4] for i in range(ROWS)])
with open("words.jsonl", "w") as file:
    for i in range(ROWS):
        tokens = [rng.choice(WORDS) for _ in range(12)]
        file.write(json.dumps({"tokens": tokens, "ner_tags": ["OBI"[(i + j) % 3] for j in range(12)],
                               "category": ["OX"[j % 2] for j in range(12)], "share": 1 + i % 4}) + "\n")
with open("questions.jsonl", "w") as file:
    for i in range(ROWS):
        context = text(40)
        for column, place in (("answers", i % 30 + 5),):
            answer = context.split()[place]
            found = {"text": [answer], "answer_start": [context.index(answer)]}
            none = {"text": [], "answer_start": []}
            file.write(json.dumps({"question": text(5), "context": context, "answers": none if i % 5 == 4 else found,
                                   "other": text(40), "category": found, "share": 1 + i % 4}) + "\n")
with open("documents.jsonl", "w") as file:
    for i in range(ROWS):
        sentences = lambda words: "\n".join(text(words) for _ in range(2 + i % 3))
        file.write(json.dumps({"text": sentences(6), "other": sentences(4), "share": 1 + i % 4}) + "\n")
config = json.load(open(os.path.join(TINY, "config.json")))
json.dump({**config, "model_type": "electra", "embedding_size": config["hidden_size"], "architectures": ["ElectraModel"]},
          open("electra.json", "w"))
json.dump({**config, "model_type": "albert", "embedding_size": config["hidden_size"], "architectures": ["AlbertModel"],
           "tokenizer_class": "BertTokenizer"}, open("albert.json", "w"))

SHORT = ["--max-seq-length", "24"]
# How each task is trained: its flags. Its own name is what --help-json calls it.
TASKS = {
    "sequence_classification": ["--task", "classification", "--train-data-file", "classes.tsv"] + SHORT,
    "regression": ["--task", "regression", "--train-data-file", "scores.tsv"] + SHORT,
    "multi_label": ["--task", "multi_label", "--train-data-file", "sets.tsv"] + SHORT,
    "token_classification": ["--task", "ner", "--train-data-file", "words.jsonl"] + SHORT,
    "question_answering": ["--task", "qa", "--train-data-file", "questions.jsonl"] + SHORT,
    "similarity": ["--task", "similarity", "--train-data-file", "pairs.tsv"] + SHORT,
    "in_batch_negatives": ["--task", "similarity", "--train-data-file", "anchors.tsv"] + SHORT,
    "reranking": ["--task", "reranking", "--train-data-file", "passages.tsv"] + SHORT,
    "list_reranking": ["--task", "reranking", "--train-data-file", "negatives.tsv"] + SHORT,
    "multiple_choice": ["--task", "multiple_choice", "--train-data-file", "choices.tsv"] + SHORT,
    "masked_lm": ["--task", "mlm", "--train-data-file", "texts.tsv"] + SHORT,
    "replaced_token_detection": ["--task", "electra", "--train-data-file", "texts.tsv", "--init", "random", "--model-config",
                                 "electra.json", "--vocab-file", os.path.join(TINY, "vocab.txt")] + SHORT,
    "mlm_nsp": ["--task", "mlm_nsp", "--train-data-file", "documents.jsonl"] + SHORT,
    "mlm_sop": ["--task", "mlm_sop", "--train-data-file", "documents.jsonl"] + SHORT,
    "embedding_distillation": ["--task", "mlm", "--train-data-file", "texts.tsv", "--teacher", TINY] + SHORT,
}
# What a task begins with, where that is not the tiny model. The ALBERT is made below.
MODELS = {"replaced_token_detection": [], "mlm_sop": ["--model", "albert"]}
COMMON = ["--validation-split", "0", "--batch-size", "8", "--epochs", "2", "--learning-rate", "1e-3", "--threads", "1", "--precision",
          "fp32", "--save-steps", "0", "--no-report"]

# What a flag is tried with: its value, and the flags that it needs. A flag of these groups that is not here is one of NO_LOSS.
TRIED = {
    "learning-rate": (["3e-3"], []),
    "lr-scheduler-type": (["cosine"], []),
    "lr-end": (["5e-4"], []),
    "lr-power": (["3"], ["--lr-scheduler-type", "polynomial"]),
    "warmup-ratio": (["0.6"], []),
    "warmup-steps": (["5"], []),
    "optimizer": (["lamb"], []),
    "adam-beta1": (["0.5"], []),
    "adam-beta2": (["0.5"], []),
    "adam-epsilon": (["1e-2"], []),
    "weight-decay": (["5"], []),
    "max-grad-norm": (["0.01"], []),
    "layerwise-lr-decay": (["0.3"], []),
    "label-smoothing": (["0.3"], []),
    "focal-gamma": (["2"], []),
    "class-weights": (["balanced"], ["--train-data-file", "FEW"]),
    "freeze-embeddings": ([], []),
    "freeze-encoder-layers": (["1"], []),
    "lora-rank": (["4"], []),
    "lora-alpha": (["64"], ["--lora-rank", "4"]),
    "lora-target-modules": (["key"], ["--lora-rank", "4"]),
    "lora-dropout": (["0.5"], ["--lora-rank", "4"]),
    "epochs": (["1"], []),
    "max-steps": (["3"], []),
    "batch-size": (["5"], []),
    "token-budget": (["64"], []),
    "drop-remainder": ([], ["--batch-size", "11"]),
    "batch-sampler": (["no_duplicates"], ["--train-data-file", "repeats.tsv"]),
    "seed": (["7"], []),
    "data-fraction": (["0.5"], []),
    "max-train-samples": (["12"], []),
    "max-seq-length": (["8"], []),
    "weight-column": (["share"], []),
    "text-column": (["other"], []),
    "label-column": (["category"], []),
    "text-pair-column": (["other"], []),
    "line-by-line": ([], []),
    "attend-across-documents": ([], []),
    "mlm-probability": (["0.4"], []),
    "whole-word-masking": ([], ["--mlm-probability", "0.4"]),
    "doc-stride": (["2"], []),
    "doc-step": (["2"], []),
    "max-similarity": (["5"], []),
    "pooling": (["cls"], []),
    "similarity-loss": (["cosent"], []),
    "similarity-scale": (["3"], ["--similarity-loss", "OTHER"]),
    "similarity-margin": (["0.9"], ["--similarity-loss", "MEASURED"]),
    "similarity-distance": (["manhattan"], ["--similarity-loss", "MEASURED"]),
    "teacher-scale": (["3"], ["--similarity-loss", "distill_kl", "--train-data-file", "taught.tsv"]),
    "train-source": (["marks.tsv,loss=cosent,weight=2"], []),
    "source-sampling": (["round_robin"], ["--train-source", "marks.tsv,loss=cosent,weight=3"]),
    "guide": (["self"], []),
    "guide-contrasts": (["none"], ["--guide", "self"]),
    "guide-margin": (["0.5"], ["--guide", "self"]),
    "guide-relative-margin": (["0.5"], ["--guide", "self"]),
    "matryoshka-dims": (["16,8"], []),
    "matryoshka-weights": (["1,0.1"], ["--matryoshka-dims", "16,8"]),
    "query-prompt": (["ask : "], []),
    "passage-prompt": (["read : "], []),
    "max-negatives": (["1"], ["--train-data-file", "negatives.tsv"]),
    "reranking-loss": (["mse"], []),
    "positive-weight": (["3"], []),
    "generator-hidden-fraction": (["0.5"], []),
    "discriminator-weight": (["5"], []),
    "init": (["random"], []),
    "distillation-weight": (["0.9"], ["--teacher", "TEACHER"]),
    "distillation-temperature": (["7"], ["--teacher", "TEACHER"]),
    "validation-split": (["0.3"], []),
}
# Flags of these groups that change no loss of a training, and flags that name files: why they are not tried.
NO_LOSS = {
    "gradient-accumulation-steps": "the update stays the same", "embedding-mini-batch-size": "the update stays the same", "recompute": "the weights stay the same",
    "seeds": "several trainings", "export-adapter": "the finished model", "predict-data-file": "--mode predict",
    "id-column": "--mode predict", "n-best-size": "the evaluation", "version-2-with-negative": "the evaluation", "max-answer-length": "the evaluation",
    "null-score-diff-threshold": "the evaluation", "normalize-embeddings": "the finished model", "label-threshold": "the evaluation", "embeddings-format": "--mode embed",
    "embeddings-type": "--mode embed", "prompt": "--mode embed", "prompt-name": "--mode embed",
    "embeddings-file-rows": "--mode embed",
    "mine-corpus": "--mode mine", "mine-negatives": "--mode mine", "mine-range": "--mode mine", "mine-sampling": "--mode mine", "mine-reranker": "--mode mine",
    "mine-margin": "--mode mine", "mine-relative-margin": "--mode mine", "mine-max-score": "--mode mine", "mine-min-score": "--mode mine",
    "truncate-dim": "--mode embed", "ignore-mismatched-sizes": "only heads of another size", "eval-retrieval": "the evaluation", "eval-retrieval-split": "the evaluation",
    "max-eval-samples": "the evaluation",
}
FILES = {"task", "data-dir", "train-data-file", "eval-data-file", "input-meta-data-path", "model", "teacher", "generator", "model-config",
         "vocab-file", "delimiter", "quoting", "sentence-column", "label-separator", "label-lists", "encoding", "skip-bad-rows", "label-names", "do-lower-case", "distillation-target"}
# Where the other text or label is read by this task, and what has no other column.
WITHOUT = {("text-column", "question_answering"), ("text-pair-column", "question_answering"), ("text-column", "similarity"),
           ("text-column", "in_batch_negatives"), ("text-column", "token_classification"), ("label-column", "in_batch_negatives"),
           ("text-column", "reranking"), ("text-column", "list_reranking"), ("text-pair-column", "list_reranking"),
           ("label-column", "list_reranking"), ("similarity-loss", "in_batch_negatives"), ("init", "replaced_token_detection"), ("text-pair-column", "in_batch_negatives")}

def run(name, arguments):
    job = os.path.join("jobs", name)
    ran = subprocess.run([BERTH, *arguments, "--job-dir", job], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        shutil.rmtree(job, ignore_errors=True)
        return ran.returncode, ran.stderr.strip().splitlines()[-1]
    loss = json.load(open(os.path.join(job, "metrics.json")))["train"]["loss"]
    if not name.startswith(("teacher", "albert")):
        shutil.rmtree(job)  # some hundred of them would fill a small disk
    return 0, loss


def command(task, more):
    return TASKS[task] + COMMON + MODELS.get(task, ["--model", TINY]) + more


def of_task(task, needs):
    words = {"TEACHER": task + "_teacher", "OTHER": "cosent" if task == "similarity" else "symmetric",
             "MEASURED": "contrastive" if task == "similarity" else "triplet",
             "FEW": "few.jsonl" if task == "token_classification" else "few.tsv"}
    files = {"MEASURED": ["--train-data-file", "marks.tsv" if task == "similarity" else "one_negative.tsv"]}
    return [words.get(word, word) for word in needs] + [word for need in needs for word in files.get(need, [])]


lines = open("classes.tsv").read().splitlines()
open("few.tsv", "w").write("\n".join(lines[:1] + [l for i, l in enumerate(lines[1:]) if i % 3 != 1 or i < 6]) + "\n")
lines = [json.loads(line) for line in open("words.jsonl")]
open("few.jsonl", "w").writelines(json.dumps({**line, "ner_tags": ["O"] * 9 + line["ner_tags"][9:]}) + "\n" for line in lines)
flags = json.loads(subprocess.run([BERTH, "--help-json"], stdout=subprocess.PIPE, check=True, text=True).stdout)["flags"]
failures = []
tried = [flag for flag in flags if flag["group"] in ("Data", "Model", "Training", "Optimization")]
for flag in tried:
    if flag["name"] not in TRIED and flag["name"] not in NO_LOSS and flag["name"] not in FILES:
        failures.append("--%s is neither tried nor in NO_LOSS" % flag["name"])

run("albert", TASKS["mlm_sop"] + COMMON + ["--init", "random", "--model-config", "albert.json", "--vocab-file", os.path.join(TINY, "vocab.txt")])
os.rename("jobs/albert/model", "albert")
for task in ("sequence_classification", "regression", "multi_label"):  # teachers with other parameters
    code, loss = run("teacher-" + task, command(task, ["--seed", "99", "--learning-rate", "5e-3"]))
    os.rename(os.path.join("jobs", "teacher-" + task, "model"), task + "_teacher")


def try_flag(task, flag):
    """What is wrong with the flag in this task; None where nothing is."""
    name = flag["name"]
    value, needs = TRIED[name]
    typed = ["--" + name] + value
    does = task in flag["tasks"]
    code, loss = run("%s-%s" % (task, name), command(task, (of_task(task, needs) if does else []) + typed))
    if not does:
        return None if code == 2 and (name in str(loss) or name.startswith("lora")) else "%s: --%s is not refused: %s %s" % (task, name, code, loss)
    if code != 0:
        return "%s: --%s ends with %s: %s" % (task, name, code, loss)
    base_code, base = bases[(task, *of_task(task, needs))]
    if base_code != 0:
        return "%s: without --%s it ends with %s: %s" % (task, name, base_code, base)
    return None if loss != base else "%s: --%s does not change the loss %s" % (task, name, base)


pairs = [(task, flag) for task in TASKS for flag in tried if flag["name"] in TRIED and (flag["name"], task) not in WITHOUT]
# Many flags are compared with the same training.
compared = sorted({(task, *of_task(task, TRIED[flag["name"]][1])) for task, flag in pairs if task in flag["tasks"]})
with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
    bases = dict(zip(compared, pool.map(lambda base: run("base-%d" % compared.index(base), command(base[0], list(base[1:]))), compared)))
    failures += filter(None, pool.map(lambda pair: try_flag(*pair), pairs))
for failure in failures:
    print("FAILED:", failure)
print("%d failures" % len(failures) if failures else "all as expected")
sys.exit(1 if failures else 0)
