"""Measures training steps of BERT in JAX, written by hand. It is the counterpart of bench/step_bench.cpp with a PLUGIN.

    python bench/peer/step_jax.py fp32|bf16 MODEL BATCH LENGTH [--pad-to N] [--plugin FILE] [--lengths FILE]

LENGTH is a number of tokens, or "news" for the same lengths as in step_bench. --lengths names a file with them, one a line; otherwise
they are read from berth's sources. Texts are padded to the longest of the batch, or to --pad-to. With --plugin, JAX runs its program
on that PJRT plugin for CPUs, and otherwise on its own device: a GPU or TPU if there is one. The step has dropout, clipping and AdamW,
and its state is donated. On a GPU or TPU no step waits for the one before it. Prints examples/s, the seconds of tracing and of
compiling, and the peak memory.
"""

import argparse
import math
import os
import pathlib
import re
import resource
import statistics
import time

parser = argparse.ArgumentParser()
parser.add_argument("precision", choices=("fp32", "bf16"))
parser.add_argument("model")
parser.add_argument("batch", type=int)
parser.add_argument("length")
parser.add_argument("--pad-to", type=int, default=0)
parser.add_argument("--plugin")
parser.add_argument("--lengths", type=pathlib.Path)
options = parser.parse_args()
if options.plugin:
    os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"peer:{options.plugin}"
    os.environ["JAX_PLATFORMS"] = "peer"

import jax  # noqa: E402: it reads the environment
import jax.numpy as jnp  # noqa: E402

layers, hidden, heads = {"tiny": (2, 128, 2), "mini-lm": (6, 384, 12), "base": (12, 768, 12), "large": (24, 1024, 16)}[options.model]


def news_lengths():
    if options.lengths:
        return [int(line) for line in options.lengths.read_text().split()]
    source = (pathlib.Path(__file__).parents[2] / "trainer/model/benchmark_step.cpp").read_text()
    return [int(number) for number in re.search(r"kNewsLengths = \{([^}]*)\}", source).group(1).split(",")]


lengths = [int(options.length)] * options.batch if options.length != "news" else [news_lengths()[b * 37 % 64] for b in range(options.batch)]
width = max(options.pad_to, *lengths, 0)
factor_type = jnp.bfloat16 if options.precision == "bf16" else jnp.float32


def random(key, *shape):
    return 0.02 * jax.random.normal(key, shape, jnp.float32)


def make_parameters():
    keys = iter(jax.random.split(jax.random.key(1), 16 * layers + 16))
    dense = lambda outputs, inputs: {"w": random(next(keys), inputs, outputs), "b": jnp.zeros(outputs)}
    norm = lambda: {"gamma": jnp.ones(hidden), "beta": jnp.zeros(hidden)}
    return {
        "word": random(next(keys), 30522, hidden), "position": random(next(keys), 512, hidden), "type": random(next(keys), 2, hidden),
        "norm": norm(), "pooler": dense(hidden, hidden), "classifier": dense(2, hidden),
        "layers": [{"q": dense(hidden, hidden), "k": dense(hidden, hidden), "v": dense(hidden, hidden), "o": dense(hidden, hidden),
                    "attention_norm": norm(), "up": dense(4 * hidden, hidden), "down": dense(hidden, 4 * hidden), "output_norm": norm()}
                   for _ in range(layers)],
    }


def product(x, w):
    return jnp.matmul(x.astype(factor_type), w.astype(factor_type), preferred_element_type=jnp.float32)


def linear(x, dense):
    return product(x, dense["w"]) + dense["b"]


def layer_norm(x, norm):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-12) * norm["gamma"] + norm["beta"]


def dropout(x, key, p=0.1):
    return jnp.where(jax.random.bernoulli(key, 1 - p, x.shape), x / (1 - p), 0)


def loss_of(parameters, batch, key):
    ids, mask, labels = batch
    keys = iter(jax.random.split(key, 3 * layers + 2))
    x = parameters["word"][ids] + parameters["position"][:width] + parameters["type"][0]
    x = dropout(layer_norm(x, parameters["norm"]), next(keys))
    split = lambda y: y.reshape(*y.shape[:2], heads, hidden // heads).transpose(0, 2, 1, 3)
    for layer in parameters["layers"]:
        q, k, v = (split(linear(x, layer[name])) for name in "qkv")
        scores = product(q, k.transpose(0, 1, 3, 2)) / math.sqrt(hidden // heads)
        probabilities = jax.nn.softmax(scores + jnp.where(mask, 0, -1e9)[:, None, None, :], axis=-1)
        context = product(dropout(probabilities, next(keys)), v).transpose(0, 2, 1, 3).reshape(x.shape)
        x = layer_norm(x + dropout(linear(context, layer["o"]), next(keys)), layer["attention_norm"])
        inner = jax.nn.gelu(linear(x, layer["up"]), approximate=False)
        x = layer_norm(x + dropout(linear(inner, layer["down"]), next(keys)), layer["output_norm"])
    pooled = dropout(jnp.tanh(linear(x[:, 0], parameters["pooler"])), next(keys))
    logits = pooled @ parameters["classifier"]["w"] + parameters["classifier"]["b"]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def step(state, batch, key):
    values, first, second, count = state
    loss, gradients = jax.value_and_grad(loss_of)(values, batch, key)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
    gradients = jax.tree.map(lambda g: g * jnp.minimum(1, 1 / norm), gradients)
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)

    def update(w, m, v):
        decayed = w * (1 - 1e-5 * 0.01) if w.ndim > 1 else w
        return decayed - 1e-5 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8)

    return (jax.tree.map(update, values, first, second), first, second, count), loss


values = jax.jit(make_parameters)()
zeros = lambda: jax.tree.map(jnp.zeros_like, values)
state = (values, zeros(), zeros(), jnp.float32(0))
ids = jax.random.randint(jax.random.key(2), (options.batch, width), 1, 30522)
batch = (ids, jnp.array([[i < length for i in range(width)] for length in lengths]), jnp.arange(options.batch) % 2)
begin = time.perf_counter()
lowered = jax.jit(step, donate_argnums=0).lower(state, batch, jax.random.key(0))
lowered_at = time.perf_counter()
compiled = lowered.compile()
lower_s, compile_s = lowered_at - begin, time.perf_counter() - lowered_at
device = jax.devices()[0]
steps = 1 if device.platform == "cpu" else 10  # between two waits for the device
seconds = []
while len(seconds) < 4 or sum(seconds[1:]) * steps < 5:
    begin = time.perf_counter()
    for number in range(steps):
        state, loss = compiled(state, batch, jax.random.key(steps * len(seconds) + number))
    float(loss)
    seconds.append((time.perf_counter() - begin) / steps)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
if device.platform != "cpu":
    peak = (device.memory_stats() or {}).get("peak_bytes_in_use", 0) / 2**30
print(f"{options.model} {options.batch} x {options.length} padded to {width}: {options.batch / statistics.median(seconds[1:]):.2f} examples/s"
      f"  lowered in {lower_s:.1f} s, compiled in {compile_s:.1f} s  {peak:.2f} GiB  jax {jax.__version__} {options.precision}")
