# Runs a custom job of Vertex AI. scripts/train-cloud-cpu.sh and scripts/train-cloud-gpu.sh source this file.
#
# vertex_job NAME MACHINE DEVICE [--dry-run] IMAGE [flags of berth]
#   NAME     the job's name, unless the variable NAME is set
#   MACHINE  the machine, as gcloud's --worker-pool-spec describes it
#   DEVICE   berth's --device
# The variables REGION, SERVICE_ACCOUNT and SPOT count too. The caller's comment says what they mean.
vertex_job() {
  local name=${NAME:-$1} pool=$2,replica-count=1 arguments="^@@^--device=$3" region=${REGION:-us-central1}
  local dry_run=no image argument job
  shift 3
  if [ "${1:-}" = --dry-run ]; then
    dry_run=yes
    shift
  fi
  if [ $# -eq 0 ] || [[ $1 == -* ]]; then
    echo "usage: bash $0 [--dry-run] IMAGE [flags of berth]" >&2
    exit 2
  fi
  image=$1
  shift
  # gcloud splits the list at what stands between the two ^, so that values may have commas.
  for argument; do arguments+="@@$argument"; done
  local create=(gcloud ai custom-jobs create --region "$region" --display-name "$name")
  [ "${SPOT:-no}" != yes ] || create+=(--config "$(dirname "${BASH_SOURCE[0]}")/../vertex/spot.yaml")
  [ -z "${SERVICE_ACCOUNT:-}" ] || create+=(--service-account "$SERVICE_ACCOUNT")
  create+=(--worker-pool-spec "$pool,container-image-uri=$image" --args "$arguments" --format 'value(name)')
  printf '%q ' "${create[@]}"
  printf '\n'
  if [ $dry_run = yes ]; then
    printf '%q ' gcloud ai custom-jobs stream-logs JOB --region "$region"
    printf '\n'
    return
  fi
  job=$("${create[@]}")
  gcloud ai custom-jobs stream-logs "$job" --region "$region"
}
