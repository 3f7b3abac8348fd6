"""Compares berth's TensorFlow checkpoints with TensorFlow in both directions.

    python tests/peers/check_tensorflow.py CONVERT_CHECKPOINT WORK_FOLDER

tf.train.load_checkpoint reads what berth writes. berth reads what TensorFlow writes: TF1's Saver, TF2's object graph, partitioned
variables, and an index of several blocks. Every tensor is compared bit for bit.
"""

import os
import pathlib
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy
import safetensors.numpy
import tensorflow as tf

HIDDEN, HEADS, INNER, VOCAB, POSITIONS, LAYERS = 24, 3, 40, 101, 33, 12
RANDOM = numpy.random.default_rng(5)


def model():
    """Two dicts: Hugging Face name -> value, and TF1 name -> value."""
    hugging_face, tensorflow = {}, {}

    def add(name, tf_name, *shape, transposed=False):
        value = RANDOM.standard_normal(shape).astype(numpy.float32)
        hugging_face[name], tensorflow[tf_name] = value, numpy.ascontiguousarray(value.T) if transposed else value

    def dense(name, tf_name, outputs, inputs):
        add(name + ".weight", tf_name + "/kernel", outputs, inputs, transposed=True)
        add(name + ".bias", tf_name + "/bias", outputs)

    def norm(name, tf_name):
        add(name + ".weight", tf_name + "/gamma", HIDDEN)
        add(name + ".bias", tf_name + "/beta", HIDDEN)

    for part, rows in (("word", VOCAB), ("position", POSITIONS), ("token_type", 2)):
        add(f"bert.embeddings.{part}_embeddings.weight", f"bert/embeddings/{part}_embeddings", rows, HIDDEN)
    norm("bert.embeddings.LayerNorm", "bert/embeddings/LayerNorm")
    for i in range(LAYERS):
        layer, tf_layer = f"bert.encoder.layer.{i}", f"bert/encoder/layer_{i}"
        for part in ("query", "key", "value"):
            dense(f"{layer}.attention.self.{part}", f"{tf_layer}/attention/self/{part}", HIDDEN, HIDDEN)
        dense(f"{layer}.attention.output.dense", f"{tf_layer}/attention/output/dense", HIDDEN, HIDDEN)
        norm(f"{layer}.attention.output.LayerNorm", f"{tf_layer}/attention/output/LayerNorm")
        dense(f"{layer}.intermediate.dense", f"{tf_layer}/intermediate/dense", INNER, HIDDEN)
        dense(f"{layer}.output.dense", f"{tf_layer}/output/dense", HIDDEN, INNER)
        norm(f"{layer}.output.LayerNorm", f"{tf_layer}/output/LayerNorm")
    dense("bert.pooler.dense", "bert/pooler/dense", HIDDEN, HIDDEN)
    add("classifier.weight", "output_weights", 3, HIDDEN)
    add("classifier.bias", "output_bias", 3)
    return hugging_face, tensorflow


def same(found, expected):
    assert set(found) == set(expected), sorted(set(found) ^ set(expected))[:10]
    for name, value in expected.items():
        assert found[name].dtype == value.dtype and numpy.array_equal(found[name], value), name
    return len(expected)


def loaded(prefix):
    checkpoint = tf.train.load_checkpoint(str(prefix))
    return {name: numpy.asarray(checkpoint.get_tensor(name)) for name in checkpoint.get_variable_to_shape_map()}


class Check:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def convert(self, direction, source, target):
        subprocess.run([self.program, direction, str(source), str(target)], check=True)

    def read_by_berth(self, prefix):
        self.convert("to_safetensors", prefix, f"{prefix}.safetensors")
        return safetensors.numpy.load_file(f"{prefix}.safetensors")

    def written_by_berth(self, hugging_face, tensorflow):
        source, prefix = self.folder / "model.safetensors", self.folder / "berth.ckpt"
        safetensors.numpy.save_file(hugging_face, source, metadata={"format": "pt"})
        self.convert("to_tensorflow", source, prefix)
        count = same(loaded(prefix), tensorflow)
        print(count, "tensors that berth wrote are what TensorFlow", tf.__version__, "reads")

    def written_by_saver(self, hugging_face, tensorflow):
        prefix = self.folder / "saver.ckpt"
        partitioned = "bert/embeddings/word_embeddings"
        names = list(tensorflow) + [partitioned] * 2
        table = tensorflow[partitioned]
        values, slices = list(tensorflow.values()), [""] * len(tensorflow)
        names.remove(partitioned)
        del values[0], slices[0]
        cut = VOCAB // 2
        values += [table[:cut], table[cut:]]
        slices += [f"{VOCAB} {HIDDEN} 0,{cut}:-", f"{VOCAB} {HIDDEN} {cut},{VOCAB - cut}:-"]
        # Adds optimizer slots, a step, and long names that fill a second block of the index.
        for i in range(30):
            names.append(f"bert/pooler/dense/kernel/{i}{'m' * 10000}"), values.append(table), slices.append("")
        names.append("global_step"), values.append(numpy.int64(7)), slices.append("")
        tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=names, shape_and_slices=slices, tensors=values)
        assert os.path.getsize(f"{prefix}.index") > 262144
        print(same(self.read_by_berth(prefix), hugging_face), "tensors of a Saver's checkpoint are what berth reads")

    def written_by_graph(self, hugging_face, tensorflow):
        """Splits off the classifier, because an encoder of Model Garden has none."""
        prefix = self.folder / "graph.ckpt"
        root, names = tf.Module(), {}

        def put(path, tf_name, *shape):
            node = root
            *parts, last = path.split("/")
            for part in parts:
                if not hasattr(node, part):
                    setattr(node, part, tf.Module())
                node = getattr(node, part)
            value = tensorflow[tf_name]
            setattr(node, last, tf.Variable(value.reshape(shape or value.shape)))
            names[path] = tf_name

        size = HIDDEN // HEADS
        for i, part in enumerate(("word", "position", "token_type")):
            put(f"encoder/layer_with_weights-{i}/embeddings", f"bert/embeddings/{part}_embeddings")
        for end in ("gamma", "beta"):
            put(f"encoder/layer_with_weights-3/{end}", f"bert/embeddings/LayerNorm/{end}")
        for i in range(LAYERS):
            layer, tf_layer = f"encoder/layer_with_weights-{i + 4}", f"bert/encoder/layer_{i}"
            for part in ("query", "key", "value"):
                put(f"{layer}/_attention_layer/_{part}_dense/kernel", f"{tf_layer}/attention/self/{part}/kernel", HIDDEN, HEADS, size)
                put(f"{layer}/_attention_layer/_{part}_dense/bias", f"{tf_layer}/attention/self/{part}/bias", HEADS, size)
            put(f"{layer}/_attention_layer/_output_dense/kernel", f"{tf_layer}/attention/output/dense/kernel", HEADS, size, HIDDEN)
            put(f"{layer}/_attention_layer/_output_dense/bias", f"{tf_layer}/attention/output/dense/bias")
            for key, tf_name in (("_intermediate_dense", "intermediate/dense"), ("_output_dense", "output/dense")):
                for end in ("kernel", "bias"):
                    put(f"{layer}/{key}/{end}", f"{tf_layer}/{tf_name}/{end}")
            for key, tf_name in (("_attention_layer_norm", "attention/output"), ("_output_layer_norm", "output")):
                for end in ("gamma", "beta"):
                    put(f"{layer}/{key}/{end}", f"{tf_layer}/{tf_name}/LayerNorm/{end}")
        for end in ("kernel", "bias"):
            put(f"encoder/layer_with_weights-{LAYERS + 4}/{end}", f"bert/pooler/dense/{end}")
        tf.train.Checkpoint(encoder=root.encoder).write(str(prefix))
        expected = {name: value for name, value in hugging_face.items() if not name.startswith("classifier")}
        print(same(self.read_by_berth(prefix), expected), "tensors of an object graph are what berth reads")


if __name__ == "__main__":
    check = Check(*sys.argv[1:3])
    both = model()
    check.written_by_berth(*both)
    check.written_by_saver(*both)
    check.written_by_graph(*both)
