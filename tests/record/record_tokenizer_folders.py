#!/usr/bin/env python3
"""Records what AutoTokenizer of transformers 5 says of folders of tokenizers (tokenizer_folders.py).

    python tests/record/fixtures.py tokenizer record_tokenizer_folders.py

Writes folders.json in tests/testdata/tokenizer.tar with some of the folders: their files, and the ids and types of texts and pairs. The
other folders are compared by tests/peers/check_tokenizer_variants.py. Needs transformers 5.
"""
import json
import pathlib
import sys
import tempfile

import tokenizer_folders as folders

OUTPUT = pathlib.Path(sys.argv[1]) / "folders.json"
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
Albert case changed|DebertaV2 lower=True punct=True|DebertaV2 case changed|DebertaV2 words|T5 words|XLMRoberta without prefix
"""
REFUSED = ["BertJapaneseTokenizer with tokenizer.json", "LukeTokenizer with tokenizer.json", "MyOwnTokenizer with tokenizer.json", "RemBert",
           "Bert xlm class"]


def main():
    root = pathlib.Path(tempfile.mkdtemp())
    made = folders.make_all(root)
    pairs = list(zip(folders.TEXTS[::2], folders.TEXTS[1::2]))
    rows = []
    for name in RECORDED.replace("\n", "|").strip("|").split("|") + REFUSED:
        files = {path.name: path.read_text() for path in sorted(made[name].iterdir())}
        if "tokenizer.json" in files:
            files["tokenizer.json"] = json.dumps(json.loads(files["tokenizer.json"]), ensure_ascii=False, separators=(",", ":"))
        row = {"name": name, "files": files}
        if name not in REFUSED:
            said = folders.asked(made[name], folders.TEXTS, pairs)
            assert not isinstance(said, str), (name, said)
            row |= {"ids": said[0], "pair_ids": [ids for ids, _ in said[1]], "pair_types": [types for _, types in said[1]]}
        rows.append(row)
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    head = json.dumps({"texts": folders.TEXTS, "pairs": pairs}, ensure_ascii=False)[:-1]
    OUTPUT.write_text(f'{head}, "folders": [\n{lines}\n]}}\n')
    print(OUTPUT, OUTPUT.stat().st_size)


if __name__ == "__main__":
    sys.exit(main())
