#!/usr/bin/env bash
# Compares berth with the installed programs that it must agree with:
#   tokenizers and transformers   token ids, every code point, folders as save_pretrained() writes them, and tokenizers that berth trains
#   PyTorch                       logits, gradients and losses of every architecture, recorded anew; exported models
#   pandas, safetensors, PyTorch  pickles and weights found in the wild
#   pyarrow                       Parquet files of pyarrow, pandas, polars and fastparquet
#   pyarrow                       Arrow files and streams of pyarrow, pandas, polars and datasets
#   onnx, ONNX Runtime            models exported as ONNX
#   sentence-transformers         embeddings, and models that are trained to make them
#   PEFT                          adapters
#   TensorBoard                   event files
#   google-cloud-storage          objects
#   huggingface_hub               the cache of models from the hub
#   TensorFlow and Model Garden   checkpoints
#   kubectl and gcloud            k8s/ and vertex/, where these programs are installed
# The script needs PyPI. The tests in CI compare with recorded values instead.
#
#   bash scripts/test-peers.sh [DATA]
#
# DATA is a folder of real data sets. Without it neither token ids nor real files are compared.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:-../shared/data}

bash scripts/install-dependencies.sh --build --test
dpkg -s python3-torch python3-venv >/dev/null 2>&1 || {
  sudo=$([ "$(id -u)" = 0 ] || echo sudo)
  $sudo apt-get update -qq && $sudo apt-get install -y --no-install-recommends python3-torch python3-venv
}
# Debian's PyTorch 1.13 needs an older transformers than the newest tokenizers do, so there are two environments.
[ -x build/peers-torch/bin/python ] || /usr/bin/python3 -m venv --system-site-packages build/peers-torch
build/peers-torch/bin/pip install --quiet transformers==4.40.2 safetensors "numpy<2" "pandas<3" sentencepiece==0.2.3 protobuf psutil
# These are installed without their dependencies, because they regard Debian's 1.13.0a0 as older than 1.13.
build/peers-torch/bin/pip install --quiet --no-deps peft==0.10.0 "accelerate<0.30"
[ -x build/peers/bin/python ] || /usr/bin/python3 -m venv build/peers
build/peers/bin/pip install --quiet "tokenizers==0.23.*" sentencepiece==0.2.3 protobuf transformers pandas tensorboard google-cloud-storage google-crc32c \
  gcp-storage-emulator==2026.7.19 "setuptools<81"

cmake --preset release -DBUILD_TESTING=ON >/dev/null
cmake --build --preset release --target berth tokenize_lines rows_as_json cpu_network_test fake_gcs_server gcs_copy convert_checkpoint

echo "== token ids"
if [ -d "$data" ]; then
  build/peers/bin/python tests/peers/check_tokenizer.py build/release/tests/tokenize_lines "$data"
  build/peers/bin/python tests/peers/check_subword.py build/release/tests/tokenize_lines "$data"
  build/peers/bin/python tests/peers/check_trained_tokenizers.py build/release/berth build/release/tests/tokenize_lines "$data"
  # The newer transformers has only fast tokenizers. The older one also has those in Python, which use libsentencepiece.
  for python in build/peers/bin/python build/peers-torch/bin/python; do
    $python tests/peers/check_tokenizer_folders.py build/release/berth build/release/tests/tokenize_lines "$data"
  done
else
  echo "SKIPPED: no data folder at $data"
fi

echo "== folders of tokenizers of every class, by transformers 5 and by transformers 4"
# berth reads the folders of both versions as transformers 5 does.
real=()
[ ! -d "$data" ] || real=("$data")
for python in build/peers/bin/python build/peers-torch/bin/python; do
  rm -rf build/peers-work/folders
  $python tests/record/tokenizer_folders.py build/peers-work/folders "${real[@]}"
  build/peers/bin/python tests/peers/check_tokenizer_variants.py build/release/berth build/release/tests/tokenize_lines \
    build/peers-work/folders "${real[@]}"
done

echo "== real files as their own libraries read them"
if [ -d "$data" ]; then
  build/peers-torch/bin/python tests/peers/check_files.py build/release/berth "$data"
else
  echo "SKIPPED: no data folder at $data"
fi

echo "== the cache of the Hugging Face hub"
build/peers/bin/pip install --quiet huggingface_hub
build/peers/bin/python tests/peers/check_hub.py build/release/berth

echo "== what TensorBoard shows of two jobs"
build/peers/bin/python tests/peers/check_tensorboard.py build/release/berth

echo "== the trace of a profile by Perfetto's schema"
build/peers/bin/pip install --quiet perfetto
build/peers/bin/python tests/peers/check_trace.py build/release/berth

echo "== Parquet files of four writers"
build/peers/bin/pip install --quiet pyarrow polars fastparquet
build/peers/bin/python tests/peers/check_parquet.py build/release/tests/rows_as_json build/peers-work/parquet
echo "== Arrow files of four writers"
build/peers/bin/pip install --quiet datasets
build/peers/bin/python tests/peers/check_arrow.py build/release/tests/rows_as_json build/peers-work/arrow

work=build/peers-work
rm -rf $work && mkdir -p $work

echo "== logits, gradients and losses against PyTorch, recorded anew"
build/peers-torch/bin/python tests/record/record_bert_parity.py $work/parity
for file in bert.safetensors config.json; do
  cmp $work/parity/$file tests/testdata/parity/$file || echo "note: $file differs from the committed one (another PyTorch)"
done
build/release/tests/cpu_network_test --gtest_brief=1 --gtest_filter='BertParity*'
# Every architecture and head is recorded with two seeds that differ from the seed of the committed recordings. The older transformers lacks
# some of them.
build/peers/bin/pip install --quiet torch safetensors
for seed in 8 9; do
  build/peers-torch/bin/python tests/record/record_architectures.py $work/architectures-$seed $seed older
  build/peers/bin/python tests/record/record_architectures.py $work/architectures-$seed $seed newer choices
  BERTH_RECORDED_ARCHITECTURES=$work/architectures-$seed build/release/tests/cpu_network_test --gtest_brief=1 \
    --gtest_filter='*Architectures*'
done

echo "== the exported model in transformers"
build/release/berth --train-data-file examples/data/df.pickle --job-dir $work/job --epochs 2 --batch-size 16 \
  --learning-rate 5e-4 --logging-steps 10 >/dev/null
sed 's/["\\]/\\&/g; s/.*/{"text": "&"}/' examples/topics/*.txt >$work/texts.jsonl
build/release/berth --mode predict --predict-data-file $work/texts.jsonl --model $work/job/model --precision fp32 >$work/predictions.tsv
build/peers-torch/bin/python tests/peers/check_model.py $work/job/model $work/texts.jsonl $work/predictions.tsv
build/peers/bin/python -c "
from transformers import AutoTokenizer
print(type(AutoTokenizer.from_pretrained('$work/job/model')).__name__, 'loads')"

echo "== a small model of every architecture from transformers and back"
build/peers/bin/python tests/peers/check_exported.py build/release/berth

echo "== multiple choice: the rows of SWAG and RACE, losses, updates and exported folders"
build/peers/bin/python tests/peers/check_multiple_choice.py build/release/berth

echo "== models with odd configurations in transformers"
build/peers/bin/python tests/peers/check_odd_models.py build/release/berth

echo "== embeddings of sentence-transformers"
build/peers/bin/pip install --quiet sentence-transformers pandas pyarrow pytrec-eval-terrier
build/peers/bin/python tests/peers/check_embeddings.py build/release/berth
build/peers/bin/python tests/peers/check_retrieval.py build/release/berth
build/peers/bin/python tests/peers/check_similarity_losses.py build/release/berth

echo "== a discriminator and its generator in transformers and back"
build/peers-torch/bin/python tests/peers/check_electra.py build/release/berth

echo "== masked tokens and next sentences in transformers and back"
build/peers-torch/bin/python tests/peers/check_next_sentence.py build/release/berth

echo "== ONNX models of every architecture and task in ONNX Runtime"
build/peers/bin/pip install --quiet onnx onnxruntime sympy
build/peers/bin/python tests/peers/check_onnx.py build/release/berth

echo "== LoRA adapters in PEFT"
build/peers-torch/bin/python tests/peers/check_adapter.py build/release/berth

echo "== summaries in TensorBoard's reader"
build/peers/bin/python - $work/job <<'PYTHON'
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
job = sys.argv[1]
metrics = json.load(open(job + "/metrics.json"))
train, held_out = EventAccumulator(job + "/summaries/train"), EventAccumulator(job + "/summaries/eval")
train.Reload(), held_out.Reload()
steps = [event.step for event in train.Scalars("loss")]
assert steps == sorted(steps) and steps[-1] == metrics["train"]["steps"], steps
accuracy = held_out.Scalars("accuracy")[-1].value
assert abs(accuracy - metrics["eval"]["accuracy"]) < 1e-6, accuracy
print(len(steps), "points of loss, last accuracy", accuracy)
PYTHON
echo "== objects that google-cloud-storage writes and reads"
build/peers/bin/python tests/peers/check_storage.py build/release/tests/fake_gcs_server \
  build/release/tests/gcs_copy

echo "== checkpoints that TensorFlow writes and reads"
[ -x build/peers-tensorflow/bin/python ] || /usr/bin/python3 -m venv build/peers-tensorflow
build/peers-tensorflow/bin/pip install --quiet tensorflow-cpu==2.21.0 safetensors scipy gin-config pyyaml sentencepiece \
  tensorflow_model_optimization tensorflow_datasets || true
# These are installed without their dependencies, because they require another version of TensorFlow.
build/peers-tensorflow/bin/pip install --quiet --no-deps tf-models-official==2.20.0 tf-keras==2.21.0 tensorflow-hub || true
if build/peers-tensorflow/bin/python -c "import tensorflow" 2>/dev/null; then
  for check in tensorflow model_garden; do
    build/peers-tensorflow/bin/python tests/peers/check_$check.py build/release/tests/convert_checkpoint $work/$check
  done
else
  echo "SKIPPED: TensorFlow cannot be installed here"
fi
echo "== k8s/ as kubectl renders it"
if kubectl kustomize k8s/base >/dev/null 2>&1; then
  build/peers/bin/pip install --quiet kubernetes-validate pyyaml
  build/peers/bin/python tests/peers/check_manifests.py kubectl
else
  echo "SKIPPED: there is no kubectl with kustomize"
fi

echo "== vertex/ as gcloud reads it"
sdk=$(gcloud info --format 'value(installation.sdk_root)' 2>/dev/null || true)
if [ -n "$sdk" ]; then
  build/peers/bin/python tests/peers/check_vertex.py "$sdk"
else
  echo "SKIPPED: there is no gcloud"
fi
echo "all peers agree"
