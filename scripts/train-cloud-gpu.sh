#!/usr/bin/env bash
# Runs one training job on GPUs, as a custom job of Vertex AI, and shows its log. Vertex AI makes the machine and deletes it.
#
#   bash scripts/train-cloud-gpu.sh [options] [flags of berth]
#
# Without arguments it fine-tunes the image's bundled model on its sample, in gcloud's project. docs/vertex.md has the lines that make
# the image and the bucket. The same command resumes a job that was stopped. Each option may also be given by its variable:
#
#   --dry-run                                    print the lines that would run, and run none of them
#   --project ID               PROJECT_ID        gcloud's
#   --region REGION            REGION            us-central1
#   --bucket BUCKET            BUCKET            PROJECT-berth; its folder runs/NAME is the job directory, unless --job-dir names another
#   --image IMAGE              IMAGE             REGION-docker.pkg.dev/PROJECT/berth/nlp-gpu, which cloudbuild.yaml pushes with
#                                                _TARGET=runtime-gpu
#   --name NAME                NAME              berth-gpu
#   --machine MACHINE          MACHINE           g2-standard-8
#   --gpu GPU                  GPU               NVIDIA_L4
#   --gpus N                   GPUS              1
#   --spot                     SPOT=yes          a machine that may be preempted
#   --service-account ACCOUNT  SERVICE_ACCOUNT   the account that reads and writes the bucket: the one of Vertex AI, if it is not given
#
# Flags of berth have gs:// paths:
#   bash scripts/train-cloud-gpu.sh --train-data-file gs://BUCKET/data/train.csv --model gs://BUCKET/bert-base-uncased.tar.gz \
#     --job-dir gs://BUCKET/runs/1 --batch-size 128
set -euo pipefail
. "$(dirname "$0")/cloud-job.sh"

apis=aiplatform.googleapis.com
cloud_options "machine:MACHINE gpu:GPU gpus:GPUS" "$@"
MACHINE=${MACHINE:-g2-standard-8} GPU=${GPU:-NVIDIA_L4} GPUS=${GPUS:-1}
[[ $GPUS =~ ^[1-9][0-9]?$ ]] || refuse 2 "--gpus $GPUS: a number is wanted"
cloud_places gpu
vertex_job "$MACHINE with $GPUS $GPU" "machine-type=$MACHINE,accelerator-type=$GPU,accelerator-count=$GPUS"
