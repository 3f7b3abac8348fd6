#!/usr/bin/env bash
# Runs one training job on GPUs, as a custom job of Vertex AI, and shows its log. Vertex AI makes the machine and deletes it. The
# image must be in Artifact Registry: docker build --target runtime-gpu -t IMAGE . && docker push IMAGE. berth has not run on a GPU
# yet.
#
#   bash scripts/train-cloud-gpu.sh [--dry-run] IMAGE [flags of berth]
#
#   --dry-run   print the commands and run none of them
#
# Data, model and job directory are gs:// paths. The same command resumes a job that was stopped. These variables choose the machine:
#
#   NAME             berth-gpu
#   REGION           us-central1
#   MACHINE          g2-standard-8
#   GPU              NVIDIA_L4
#   GPUS             1: how many of them
#   SPOT             yes: a machine that may be preempted
#   SERVICE_ACCOUNT  the account that reads and writes the bucket: that of Vertex AI, if it is not set
#
#   bash scripts/train-cloud-gpu.sh us-central1-docker.pkg.dev/PROJECT/berth/nlp-gpu --train-data-file gs://BUCKET/data/train.csv \
#     --model gs://BUCKET/bert-base-uncased.tar.gz --job-dir gs://BUCKET/runs/1 --batch-size 128 --precision bf16
set -euo pipefail
. "$(dirname "$0")/vertex-job.sh"

vertex_job berth-gpu "machine-type=${MACHINE:-g2-standard-8},accelerator-type=${GPU:-NVIDIA_L4},accelerator-count=${GPUS:-1}" gpu "$@"
