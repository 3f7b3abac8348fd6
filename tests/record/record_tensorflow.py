"""Writes tests/testdata/tensorflow.tar with real TensorFlow (2.21.0, tensorflow-cpu from PyPI).

    python tests/record/fixtures.py tensorflow record_tensorflow.py

The values of a tensor are whole numbers that depend only on its TF1 name. A test can therefore compute what each tensor must hold.
"""

import gzip
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy
import tensorflow as tf

HIDDEN, HEADS, SIZE, INNER, VOCAB, POSITIONS, TYPES, LABELS, LAYERS = 4, 2, 2, 6, 7, 5, 2, 3, 2


def values(name, *shape):
    """The value of the variable with TF1 name `name`: successive whole numbers from the sum of the name's bytes."""
    count = int(numpy.prod(shape, dtype=int))
    return (sum(name.encode()) + numpy.arange(count)).astype(numpy.float32).reshape(shape)


def save_raw(prefix, tensors, slices=None):
    """`tensors` maps names to values and is saved in its order. `slices` maps names to TensorFlow's slice text."""
    slices = slices or {}
    names = list(tensors)
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=[name.split("@")[0] for name in names],
        shape_and_slices=[slices.get(name, "") for name in names],
        tensors=list(tensors.values()),
    )


def every_type(folder):
    save_raw(
        folder / "types.ckpt",
        {
            "float": tf.constant([[0, 0.25, 0.5], [0.75, 1, 1.25]], tf.float32),
            "double": tf.constant([1.5, -2.5], tf.float64),
            "half": tf.constant([1, -2, 0.5], tf.float16),
            "bfloat16": tf.constant([1, -2, 0.5, 3], tf.bfloat16),
            "int64": tf.constant([[1], [-1]], tf.int64),
            "int32": tf.constant([7], tf.int32),
            "int16": tf.constant([-300], tf.int16),
            "uint8": tf.constant([255], tf.uint8),
            "bool": tf.constant([True, False, True]),
            "complex": tf.constant([1 + 2j], tf.complex64),
            "scalar": tf.constant(2.5),
            "empty": tf.zeros([0, 4]),
            "strings": tf.constant([["", "a"], ["caf\u00e9", "b" * 200]]),
            "text": tf.constant("one"),
        },
    )


def partitioned(folder):
    table = tf.reshape(tf.range(10 * 3, dtype=tf.float32), [10, 3])
    wide = tf.reshape(tf.range(2 * 70, dtype=tf.float32), [2, 70])
    save_raw(
        folder / "partitioned.ckpt",
        {
            "table@1": table[:4],
            "table@2": table[4:7],
            "table@3": table[7:],
            "wide@1": wide[:, :64],
            "wide@2": wide[:, 64:],
            "whole": tf.constant([5.0]),
        },
        {
            "table@1": "10 3 0,4:-",
            "table@2": "10 3 4,3:-",
            "table@3": "10 3 7,3:-",
            "wide@1": "2 70 -:0,64",
            "wide@2": "2 70 -:64,6",
        },
    )


def several_blocks(folder):
    """An index of two data blocks. TensorFlow starts a new block after 256 KiB, so the names are long, but they compress well."""
    save_raw(folder / "blocks.ckpt", {f"{i:02d}{'x' * 15000}": tf.fill([1, i], float(i)) for i in range(20)})
    index = folder / "blocks.ckpt.index"
    (folder / "blocks.ckpt.index.gz").write_bytes(gzip.compress(index.read_bytes(), 9, mtime=0))
    index.unlink()


def tf1_names(folder):
    tensors = {}

    def variable(name, *shape):
        tensors[name] = value = values(name, *shape)
        tensors[name + "/adam_m"] = numpy.zeros_like(value)
        tensors[name + "/adam_v"] = numpy.ones_like(value)

    def dense(name, inputs, outputs):
        variable(name + "/kernel", inputs, outputs)
        variable(name + "/bias", outputs)

    def norm(name):
        variable(name + "/gamma", HIDDEN)
        variable(name + "/beta", HIDDEN)

    variable("bert/embeddings/word_embeddings", VOCAB, HIDDEN)
    variable("bert/embeddings/position_embeddings", POSITIONS, HIDDEN)
    variable("bert/embeddings/token_type_embeddings", TYPES, HIDDEN)
    norm("bert/embeddings/LayerNorm")
    for i in range(LAYERS):
        layer = f"bert/encoder/layer_{i}"
        for part in ("query", "key", "value"):
            dense(f"{layer}/attention/self/{part}", HIDDEN, HIDDEN)
        dense(f"{layer}/attention/output/dense", HIDDEN, HIDDEN)
        norm(f"{layer}/attention/output/LayerNorm")
        dense(f"{layer}/intermediate/dense", HIDDEN, INNER)
        dense(f"{layer}/output/dense", INNER, HIDDEN)
        norm(f"{layer}/output/LayerNorm")
    dense("bert/pooler/dense", HIDDEN, HIDDEN)
    variable("output_weights", LABELS, HIDDEN)
    variable("output_bias", LABELS)
    tensors["global_step"] = numpy.int64(17)
    graph = tf.Graph()
    with graph.as_default(), tf.compat.v1.Session(graph=graph) as session:
        variables = {name: tf.compat.v1.get_variable(name.replace("/", "_"), initializer=value, use_resource=True)
                     for name, value in tensors.items()}
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver(variables).save(session, str(folder / "tf1.ckpt"), write_meta_graph=False)


class Part(tf.Module):
    """A layer whose attributes are its variables and sub-layers. Each variable has its full name."""

    def __init__(self, **attributes):
        super().__init__()
        for name, value in attributes.items():
            setattr(self, name, value)


def weights(full_name, tf1_name, **shapes):
    return Part(**{
        name: tf.Variable(values(f"{tf1_name}/{name}" if name != "embeddings" else tf1_name, *shape), name=f"{full_name}/{name}")
        for name, shape in shapes.items()
    })


def norm_part(name, tf1_name):
    return weights(name, tf1_name, gamma=[HIDDEN], beta=[HIDDEN])


def transformer_part(i, output_in_attention):
    name, tf1 = f"transformer/layer_{i}", f"bert/encoder/layer_{i}"
    attention = Part(**{
        f"_{part}_dense": weights(f"{name}/self_attention/{part}", f"{tf1}/attention/self/{part}",
                                  kernel=[HIDDEN, HEADS, SIZE], bias=[HEADS, SIZE])
        for part in ("query", "key", "value")
    })
    layer = Part(
        _attention_layer=attention,
        _attention_layer_norm=norm_part(f"{name}/self_attention_layer_norm", f"{tf1}/attention/output/LayerNorm"),
        _intermediate_dense=weights(f"{name}/intermediate", f"{tf1}/intermediate/dense", kernel=[HIDDEN, INNER], bias=[INNER]),
        _output_dense=weights(f"{name}/output", f"{tf1}/output/dense", kernel=[INNER, HIDDEN], bias=[HIDDEN]),
        _output_layer_norm=norm_part(f"{name}/output_layer_norm", f"{tf1}/output/LayerNorm"),
    )
    output = weights(f"{name}/self_attention/attention_output", f"{tf1}/attention/output/dense",
                     kernel=[HEADS, SIZE, HIDDEN], bias=[HIDDEN])
    if output_in_attention:
        attention._output_dense = output
    else:
        layer._attention_output_dense = output
    return layer


def embedding_parts():
    return [
        weights("word_embeddings", "bert/embeddings/word_embeddings", embeddings=[VOCAB, HIDDEN]),
        weights("position_embedding", "bert/embeddings/position_embeddings", embeddings=[POSITIONS, HIDDEN]),
        weights("type_embeddings", "bert/embeddings/token_type_embeddings", embeddings=[TYPES, HIDDEN]),
        norm_part("embeddings/layer_norm", "bert/embeddings/LayerNorm"),
    ]


def pooler_part():
    return weights("pooler_transform", "bert/pooler/dense", kernel=[HIDDEN, HIDDEN], bias=[HIDDEN])


def save_graph(prefix, **items):
    checkpoint = tf.train.Checkpoint(**items)
    checkpoint.save_counter  # reading the attribute creates it
    checkpoint.write(str(prefix))


def tf2_layers(folder):
    """The object graph of Model Garden's functional BertEncoder: layer_with_weights-N."""
    layers = embedding_parts() + [transformer_part(i, True) for i in range(LAYERS)] + [pooler_part()]
    model = Part(**{f"layer_with_weights-{i}": layer for i, layer in enumerate(layers)})
    optimizer = Part(iter=tf.Variable(9, dtype=tf.int64), _variables=[tf.Variable(values("m", HIDDEN), name="m/kernel")])
    save_graph(folder / "tf2_layers.ckpt", model=model, optimizer=optimizer)


def tf2_attributes(folder):
    """The object graph of BertEncoderV2, a layer with named attributes, with the heads of pre-training."""
    words, positions, types, norm = embedding_parts()
    encoder = Part(
        _embedding_layer=words,
        _position_embedding_layer=positions,
        _type_embedding_layer=types,
        _embedding_norm_layer=norm,
        _transformer_layers=[transformer_part(i, False) for i in range(LAYERS)],
    )
    transform = "cls/predictions/transform"
    masked_lm = Part(
        dense=weights(f"{transform}/dense", f"{transform}/dense", kernel=[HIDDEN, HIDDEN], bias=[HIDDEN]),
        layer_norm=norm_part(f"{transform}/LayerNorm", f"{transform}/LayerNorm"),
        **{"output_bias/bias": tf.Variable(values("cls/predictions/output_bias", VOCAB))},
    )
    save_graph(folder / "tf2_attributes.ckpt", encoder=encoder, masked_lm=masked_lm,
               **{"next_sentence.pooler_dense": pooler_part()})


def tf2_other_paths(folder):
    """Unknown attribute names, so that only the full names in the graph identify the variables."""
    layers = embedding_parts() + [transformer_part(0, True)] + [pooler_part()]
    save_graph(folder / "tf2_other.ckpt", my_own_name=Part(parts=[Part(inner=layer) for layer in layers]))


def token_example(folder):
    """One record with the features of create_finetuning_data.py and an empty list."""
    train = tf.train
    ints = lambda numbers: train.Feature(int64_list=train.Int64List(value=numbers))
    floats = lambda numbers: train.Feature(float_list=train.FloatList(value=numbers))
    features = {
        "input_ids": ints([101, 30521, 2**40, -1, 0]),
        "input_mask": ints([1, 1, 1, 1, 0]),
        "segment_ids": ints([]),
        "label_ids": floats([0.1, -2.5]),
        "text": train.Feature(bytes_list=train.BytesList(value=[b"", b"a\xff"])),
        "none": train.Feature(),
    }
    example = train.Example(features=train.Features(feature=features))
    (folder / "example.pb").write_bytes(example.SerializeToString(deterministic=True))


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    every_type(folder)
    partitioned(folder)
    several_blocks(folder)
    tf1_names(folder)
    tf2_layers(folder)
    tf2_attributes(folder)
    tf2_other_paths(folder)
    token_example(folder)
    (folder / "checkpoint").unlink(missing_ok=True)  # it contains the path of this machine's folder
    for path in sorted(folder.iterdir()):
        print(path.stat().st_size, path.name)
