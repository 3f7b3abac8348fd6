#!/usr/bin/env python3
"""Records the keys of the configurations that transformers and sentence-transformers write and read.

    python tests/record/record_config_keys.py

Adds them to tests/testdata/config_keys.json, so that the keys of older versions stay. Run it with transformers 4 and with transformers 5
and sentence-transformers. A test asks whether berth knows each key: whether it is read, harmless, or refused by name.
"""
import dataclasses
import inspect
import json
import os
import pathlib
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import transformers  # noqa: E402

import tokenizer_folders  # noqa: E402

OUTPUT = pathlib.Path(__file__).parents[1] / "testdata" / "config_keys.json"
MODELS = ["bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "albert", "deberta-v2", "modernbert", "mpnet", "nomic_bert", "roformer", "megatron-bert",
          "roberta-prelayernorm", "xlm-roberta-xl", "ernie"]
CLASSES = ["Bert", "DistilBert", "Electra", "MobileBert", "ConvBert", "SqueezeBert", "LayoutLM", "Lxmert", "MPNet", "Roberta", "Longformer", "Bart",
           "GPT2", "Deberta", "XLMRoberta", "Camembert", "Albert", "DebertaV2", "T5", "Herbert"]


def of_models():
    keys = set(transformers.PretrainedConfig().to_dict())
    for name in MODELS:
        try:
            config = transformers.AutoConfig.for_model(name)
        except ValueError:
            continue
        keys |= set(config.to_dict())
        if dataclasses.is_dataclass(config):
            keys |= {field.name for field in dataclasses.fields(config)}
        keys |= set(inspect.signature(type(config).__init__).parameters) - {"self", "kwargs", "args"}
    return keys


def of_tokenizers():
    keys = set()
    make = tokenizer_folders.Maker(tempfile.mkdtemp())
    for name in CLASSES:
        make.attempt(name, name, {})
        cls = getattr(transformers, name + "Tokenizer" + ("" if tokenizer_folders.NEW else "Fast"))
        keys |= set(inspect.signature(cls.__init__).parameters) - {"self", "kwargs", "args", "vocab", "merges", "_spm_precompiled_charsmap"}
    for folder in make.made.values():
        keys |= set(json.loads((folder / "tokenizer_config.json").read_text()))
    return keys


def of_sentences():
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.model import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    model = SentenceTransformer.__new__(SentenceTransformer)
    model.prompts, model.default_prompt_name, model.truncate_dim, model._similarity_fn_name = {}, None, 8, "cosine"
    older = {"max_seq_length", "do_lower_case"}  # those of versions up to 5
    poolings = {f"pooling_mode_{mode}" for mode in ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")}
    return {
        "sentence_bert_config.json": older | set(Transformer.config_keys),
        "config_sentence_transformers.json": set(model._get_model_config()) | {"requirements"},
        "Pooling": poolings | {"word_embedding_dimension"} | set(Pooling.config_keys),
        "Dense": set(Dense.config_keys),
        "Normalize": set(Normalize.config_keys),
        "modules.json": {"idx", "name", "path", "type", "kwargs"},
    }


def main():
    known = json.loads(OUTPUT.read_text()) if OUTPUT.exists() else {}
    found = {"config.json": of_models(), "tokenizer_config.json": of_tokenizers()}
    try:
        found |= of_sentences()
    except ImportError:
        print("there is no sentence-transformers here")
    for name, keys in found.items():
        known[name] = sorted(set(known.get(name, [])) | keys)
    OUTPUT.write_text(json.dumps(known, indent=1) + "\n")
    print({name: len(keys) for name, keys in known.items()})


if __name__ == "__main__":
    sys.exit(main())
