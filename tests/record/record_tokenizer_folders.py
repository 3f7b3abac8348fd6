#!/usr/bin/env python3
"""Records what AutoTokenizer of transformers 5 says of folders of tokenizers (tokenizer_folders.py).

    python tests/record/fixtures.py tokenizer record_tokenizer_folders.py

Writes folders.json in tests/testdata/tokenizer.tar with some of the folders: their files, and the ids and types of texts and pairs. The
other folders are compared by tests/peers/check_tokenizer_variants.py. lone.json is the same for folders without tokenizer.json
(lone_vocabularies.py). Files that are not UTF-8 stand there in base64. Needs transformers 5 and sentencepiece.
"""
import base64
import json
import pathlib
import sys
import tempfile

import lone_vocabularies
import tokenizer_folders as folders

OUTPUT = pathlib.Path(sys.argv[1])
RECORDED = """
Bert lower=True|Bert lower=False accents=True|Bert lower=True accents=False|Bert lower=True chinese=False|DistilBert lower=False
MPNet lower=True flags|Bert lower=True flags|Bert lower=True names|Bert lower=True words over another vocab.txt
Bert lower=False words without tokenizer_config.json|Bert lower=True words case changed in the config
Bert lower=True words older added_tokens.json|Bert lower=True words older map, no decoder|Bert lower=True words decoder with another token
Bert lower=False words only vocab.txt and the config|BertTokenizer normalizer replace|PreTrainedTokenizerFast normalizer replace
TokenizersBackend normalizer unclean|BertTokenizerFast twice|PreTrainedTokenizerFast twice|PreTrainedTokenizerFast without types
None only the end|PreTrainedTokenizerFast words of 20|BertTokenizer words of 20|PreTrainedTokenizerFast whitespace
Bert class of another|Bert of modernbert|Bert without model_type|Roberta prefix=True|Roberta flags|Roberta names
Roberta without tokenizer_config.json|PreTrainedTokenizerFast digits|Roberta class in the config|Deberta prefix=False|Herbert words
Herbert class in the config|XLMRoberta flags|XLMRoberta of bert|XLMRoberta normalizer|Camembert entities|Albert lower=False keep=True
Bert lower=True words only vocab.txt and older files|ConvBertTokenizer without types|ConvBertTokenizer normalizer replace|Bert lower=True spaces
Albert without types|Albert no template|Albert case changed|DebertaV2 lower=True punct=True|DebertaV2 case changed|DebertaV2 words|T5 words|XLMRoberta without prefix
"""
REFUSED = ["BertJapaneseTokenizer with tokenizer.json", "LukeTokenizer with tokenizer.json", "MyOwnTokenizer with tokenizer.json", "RemBert",
           "Bert xlm class"]
LONE = """
XLMRoberta alone|XLMRoberta alone, user-defined|XLMRoberta alone, tokenizer.model|XLMRoberta alone, names|XLMRoberta alone, map
Camembert alone|Camembert alone, extra|Albert alone|Albert alone, cased|Albert alone, null|DebertaV2 alone|DebertaV2 alone, lower
DebertaV2 alone, punctuation|DebertaV2 alone, other spaces|T5 alone|T5 alone, sentinels|Roberta alone|Roberta alone, map|Roberta alone, extra
Deberta alone, prefix|GPT2 alone, prefix
"""
LONE_REFUSED = ["XLMRoberta alone, file of another class", "XLMRoberta alone, BPE", "T5 alone, added", "Albert alone, add_bos_token", "XLNet alone"]


def written(path):
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def record(made, recorded, refused, output):
    pairs = list(zip(folders.TEXTS[::2], folders.TEXTS[1::2]))
    rows = []
    for name in recorded.replace("\n", "|").strip("|").split("|") + refused:
        files = {path.name: written(path) for path in sorted(made[name].iterdir())}
        if "tokenizer.json" in files:
            files["tokenizer.json"] = json.dumps(json.loads(files["tokenizer.json"]), ensure_ascii=False, separators=(",", ":"))
        row = {"name": name, "files": files}
        if name not in refused:
            said = folders.asked(made[name], folders.TEXTS, pairs)
            assert not isinstance(said, str), (name, said)
            row |= {"ids": said[0], "pair_ids": [ids for ids, _ in said[1]], "pair_types": [types for _, types in said[1]]}
        rows.append(row)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    head = json.dumps({"texts": folders.TEXTS, "pairs": pairs}, ensure_ascii=False)[:-1]
    output.write_text(f'{head}, "folders": [\n{lines}\n]}}\n')
    print(output, output.stat().st_size)


def main():
    root = pathlib.Path(tempfile.mkdtemp())
    record(folders.make_all(root), RECORDED, REFUSED, OUTPUT / "folders.json")
    record(lone_vocabularies.make_all(root), LONE, LONE_REFUSED, OUTPUT / "lone.json")


if __name__ == "__main__":
    sys.exit(main())
