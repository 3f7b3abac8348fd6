#!/usr/bin/env bash
# Runs one training job on GPUs, as a custom job of Vertex AI, and shows its log. Vertex AI makes the machine and deletes it. The
# image must be in Artifact Registry: docker build --target runtime-gpu -t IMAGE . && docker push IMAGE. berth has not run on a GPU
# yet.
#
#   bash scripts/train-cloud-gpu.sh [--dry-run] IMAGE [flags of berth]
#
#   --dry-run   print the commands and run none of them
#
# Data, model and job directory are gs:// paths. These variables choose the machine:
#
#   NAME     berth-gpu
#   REGION   us-central1
#   MACHINE  g2-standard-8
#   GPU      NVIDIA_L4
#   GPUS     1: how many of them
#
#   bash scripts/train-cloud-gpu.sh us-docker.pkg.dev/PROJECT/berth/nlp-gpu --train-data-file gs://BUCKET/train.csv \
#     --model gs://BUCKET/bert-base-uncased.tar.gz --job-dir gs://BUCKET/runs/1 --batch-size 128 --precision bf16
set -euo pipefail

dry_run=no
if [ "${1:-}" = --dry-run ]; then
  dry_run=yes
  shift
fi
if [ $# -eq 0 ] || [[ $1 == -* ]]; then
  echo "train-cloud-gpu: usage: bash scripts/train-cloud-gpu.sh [--dry-run] IMAGE [flags of berth]" >&2
  exit 2
fi
image=$1
shift
name=${NAME:-berth-gpu} region=${REGION:-us-central1}
machine="machine-type=${MACHINE:-g2-standard-8},accelerator-type=${GPU:-NVIDIA_L4},accelerator-count=${GPUS:-1},replica-count=1"

# gcloud splits the list at what stands between the two ^, so that values may have commas.
arguments="^@@^--device=gpu"
for argument; do arguments+="@@$argument"; done
create=(gcloud ai custom-jobs create --region "$region" --display-name "$name"
  --worker-pool-spec "$machine,container-image-uri=$image" --args "$arguments" --format 'value(name)')
printf '%q ' "${create[@]}"
printf '\n'
if [ $dry_run = yes ]; then
  printf '%q ' gcloud ai custom-jobs stream-logs JOB --region "$region"
  printf '\n'
  exit 0
fi
job=$("${create[@]}")
gcloud ai custom-jobs stream-logs "$job" --region "$region"
