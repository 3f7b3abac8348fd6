#!/usr/bin/env bash
# Creates a TPU VM on Google Cloud, runs one training job on it, and deletes the VM. The image must be in a registry that the VM can
# read: docker build --target runtime-tpu -t IMAGE . && docker push IMAGE. berth has not run on a TPU yet.
#
#   bash scripts/train-cloud-tpu.sh [--dry-run] [--keep] IMAGE [flags of berth]
#
#   --dry-run   print the commands and run none of them
#   --keep      leave the VM for another job
#
# Data, model and job directory are gs:// paths. The same command resumes the job after a preemption. These variables choose the VM:
#
#   NAME     berth-tpu
#   ZONE     us-west4-a
#   TPU      v5litepod-1: one chip; v5litepod-4 and v5litepod-8 are slices of one host, too
#   RUNTIME  v2-alpha-tpuv5-lite: the VM's software
#   SPOT     yes: a VM that may be preempted
#
#   bash scripts/train-cloud-tpu.sh us-docker.pkg.dev/PROJECT/berth/nlp-tpu --train-data-file gs://BUCKET/train.csv \
#     --model gs://BUCKET/bert-base-uncased.tar.gz --job-dir gs://BUCKET/runs/1 --batch-size 256 --precision bf16
set -euo pipefail

dry_run=no keep=no
while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry_run=yes ;;
    --keep) keep=yes ;;
    *) break ;;
  esac
  shift
done
if [ $# -eq 0 ] || [[ $1 == -* ]]; then
  echo "train-cloud-tpu: usage: bash scripts/train-cloud-tpu.sh [--dry-run] [--keep] IMAGE [flags of berth]" >&2
  exit 2
fi
image=$1
shift
name=${NAME:-berth-tpu} zone=${ZONE:-us-west4-a} tpu=${TPU:-v5litepod-1} runtime=${RUNTIME:-v2-alpha-tpuv5-lite}
spot=()
[ "${SPOT:-no}" != yes ] || spot=(--spot)

run() {
  printf '%q ' "$@"
  printf '\n'
  [ $dry_run = yes ] || "$@"
}
delete() {
  run gcloud compute tpus tpu-vm delete "$name" --zone "$zone" --quiet
}

if [ $dry_run = no ] && gcloud compute tpus tpu-vm describe "$name" --zone "$zone" >/dev/null 2>&1; then
  echo "train-cloud-tpu: using the VM $name, which exists"
else
  [ $keep = yes ] || trap delete EXIT
  run gcloud compute tpus tpu-vm create "$name" --zone "$zone" --accelerator-type "$tpu" --version "$runtime" \
    --scopes cloud-platform "${spot[@]}"
fi
# --privileged gives the container the TPU's device files, and --net host the metadata server. The cache keeps compiled programs.
printf -v job '%q ' sudo docker run --rm --privileged --net host --volume /var/cache/berth:/cache "$image" \
  --device tpu --cache-dir /cache "$@"
run gcloud compute tpus tpu-vm ssh "$name" --zone "$zone" --command \
  "sudo gcloud auth configure-docker --quiet ${image%%/*} && $job"
