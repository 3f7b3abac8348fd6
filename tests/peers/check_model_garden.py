"""Passes a model through TF Model Garden in both directions.

    python tests/peers/check_model_garden.py CONVERT_CHECKPOINT WORK_FOLDER

First, Model Garden's own converter of TF1 checkpoints loads what berth writes into its BertEncoder. The encoder is saved as an
object graph, and berth must read the same bits from it. Second, berth must know every name in each kind of checkpoint that Model
Garden saves. Needs tf-models-official and tf-keras; prints SKIPPED if they are absent.
"""

import os
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    from official.nlp.modeling import layers, models, networks
    from official.nlp.tools import tf1_bert_checkpoint_converter_lib as converter
except ImportError as error:
    print("SKIPPED: no Model Garden here:", error)
    sys.exit(0)
import check_tensorflow as model
import safetensors.numpy
import tensorflow as tf

SIZES = dict(vocab_size=model.VOCAB, hidden_size=model.HIDDEN, num_layers=model.LAYERS, num_attention_heads=model.HEADS,
             max_sequence_length=model.POSITIONS, type_vocab_size=2)
ENCODER = 5 + 16 * model.LAYERS + 2
IDS = dict(input_word_ids=tf.zeros([1, 6], tf.int32), input_mask=tf.ones([1, 6], tf.int32), input_type_ids=tf.zeros([1, 6], tf.int32))


def functional():
    return networks.BertEncoder(intermediate_size=model.INNER, **SIZES)


def pretrainer():
    head = layers.ClassificationHead(model.HIDDEN, 2, name="next_sentence")
    whole = models.BertPretrainerV2(networks.BertEncoderV2(inner_dim=model.INNER, **SIZES), classification_heads=[head], mlm_activation="gelu")
    whole({**IDS, "masked_lm_positions": tf.zeros([1, 2], tf.int32)})
    return whole


def through_model_garden(check):
    hugging_face, _ = model.model()
    folder = check.folder
    safetensors.numpy.save_file(hugging_face, folder / "model.safetensors", metadata={"format": "pt"})
    check.convert("to_tensorflow", folder / "model.safetensors", folder / "ours")
    converter.convert(str(folder / "ours"), str(folder / "renamed"), model.HEADS, converter.BERT_V2_NAME_REPLACEMENTS,
                      converter.BERT_V2_PERMUTATIONS, ["adam"])
    converter.create_v2_checkpoint(functional(), str(folder / "renamed"), str(folder / "object_graph"), "encoder")
    found = check.read_by_berth(folder / "object_graph-1")
    expected = {name: value for name, value in hugging_face.items() if not name.startswith("classifier")}
    print(model.same(found, expected), "tensors went through Model Garden unchanged")


def every_kind(check):
    own_pooler = models.BertClassifier(functional(), 3, use_encoder_pooler=False)
    named = networks.BertEncoderV2(inner_dim=model.INNER, **SIZES)
    named(IDS)
    pretraining = pretrainer()
    for kind, items, heads in (
        ("encoder", dict(encoder=functional()), 0),
        ("encoder_v2", dict(encoder=named), 0),
        ("classifier", dict(model=models.BertClassifier(functional(), 3)), 2),
        ("classifier_with_pooler", dict(model=own_pooler), 2),
        ("classifier_items", own_pooler.checkpoint_items, 0),
        ("pretrainer", dict(model=pretraining), 7),
        ("pretrainer_items", pretraining.checkpoint_items, 5),
    ):
        prefix = tf.train.Checkpoint(**items).save(str(check.folder / kind))
        found = check.read_by_berth(prefix)
        unknown = [name for name in found if not name.startswith(("bert.", "cls.", "classifier."))]
        assert not unknown and len(found) == ENCODER + heads, (kind, len(found), unknown)
        print(kind, len(found), "tensors, all known")


if __name__ == "__main__":
    checks = model.Check(*sys.argv[1:3])
    through_model_garden(checks)
    every_kind(checks)
