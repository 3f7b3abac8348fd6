#!/usr/bin/env bash
# Creates a TPU VM on Google Cloud, runs one training job on it, and deletes the VM. berth has not run on a TPU yet.
#
#   bash scripts/train-cloud-tpu.sh [options] [flags of berth]
#
# Without arguments it fine-tunes the image's bundled model on its sample, in gcloud's project. docs/vertex.md has the lines that make
# the image and the bucket. The same command resumes the job after a preemption. Each option may also be given by its variable:
#
#   --dry-run                                    print the lines that would run, and run none of them
#   --project ID               PROJECT_ID        gcloud's
#   --region REGION            REGION            us-central1: the image's region
#   --bucket BUCKET            BUCKET            PROJECT-berth; its folder runs/NAME is the job directory, unless --job-dir names another
#   --image IMAGE              IMAGE             REGION-docker.pkg.dev/PROJECT/berth/nlp-tpu, which cloudbuild.yaml pushes with
#                                                _TARGET=runtime-tpu
#   --name NAME                NAME              berth-tpu: the VM's name, too
#   --zone ZONE                ZONE              us-west4-a: the VM's zone
#   --accelerator-type TYPE    TPU               v5litepod-1: one chip; v5litepod-4 and v5litepod-8 are slices of one host, too
#   --runtime VERSION          RUNTIME           v2-alpha-tpuv5-lite: the VM's software
#   --spot                     SPOT=yes          a VM that may be preempted
#   --service-account ACCOUNT  SERVICE_ACCOUNT   the account that reads the image and writes the bucket: Compute Engine's, if it is not
#                                                given
#   --keep                                       leave the VM for another job
#
# Flags of berth have gs:// paths:
#   bash scripts/train-cloud-tpu.sh --train-data-file gs://BUCKET/train.csv --model gs://BUCKET/bert-base-uncased.tar.gz \
#     --job-dir gs://BUCKET/runs/1 --batch-size 256
set -euo pipefail
. "$(dirname "$0")/cloud-job.sh"

apis="tpu.googleapis.com compute.googleapis.com"
cloud_options "zone:ZONE accelerator-type:TPU runtime:RUNTIME" "$@"
ZONE=${ZONE:-us-west4-a} TPU=${TPU:-v5litepod-1}
[[ $ZONE =~ ^[a-z]+-[a-z]+[0-9]+-[a-z]$ ]] ||
  refuse 2 "--zone $ZONE: a zone is wanted, such as us-west4-a; see: gcloud compute zones list"
cloud_places tpu
vm=(gcloud compute tpus tpu-vm) place=(--zone "$ZONE" --project "$PROJECT_ID")

delete() {
  # A request that Google Cloud refused has made nothing.
  case $?$created in 2no | 4no) rm -f "$errors" && return ;; esac
  local line=("${vm[@]}" delete "$NAME" "${place[@]}" --quiet)
  quoted "${line[@]}"
  printf '\n'
  if [ $dry_run = no ] && ! "${line[@]}" 2>"$errors" && ! grep -q NOT_FOUND "$errors"; then
    cat "$errors" >&2
    echo "$script: the VM $NAME may still be there and cost; delete it: $(quoted "${line[@]}")" >&2
  fi
  rm -f "$errors"
}

cloud_checks
describe=("${vm[@]}" describe "$NAME" "${place[@]}" --format 'value(state)')
quoted "${describe[@]}"
printf '\n'
state=
[ $dry_run = yes ] || state=$("${describe[@]}" 2>"$errors") || grep -q NOT_FOUND "$errors" || explain ''
inform "machine: $TPU in $ZONE; Google bills it until it is deleted: https://cloud.google.com/tpu/pricing"
created=no
[ $keep = yes ] || trap delete EXIT
if [ -n "$state" ]; then
  inform "The VM $NAME exists, in the state $state."
else
  create=("${vm[@]}" create "$NAME" "${place[@]}" --accelerator-type "$TPU" --version "${RUNTIME:-v2-alpha-tpuv5-lite}")
  create+=(--scopes cloud-platform)
  [ "${SPOT:-no}" != yes ] || create+=(--spot)
  [ -z "${SERVICE_ACCOUNT:-}" ] || create+=(--service-account "$SERVICE_ACCOUNT")
  ask '' "${create[@]}"
fi
created=yes
cloud_results
# --privileged gives the container the TPU's device files, and --net host the metadata server. The cache keeps compiled programs.
job=(sudo docker run --rm --privileged --net host --volume /var/cache/berth:/cache "$IMAGE" --cache-dir=/cache "${arguments[@]}")
ssh=("${vm[@]}" ssh "$NAME" "${place[@]}" --command "sudo gcloud auth configure-docker --quiet ${IMAGE%%/*} && $(quoted "${job[@]}")")
quoted "${ssh[@]}"
printf '\n'
[ $dry_run = no ] || exit 0
code=0
{ "${ssh[@]}" 2>&1 >&3 </dev/null | tee "$errors" >&2; } 3>&1 || code=$?
if grep -q downloadArtifacts "$errors"; then
  number="gcloud projects describe $PROJECT_ID --format 'value(projectNumber)'"
  refuse 4 "the VM may not read the image; an owner of the project permits it: gcloud projects add-iam-policy-binding $PROJECT_ID" \
    "--role roles/artifactregistry.reader" \
    "--member \"serviceAccount:${SERVICE_ACCOUNT:-\$($number)-compute@developer.gserviceaccount.com}\""
fi
if grep -q '^ERROR: (gcloud' "$errors"; then
  refuse 10 "gcloud could not reach the VM, or has lost it; its message is above, and the same command resumes the job"
fi
[ $code = 0 ] || refuse $code "the job ended with exit code $code; its last line is above"
inform "The job has succeeded."
cloud_results
