#!/usr/bin/env bash
# Runs one training job on CPUs, as a custom job of Vertex AI, and shows its log. Vertex AI makes the machine and deletes it. The image
# must be in Artifact Registry; docs/vertex.md has the lines that put it there.
#
#   bash scripts/train-cloud-cpu.sh [--dry-run] IMAGE [flags of berth]
#
#   --dry-run   print the commands and run none of them
#
# Data, model and job directory are gs:// paths. The same command resumes a job that was stopped. These variables choose the machine:
#
#   NAME             berth-cpu
#   REGION           us-central1
#   MACHINE          n2-standard-8
#   SPOT             yes: a machine that may be preempted
#   SERVICE_ACCOUNT  the account that reads and writes the bucket: that of Vertex AI, if it is not set
#
#   bash scripts/train-cloud-cpu.sh us-central1-docker.pkg.dev/PROJECT/berth/nlp --train-data-file gs://BUCKET/data/train.csv \
#     --job-dir gs://BUCKET/runs/1 --epochs 3 --batch-size 32
set -euo pipefail
. "$(dirname "$0")/vertex-job.sh"

vertex_job berth-cpu "machine-type=${MACHINE:-n2-standard-8}" cpu "$@"
