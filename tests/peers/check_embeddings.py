#!/usr/bin/env python3
"""Compares the embeddings of berth with those of sentence-transformers.

    python tests/peers/check_embeddings.py BERTH

Folders with every pooling, with and without Normalize, are made of the tiny test model: as sentence-transformers saves them today,
and as its versions before 2 did (0_Transformer). For each, `berth --mode embed` must write the vectors of SentenceTransformer.encode()
(to 1e-4), and numpy, pandas and pyarrow must read the same from all three formats, also where a Parquet file has several row groups.
So must it for other architectures with random parameters (OTHERS).
Dense modules must give the same vectors (to 1e-5), and be trained along to the parameters that torch's AdamW makes.
Prompts must stand before texts as encode() puts them, and as the data collator of its trainer does.
Models that `--task similarity` trains are loaded by SentenceTransformer(path), which must give the same vectors again, and the losses of
a first update must be those of CosineSimilarityLoss and MultipleNegativesRankingLoss.
Needs sentence-transformers, pandas and pyarrow.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy  # noqa: E402
import pandas  # noqa: E402
import pyarrow.parquet  # noqa: E402
from sentence_transformers import SentenceTransformer  # noqa: E402

TESTS = pathlib.Path(__file__).parents[1]
TOLERANCE = 1e-4
# The prefix of the classes in transformers, the tokenizer's class, and the special tokens with which its vocabulary begins.
OTHERS = {"mpnet": ("MPNet", "MPNetTokenizer", ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]),
          "nomic": ("NomicBert", "BertTokenizer", ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])}


def berth(binary, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def make_folder(folder, pooling, normalizes, old):
    """A folder of sentence-transformers, whose files are written by hand, as all its versions read them."""
    encoder = folder / "0_Transformer" if old else folder
    shutil.copytree(TESTS / "testdata/tiny_model", encoder)
    (encoder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 24, "do_lower_case": False}))
    (folder / "1_Pooling").mkdir()
    modes = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max"}
    (folder / "1_Pooling/config.json").write_text(json.dumps(
        {"word_embedding_dimension": 128} | {f"pooling_mode_{key}": mode == pooling for key, mode in modes.items()}))
    kinds = [("0_Transformer" if old else "", "Transformer"), ("1_Pooling", "Pooling")]
    if normalizes:
        kinds.append(("2_Normalize", "Normalize"))
        (folder / "2_Normalize").mkdir()
    (folder / "modules.json").write_text(json.dumps(
        [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
         for i, (path, kind) in enumerate(kinds)]))


def make_other(folder, architecture):
    """A folder as sentence-transformers saves it: an encoder of another architecture with random parameters, mean pooling, length 1."""
    import torch
    import transformers
    from sentence_transformers import models
    pieces = [line for line in (TESTS / "testdata/tiny_model/vocab.txt").read_text().splitlines() if not line.startswith("[")]
    prefix, tokenizer, special = OTHERS[architecture]
    vocabulary = {piece: i for i, piece in enumerate(special + pieces)}
    torch.manual_seed(5)
    config = getattr(transformers, f"{prefix}Config")(
        vocab_size=len(vocabulary), hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=130, initializer_range=0.3)
    encoder = folder.with_name(f"{architecture}-encoder")
    getattr(transformers, f"{prefix}Model")(config).save_pretrained(encoder)
    getattr(transformers, tokenizer)(vocabulary, model_max_length=128).save_pretrained(encoder)
    transformer = models.Transformer(str(encoder))
    pooling = models.Pooling(config.hidden_size, pooling_mode="mean")
    SentenceTransformer(modules=[transformer, pooling, models.Normalize()], device="cpu").save(str(folder))


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    sample = pandas.read_pickle(TESTS.parent / "examples/data/df.pickle").head(60)
    texts = [*sample["text"], "", "a", " ".join(sample["text"][:5])]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        rows = scratch / "rows.parquet"
        pandas.DataFrame({"id": [f"row {i}" for i in range(len(texts))], "text": texts}).to_parquet(rows)
        for pooling in ("mean", "cls", "max"):
            for normalizes in (False, True):
                for old in (False, True):
                    name = f"{pooling}{'-unit' if normalizes else ''}{'-old' if old else ''}"
                    folder = scratch / name
                    make_folder(folder, pooling, normalizes, old)
                    model = SentenceTransformer(str(folder), device="cpu")
                    expected = model.encode(texts, batch_size=8)
                    check(binary, name, folder, rows, expected, texts)
                    # The same as this version saves it.
                    model.save(str(scratch / f"{name}-saved"))
                    check(binary, f"{name}-saved", scratch / f"{name}-saved", rows, expected, texts)
        for architecture in OTHERS:
            folder = scratch / architecture
            make_other(folder, architecture)
            check(binary, architecture, folder, rows, SentenceTransformer(str(folder), device="cpu").encode(texts, batch_size=8), texts)
        check_prompts(binary, scratch, rows, texts)
        check_dense(binary, scratch, rows, texts)
        check_many(binary, scratch)
        check_training(binary, scratch, rows, texts)


def check(binary, name, folder, rows, expected, texts):
    out = folder / "out"
    arrays = {}
    for form in ("npy", "parquet", "jsonl"):
        berth(binary, "--mode", "embed", "--model", folder, "--predict-data-file", rows, "--embeddings-format", form, "--job-dir", out)
    arrays["npy"] = numpy.load(out / "embeddings.npy")
    frame = pandas.read_parquet(out / "embeddings.parquet")
    arrays["parquet"] = numpy.stack(frame["embedding"])
    lines = [json.loads(line) for line in (out / "embeddings.jsonl").read_text().splitlines()]
    arrays["jsonl"] = numpy.array([line["embedding"] for line in lines], numpy.float32)
    ids = [f"row {i}" for i in range(len(texts))]
    assert frame["id"].tolist() == ids and [line["id"] for line in lines] == ids, name
    for form, array in arrays.items():
        assert array.dtype == numpy.float32 and array.shape == expected.shape, (name, form, array.dtype, array.shape)
        assert numpy.array_equal(array, arrays["npy"]), (name, form)
    error = numpy.abs(arrays["npy"] - expected).max()
    print(f"{name:20} largest difference {error:.2e}")
    assert error < TOLERANCE, name


def check_prompts(binary, scratch, rows, texts):
    """The default prompt, prompts by their names and texts of prompts, as encode() takes them. Then a training with a prompt for each column."""
    import torch
    from sentence_transformers import losses
    folder = scratch / "prompts"
    make_folder(folder, "mean", True, False)
    (folder / "config_sentence_transformers.json").write_text(json.dumps(
        {"prompts": {"query": "query: ", "s2s": "task : "}, "default_prompt_name": "s2s"}))
    model = SentenceTransformer(str(folder), device="cpu")
    cases = {"default": ([], {}), "named": (["--prompt-name", "query"], {"prompt_name": "query"}),
             "document": (["--prompt-name", "document"], {"prompt_name": "document"}), "text": (["--prompt", "the "], {"prompt": "the "})}
    for name, (flags, arguments) in cases.items():
        berth(binary, "--mode", "embed", "--model", folder, "--predict-data-file", rows, "--predictions-file", scratch / "prompted.npy", *flags)
        error = numpy.abs(numpy.load(scratch / "prompted.npy") - model.encode(texts, batch_size=8, **arguments)).max()
        print(f"prompt {name:13} largest difference {error:.2e}")
        assert error < TOLERANCE, name
    assert numpy.abs(model.encode(texts) - model.encode(texts, prompt="")).max() > 100 * TOLERANCE
    encoder = scratch / "prompt-encoder"
    shutil.copytree(TESTS / "testdata/tiny_model", encoder)
    config = json.loads((encoder / "config.json").read_text())
    (encoder / "config.json").write_text(json.dumps(config | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}))
    table = {"anchor": texts[:20], "positive": texts[20:40], "negative": texts[40:60]}
    pandas.DataFrame(table).to_parquet(scratch / "prompted.parquet")
    job = scratch / "job-prompts"
    berth(binary, "--task", "similarity", "--train-data-file", scratch / "prompted.parquet", "--mode", "train", "--max-steps", 1, "--batch-size", 20,
          "--model", encoder, "--job-dir", job, "--precision", "fp32", "--query-prompt", "ask : ", "--passage-prompt", "read : ",
          "--embedding-mini-batch-size", 7)
    ours = json.loads((job / "metrics.json").read_text())["train"]["loss"]
    model = SentenceTransformer(str(job / "model"), device="cpu")
    assert {name: text for name, text in model.prompts.items() if text} == {"query": "ask : ", "document": "read : "}, model.prompts
    before = SentenceTransformer(modules=[SentenceTransformer(str(encoder), device="cpu")[0], *list(model)[1:]], device="cpu")
    features = [before.preprocess(list(column), prompt="ask : " if name == "anchor" else "read : ") for name, column in table.items()]
    function = losses.CachedMultipleNegativesRankingLoss(before, mini_batch_size=7)
    with torch.no_grad():
        theirs = function(features, None).item()
    print(f"prompts and caching  loss {ours:.6f}, sentence-transformers {theirs:.6f}")
    assert abs(ours - theirs) < TOLERANCE * max(1, theirs)
    for name, encode in (("query", model.encode_query), ("document", model.encode_document)):
        berth(binary, "--mode", "embed", "--job-dir", job, "--predict-data-file", rows, "--prompt-name", name)
        error = numpy.abs(numpy.load(job / "embeddings.npy") - encode(texts, batch_size=8)).max()
        print(f"encode_{name:13} largest difference {error:.2e}")
        assert error < TOLERANCE, name


def check_dense(binary, scratch, rows, texts):
    """Dense modules with each activation, in each format, alone and in a row, also after an update."""
    import torch
    from sentence_transformers import losses, models
    encoder = scratch / "dense-encoder"
    shutil.copytree(TESTS / "testdata/tiny_model", encoder)
    config = json.loads((encoder / "config.json").read_text())
    (encoder / "config.json").write_text(json.dumps(config | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}))
    torch.manual_seed(3)
    tanh, plain = torch.nn.Tanh(), torch.nn.Identity()
    cases = {"tanh": [(128, 20, True, tanh)], "identity": [(128, 300, False, plain)], "both": [(128, 50, False, tanh), (50, 24, True, plain)]}
    for name, layers in cases.items():
        for normalizes in (False, True):
            modules = [models.Transformer(str(encoder)), models.Pooling(128, pooling_mode="mean")]
            modules += [models.Dense(inputs, outputs, bias=bias, activation_function=function) for inputs, outputs, bias, function in layers]
            modules += [models.Normalize()] * normalizes
            model = SentenceTransformer(modules=modules, device="cpu")
            folder = scratch / f"dense-{name}-{normalizes}"
            model.save(str(folder), safe_serialization=not normalizes)
            berth(binary, "--mode", "embed", "--model", folder, "--predict-data-file", rows, "--predictions-file", scratch / "dense.npy")
            expected = model.encode(texts, batch_size=8)
            found = numpy.load(scratch / "dense.npy")
            assert found.shape == expected.shape, (found.shape, expected.shape)
            error = numpy.abs(found - expected).max()
            print(f"Dense {name:14} largest difference {error:.2e}")
            assert error < 1e-5, name
            # Two updates of all rows at a constant rate, as torch makes them.
            table = {"anchor": texts[:20], "positive": texts[20:40]}
            pandas.DataFrame(table).to_parquet(scratch / "pairs.parquet")
            job = scratch / f"job-dense-{name}-{normalizes}"
            berth(binary, "--task", "similarity", "--train-data-file", scratch / "pairs.parquet", "--mode", "train", "--max-steps", 2, "--batch-size", 20,
                  "--model", folder, "--job-dir", job, "--precision", "fp32", "--learning-rate", 1e-3, "--lr-scheduler-type", "constant",
                  "--warmup-steps", 0, "--weight-decay", 0, "--adam-epsilon", 1e-4)
            loss = losses.MultipleNegativesRankingLoss(model)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-4, weight_decay=0)
            model.train()
            for _ in range(2):
                optimizer.zero_grad()
                loss([model.preprocess(list(column)) for column in table.values()], None).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            model.eval()
            trained = SentenceTransformer(str(job / "model"), device="cpu")
            ours, theirs = trained.encode(texts, batch_size=8), model.encode(texts, batch_size=8)
            moved, error = numpy.abs(theirs - expected).max(), numpy.abs(ours - theirs).max()
            print(f"Dense {name:14} after two updates: moved by {moved:.2e}, largest difference {error:.2e}")
            assert error < 1e-2 * moved, name


def check_many(binary, scratch):
    """More rows than one row group has. They have no ids, so their numbers stand in their place."""
    count = 40_000
    rows = scratch / "many.csv"
    rows.write_text("text\n" + "".join(f"a {i % 7}\n" for i in range(count)))
    out = scratch / "many"
    berth(binary, "--mode", "embed", "--model", TESTS / "testdata/tiny_model", "--predict-data-file", rows, "--embeddings-format", "parquet",
          "--eval-batch-size", 64, "--job-dir", out)
    file = pyarrow.parquet.ParquetFile(out / "embeddings.parquet")
    assert file.metadata.num_row_groups > 1, file.metadata
    table = file.read()
    assert table["id"].to_pylist() == list(range(count))
    vectors = numpy.stack(table["embedding"].to_numpy())
    assert vectors.shape == (count, 128)
    assert numpy.allclose(vectors[:7], vectors[7 * 5000:7 * 5001], atol=1e-6)
    print(f"{count} rows in {file.metadata.num_row_groups} row groups")


def check_training(binary, scratch, rows, texts):
    """Trains one update on all rows at once without dropout, whose loss sentence-transformers computes, too."""
    import torch
    from sentence_transformers import losses
    encoder = scratch / "encoder"
    shutil.copytree(TESTS / "testdata/tiny_model", encoder)
    config = json.loads((encoder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (encoder / "config.json").write_text(json.dumps(config))
    firsts, seconds, thirds = texts[:20], texts[20:40], texts[40:60]
    labels = [i / 4 for i in range(20)]
    tables = {
        "cosine": {"sentence1": firsts, "sentence2": seconds, "score": labels},
        "pairs": {"anchor": firsts, "positive": seconds},
        "triplets": {"anchor": firsts, "positive": seconds, "negative": thirds},
    }
    for name, table in tables.items():
        data = scratch / f"{name}.parquet"
        pandas.DataFrame(table).to_parquet(data)
        job = scratch / f"job-{name}"
        scale = ["--max-similarity", 5] if name == "cosine" else []
        pooling, normalizes = ("max", ["--normalize-embeddings"]) if name == "pairs" else ("mean", [])
        berth(binary, "--task", "similarity", "--train-data-file", data, *scale, "--mode", "train", "--max-steps", 1,
              "--batch-size", 20, "--model", encoder, "--job-dir", job, "--pooling", pooling, "--precision", "fp32",
              *normalizes)
        ours = json.loads((job / "metrics.json").read_text())["train"]["loss"]
        model = SentenceTransformer(str(job / "model"), device="cpu")
        assert model.max_seq_length == 128, model.max_seq_length
        # The loss before the update is that of the encoder with this model's modules.
        before = SentenceTransformer(modules=[SentenceTransformer(str(encoder), device="cpu")[0], *list(model)[1:]], device="cpu")
        function = losses.CosineSimilarityLoss(before) if name == "cosine" else losses.MultipleNegativesRankingLoss(before)
        encode = getattr(before, "preprocess", None) or before.tokenize
        features = [encode(list(column)) for key, column in table.items() if key != "score"]
        with torch.no_grad():
            theirs = function(features, torch.tensor(labels) / 5 if name == "cosine" else None).item()
        print(f"{name:20} loss {ours:.6f}, sentence-transformers {theirs:.6f}")
        assert abs(ours - theirs) < TOLERANCE * max(1, theirs), name
        berth(binary, "--mode", "embed", "--job-dir", job, "--predict-data-file", rows)
        error = numpy.abs(numpy.load(job / "embeddings.npy") - model.encode(texts, batch_size=8)).max()
        print(f"{name:20} largest difference {error:.2e}")
        assert error < TOLERANCE, name


if __name__ == "__main__":
    main()
