"""Records the names of the flags of programs whose command lines berth understands.

    pip download --no-deps transformers==5.24.0   (and 4.57.3, 4.30.2 and 4.0.0, tf-models-official==2.20.0, bert-tensorflow==1.0.4)
    python tests/record/record_foreign_flags.py WHEELS EXAMPLES tests/testdata/foreign_flags.txt

WHEELS is the folder with these wheels, EXAMPLES is examples/pytorch of transformers 4.57.3, which no wheel contains. Nothing is imported:
the names are read from the sources' syntax trees. Each line of the result holds a family and a name.
"""

import ast
import pathlib
import sys
import zipfile

EXAMPLES = [
    "text-classification/run_glue.py",
    "text-classification/run_glue_no_trainer.py",
    "text-classification/run_classification.py",
    "token-classification/run_ner.py",
    "token-classification/run_ner_no_trainer.py",
    "question-answering/run_qa.py",
    "question-answering/run_qa_no_trainer.py",
    "language-modeling/run_mlm.py",
    "language-modeling/run_mlm_no_trainer.py",
]
BERT = [
    "bert/run_classifier.py",
    "bert/run_squad.py",
    "bert/run_pretraining.py",
    "bert/create_pretraining_data.py",
]
# Flags of earlier versions than those that are read, and of Optimum for other devices.
OLDER = {
    "trainer": {"gaudi_config_name", "ipu_config_name", "use_habana"},
    "examples": {
        "chinese_ref_file",
        "eval_all_checkpoints",
        "evaluate_during_training",
        "labels",
        "lang_id",
        "low_cpu_mem_usage",
        "max_test_samples",
        "max_val_samples",
        "server_ip",
        "server_port",
        "task_type",
        "torch_dtype",
        "use_auth_token",
        "use_fast",
        "whole_word_mask",
    },
    "bert": {
        "amp",
        "bert_model",
        "disable_progress_bar",
        "eval_script",
        "json_summary",
        "optimize_on_cpu",
        "skip_cache",
        "skip_checkpoint",
    },
    "garden": {"gin_param"},
}
GARDEN = [
    "official/common/flags.py",
    "official/legacy/bert/common_flags.py",
    "official/legacy/bert/run_classifier.py",
    "official/legacy/bert/run_pretraining.py",
    "official/legacy/bert/run_squad.py",
    "official/legacy/bert/run_squad_helper.py",
    "official/nlp/train.py",
    "official/utils/flags/_base.py",
    "official/utils/flags/_benchmark.py",
    "official/utils/flags/_distribution.py",
    "official/utils/flags/_performance.py",
]


def field_names(source, is_wanted):
    """The annotated fields of the classes that `is_wanted` by their names: what HfArgumentParser makes flags of."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ClassDef) or not is_wanted(node.name):
            continue
        for field in node.body:
            # Fields without init=False and names of constants are no flags.
            if not isinstance(field, ast.AnnAssign) or field.target.id.startswith("_") or field.target.id.isupper():
                continue
            options = field.value.keywords if isinstance(field.value, ast.Call) else []
            if not any(option.arg == "init" and option.value.value is False for option in options):
                yield field.target.id


def argparse_names(source):
    """The names in add_argument("--x", ...)."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            for name in node.args:
                if isinstance(name, ast.Constant) and str(name.value).startswith("--"):
                    yield name.value[2:]


def absl_names(source):
    """The names in flags.DEFINE_string("x", ...) and DEFINE_string(name="x", ...), however the module is called."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called.upper().startswith("DEFINE_"):
            names = node.args[:1] + [option.value for option in node.keywords if option.arg == "name"]
            yield from (name.value for name in names if isinstance(name, ast.Constant))


def wheel_sources(wheels, pattern, paths):
    for wheel in sorted(wheels.glob(pattern)):
        with zipfile.ZipFile(wheel) as archive:
            for path in paths:
                yield archive.read(path).decode()


def main():
    wheels, examples, out = map(pathlib.Path, sys.argv[1:4])
    names = {"trainer": set(), "examples": set(), "bert": set(), "garden": set()}
    versions = len(list(wheels.glob("transformers-*.whl")))
    assert versions == 4, f"four versions of transformers are meant, and there are {versions}"
    for source in wheel_sources(wheels, "transformers-*.whl", ["transformers/training_args.py"]):
        names["trainer"] |= set(field_names(source, lambda name: name == "TrainingArguments"))
    for path in EXAMPLES:
        source = (examples / path).read_text()
        names["examples"] |= set(field_names(source, lambda name: name.endswith("Arguments")))
        names["examples"] |= set(argparse_names(source))
    for source in wheel_sources(wheels, "bert_tensorflow-*.whl", BERT):
        names["bert"] |= set(absl_names(source))
    for source in wheel_sources(wheels, "tf_models_official-*.whl", GARDEN):
        names["garden"] |= set(absl_names(source))
    for family, older in OLDER.items():
        names[family] |= older
    assert all(len(found) > 20 for found in names.values()), {family: len(found) for family, found in names.items()}
    lines = [f"{family} {name}\n" for family, found in names.items() for name in sorted(found)]
    out.write_text("".join(lines))


if __name__ == "__main__":
    main()
