#!/usr/bin/env bash
# Runs one training job on CPUs, as a custom job of Vertex AI, and shows its log. Vertex AI makes the machine and deletes it.
#
#   bash scripts/train-cloud-cpu.sh [options] [flags of berth]
#
# Without arguments it fine-tunes the image's bundled model on its sample, in gcloud's project. docs/vertex.md has the lines that make
# the image and the bucket. The same command resumes a job that was stopped. Each option may also be given by its variable:
#
#   --dry-run                                    print the lines that would run, and run none of them
#   --project ID               PROJECT_ID        gcloud's
#   --region REGION            REGION            us-central1
#   --bucket BUCKET            BUCKET            PROJECT-berth; its folder runs/NAME is the job directory, unless --job-dir names another
#   --image IMAGE              IMAGE             REGION-docker.pkg.dev/PROJECT/berth/nlp, which cloudbuild.yaml pushes
#   --name NAME                NAME              berth-cpu
#   --machine MACHINE          MACHINE           n2-standard-8
#   --spot                     SPOT=yes          a machine that may be preempted
#   --service-account ACCOUNT  SERVICE_ACCOUNT   the account that reads and writes the bucket: the one of Vertex AI, if it is not given
#
# Flags of berth have gs:// paths:
#   bash scripts/train-cloud-cpu.sh --train-data-file gs://BUCKET/data/train.csv --job-dir gs://BUCKET/runs/1 --batch-size 32
set -euo pipefail
. "$(dirname "$0")/cloud-job.sh"

apis=aiplatform.googleapis.com
cloud_options "machine:MACHINE" "$@"
MACHINE=${MACHINE:-n2-standard-8}
cloud_places cpu
vertex_job "$MACHINE" "machine-type=$MACHINE"
