# What scripts/train-cloud-cpu.sh, -gpu.sh and -tpu.sh share: their options, the project, the image, the bucket, and the sentences
# that say what is missing. These scripts source this file, which uses only what the bash 3.2 of macOS has.
#
# Each line that a script runs is printed first. A line that begins with # informs, so the output of --dry-run is a shell script.
#
# Exit codes: 2 an argument is wrong, or this machine has no gcloud or no project. 4 something in Google Cloud is absent, off or not
# permitted. 10 Google Cloud is out of reach or out of machines now. 143 the job was cancelled. Other codes are berth's.
script=$(basename "$0" .sh) root=$(cd "$(dirname "$0")/.." && pwd)
dry_run=no keep=no arguments=()
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

refuse() {
  local code=$1
  shift
  printf '%s: %s\n' "$script" "$*" >&2
  exit "$code"
}
inform() { printf '# %s\n' "$*"; }
# The words as a shell reads them.
quoted() {
  local word line=
  for word; do
    case $word in
      *\'*) printf -v word %q "$word" ;;
      '' | *[!A-Za-z0-9_./:=@,+-]*) word="'$word'" ;;
    esac
    line+=" $word"
  done
  printf '%s' "${line# }"
}

# Reads the options of the script, wherever they stand. The other arguments are flags of berth.
#   cloud_options "OPTION:VARIABLE ..." "$@"
cloud_options() {
  local known=" project:PROJECT_ID region:REGION bucket:BUCKET image:IMAGE name:NAME service-account:SERVICE_ACCOUNT $1 "
  local option value variable
  shift
  while [ $# -gt 0 ]; do
    option=${1%%=*}
    case $1 in
      -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
      --dry-run) dry_run=yes ;;
      --spot) SPOT=yes ;;
      --keep) keep=yes ;;
      --)
        shift
        arguments+=("$@")
        break
        ;;
      --*)
        variable=${known#* "${option#--}":}
        if [ "$variable" = "$known" ]; then
          arguments+=("$1")
        else
          variable=${variable%% *} value=${1#*=}
          if [[ $1 != *=* ]]; then
            [ $# -gt 1 ] || refuse 2 "$option needs a value"
            value=$2
            shift
          fi
          [ -n "$value" ] || refuse 2 "$option needs a value"
          printf -v "$variable" %s "$value"
        fi
        ;;
      *)
        # The image may also be the first word.
        if [ ${#arguments[@]} = 0 ] && [[ $1 == */* ]]; then IMAGE=$1; else arguments+=("$1"); fi
        ;;
    esac
    shift
  done
}

# Decides the project, the image, the job directory and the arguments of berth.
#   cloud_places DEVICE
cloud_places() {
  local device=$1 argument previous='' data=no first=()
  target=runtime
  [ "$device" = cpu ] || target=runtime-$device
  REGION=${REGION:-us-central1} NAME=${NAME:-berth-$device}
  [[ $REGION =~ ^[a-z]+-[a-z]+[0-9]+$ ]] ||
    refuse 2 "--region $REGION: a region is wanted, such as us-central1; see: gcloud compute regions list"
  [[ $NAME =~ ^[a-z][a-z0-9-]{0,61}$ ]] ||
    refuse 2 "--name $NAME: a name has small letters, digits and hyphens, and begins with a letter"
  if [ $dry_run = no ] || [ -z "${PROJECT_ID:-}" ]; then
    command -v gcloud >/dev/null ||
      refuse 2 "gcloud is not installed; https://cloud.google.com/sdk/docs/install has the lines that install it"
  fi
  # gcloud itself looks at CLOUDSDK_CORE_PROJECT before its configuration.
  [ -n "${PROJECT_ID:-}" ] || PROJECT_ID=$(gcloud config get-value project 2>/dev/null) || true
  case $PROJECT_ID in
    '' | '(unset)')
      refuse 2 "no project is set; set one of those that \"gcloud projects list\" shows: gcloud config set project PROJECT"
      ;;
    *:*)
      [ -n "${IMAGE:-}" ] && [ -n "${BUCKET:-}" ] ||
        refuse 2 "the project $PROJECT_ID belongs to a domain; name the image and the bucket by --image and --bucket"
      ;;
    *)
      [[ $PROJECT_ID =~ ^[a-z][a-z0-9-]{4,28}[a-z0-9]$ ]] ||
        refuse 2 "$PROJECT_ID is not the id of a project; see: gcloud projects list"
      ;;
  esac
  IMAGE=${IMAGE:-$REGION-docker.pkg.dev/$PROJECT_ID/berth/nlp${target#runtime}:latest}
  BUCKET=${BUCKET:-$PROJECT_ID-berth}
  BUCKET=${BUCKET#gs://} BUCKET=${BUCKET%%/*}

  job_dir=''
  for argument in ${arguments[@]+"${arguments[@]}"}; do
    # It separates the arguments in gcloud's list, which may have commas.
    [[ $argument != *@@* ]] || refuse 2 "$argument: an argument with @@ cannot be passed on"
    case ${argument//_/-} in
      --job-dir=*) job_dir=${argument#*=} ;;
      --train-data-* | --train-file* | --data-dir* | --mode* | --flagfile*) data=yes ;;
    esac
    [ "${previous//_/-}" != --job-dir ] || job_dir=$argument
    previous=$argument
  done
  [ ${#arguments[@]} = 0 ] || [[ ${arguments[0]} == -* ]] ||
    refuse 2 "${arguments[0]} is neither an option, nor a flag of berth, nor an image"
  first=("--device=$device")
  # The image's sample, with the epochs that suit it. scripts/train-local.sh has the same ones.
  [ $data = yes ] || first+=(--train-data-file=/job/data/df.pickle --epochs=5 --batch-size=16)
  if [ -z "$job_dir" ]; then
    job_dir=gs://$BUCKET/runs/$NAME
    first+=("--job-dir=$job_dir")
  fi
  [[ $job_dir == gs://?* ]] ||
    refuse 2 "--job-dir $job_dir would be lost with the machine; name a folder in a bucket, such as gs://$BUCKET/runs/$NAME"
  BUCKET=${job_dir#gs://} BUCKET=${BUCKET%%/*}
  arguments=("${first[@]}" ${arguments[@]+"${arguments[@]}"})
}

# Runs a line of gcloud. `answer` is what it prints. If it fails, the script ends with a sentence: with the given one if what the line
# names is absent.
#   ask ABSENT gcloud ...
ask() {
  local absent=$1
  shift
  answer=''
  quoted "$@"
  printf '\n'
  [ $dry_run = no ] || return 0
  answer=$("$@" 2>"$errors" </dev/null) || explain "$absent"
}

# What gcloud could not do, as one sentence.
explain() {
  local absent=$1 text account project="--project $PROJECT_ID" api=''
  text=$(cat "$errors")
  text=${text#*) }
  case $text in
    *"not currently have an active account"* | *"gcloud auth login"* | *UNAUTHENTICATED*)
      refuse 4 "gcloud is not logged in, or its login has expired; log in: gcloud auth login"
      ;;
    *BILLING_DISABLED* | *"billing account"* | *"billing to be enabled"*)
      refuse 4 "the project $PROJECT_ID has no active billing account; link one that \"gcloud billing accounts list\" shows:" \
        "gcloud billing projects link $PROJECT_ID --billing-account ACCOUNT"
      ;;
    *SERVICE_DISABLED* | *"has not been used in project"* | *"not enabled on project"*)
      [[ ! $text =~ [a-z]+\.googleapis\.com ]] || api=${BASH_REMATCH[0]}
      [[ ! $text =~ apis/api/([a-z]+\.googleapis\.com) ]] || api=${BASH_REMATCH[1]}
      refuse 4 "the API ${api:-of a service} is off in the project $PROJECT_ID; turn on what a job needs:" \
        "gcloud services enable $project artifactregistry.googleapis.com cloudbuild.googleapis.com storage.googleapis.com $apis"
      ;;
    *"act as service"* | *iam.serviceAccounts.actAs*)
      account=${SERVICE_ACCOUNT:-ACCOUNT}
      [[ ! $text =~ [a-z0-9-]+@[a-z0-9.-]*gserviceaccount\.com ]] || account=${BASH_REMATCH[0]}
      refuse 4 "you may not run jobs as $account; an owner of the project permits it:" \
        "gcloud iam service-accounts add-iam-policy-binding $account $project" \
        "--member $(member) --role roles/iam.serviceAccountUser"
      ;;
    *CONSUMER_INVALID* | *"Permission denied on resource project"*)
      refuse 4 "there is no project $PROJECT_ID, or you may not use it; set one of those that \"gcloud projects list\" shows:" \
        "gcloud config set project PROJECT"
      ;;
    *PERMISSION_DENIED* | *"does not have permission"*) forbidden "$text" ;;
    *"no more capacity"* | *"currently out of"*)
      refuse 10 "${ZONE:-$REGION} has no free machine of this kind now; try again, or elsewhere by --region or --zone"
      ;;
    *quota* | *Quota*) over_quota "$text" ;;
    *"Image not found"*) refuse 4 "$unbuilt" ;;
    *NOT_FOUND* | *"not found: 404"*) [ -z "$absent" ] || refuse 4 "$absent" ;;
  esac
  cat "$errors" >&2
  case $text in
    *INVALID_ARGUMENT* | *"Invalid"*) refuse 2 "gcloud refuses an argument; its message is above" ;;
    *UNAVAILABLE* | *RESOURCE_EXHAUSTED* | *"name resolution"* | *"timed out"* | *"Connection"* | *"Unable to find the server"* | *INTERNAL*)
      refuse 10 "Google Cloud is out of reach; try again"
      ;;
    *) refuse 1 "gcloud failed; its message is above" ;;
  esac
}

# The account of gcloud, as a policy writes it.
member() {
  local account
  account=$(gcloud config get-value account 2>/dev/null) || true
  case $account in
    *gserviceaccount.com) printf 'serviceAccount:%s' "$account" ;;
    *) printf 'user:%s' "${account:-ACCOUNT}" ;;
  esac
}

forbidden() {
  local permission='' role grant="gcloud projects add-iam-policy-binding $PROJECT_ID"
  [[ ! $1 =~ (aiplatform|artifactregistry|storage|tpu|serviceusage)\.[a-zA-Z]+\.[a-zA-Z]+ ]] || permission=${BASH_REMATCH[0]}
  case $permission in
    aiplatform.*) role=roles/aiplatform.user ;;
    artifactregistry.*) role=roles/artifactregistry.reader ;;
    tpu.*) role=roles/tpu.admin ;;
    serviceusage.*) role=roles/serviceusage.serviceUsageConsumer ;;
    storage.*) role=roles/storage.objectUser grant="gcloud storage buckets add-iam-policy-binding gs://$BUCKET" ;;
    *)
      cat "$errors" >&2
      refuse 4 "you may not do this in the project $PROJECT_ID; the message above names what is missing"
      ;;
  esac
  refuse 4 "you lack the permission $permission; an owner of the project gives it: $grant --member $(member) --role $role"
}

over_quota() {
  local service place="region=$REGION" metric id wanted
  if [[ $1 =~ ([a-z]+\.googleapis\.com)/([a-z0-9_]+) ]]; then
    service=${BASH_REMATCH[1]} metric=${BASH_REMATCH[0]}
    id="gcloud beta quotas info list --service $service --project $PROJECT_ID --filter metric=$metric --format 'value(quotaId)'"
    id="\"\$($id)\""
  elif [[ $1 =~ [Qq]uota\ limit\ \'([A-Za-z0-9-]+)\' ]]; then
    service=tpu.googleapis.com place="zone=${ZONE:-}" metric=${BASH_REMATCH[1]} id=$metric
  else
    cat "$errors" >&2
    refuse 4 "a quota of the project is too small; see https://console.cloud.google.com/iam-admin/quotas?project=$PROJECT_ID"
  fi
  case $metric in
    *cpus) wanted=${MACHINE##*-} ;;
    *gpus) wanted=$GPUS ;;
    *) wanted=${TPU##*-} ;;
  esac
  refuse 4 "the quota $metric of the project $PROJECT_ID is too small; ask for $wanted or more:" \
    "gcloud beta quotas preferences create --service $service --project $PROJECT_ID --dimensions $place" \
    "--preferred-value $wanted --quota-id $id"
}

# Asks whether the image and the bucket are there, so that nobody pays for a machine that cannot work. gcloud cannot ask other
# registries than Google's.
cloud_checks() {
  local config=$root/cloudbuild.yaml folder=$root host=${IMAGE%%/*} repository=${IMAGE#*/} build=_TARGET=$target tag=latest owner
  [ "$root" != "$PWD" ] || config=cloudbuild.yaml folder=.
  if [[ $host == *-docker.pkg.dev ]]; then
    owner=${repository%%/*} repository=${repository%/*} repository=${repository##*/}
    if [ "$IMAGE" != "us-central1-docker.pkg.dev/$PROJECT_ID/berth/nlp${target#runtime}:latest" ]; then
      [[ ${IMAGE##*/} != *:* ]] || tag=${IMAGE##*:}
      build+=,_IMAGE=${IMAGE%":$tag"},_TAG=$tag
    fi
    unbuilt="there is no image $IMAGE; build it:"
    unbuilt+=" $(quoted gcloud builds submit --config "$config" --substitutions "$build" --project "$PROJECT_ID" "$folder")"
    ask "there is no repository $repository for the image; make it: gcloud artifacts repositories create $repository \
--repository-format docker --location ${host%-docker.pkg.dev} --project $owner" \
      gcloud artifacts docker images describe "$IMAGE" --format 'value(image_summary.digest)' --project "$PROJECT_ID"
  fi
  ask "there is no bucket gs://$BUCKET; make it: gcloud storage buckets create gs://$BUCKET --location $REGION --project $PROJECT_ID" \
    gcloud storage objects list "gs://$BUCKET" --limit 1 --format 'value(name)' --project "$PROJECT_ID"
}

cloud_results() {
  inform "results: gcloud storage ls $job_dir/"
  inform "model:   gcloud storage cp --recursive $job_dir/model ."
}

# Runs a custom job of Vertex AI, shows its log, and ends with its exit code.
#   vertex_job MACHINE POOL   the machine in words, and as gcloud's --worker-pool-spec describes it
vertex_job() {
  local place=(--region "$REGION" --project "$PROJECT_ID") job list argument state message
  cloud_checks
  # gcloud splits the list at what stands between the two ^.
  list="^@@^${arguments[0]}"
  for argument in "${arguments[@]:1}"; do list+="@@$argument"; done
  local create=(gcloud ai custom-jobs create "${place[@]}" --display-name "$NAME")
  [ "${SPOT:-no}" != yes ] || create+=(--config "$root/vertex/spot.yaml")
  [ -z "${SERVICE_ACCOUNT:-}" ] || create+=(--service-account "$SERVICE_ACCOUNT")
  create+=(--worker-pool-spec "$2,replica-count=1,container-image-uri=$IMAGE" --args "$list" --format 'value(name)')
  inform "machine: $1 in $REGION; Google bills it until the job ends: https://cloud.google.com/vertex-ai/pricing"
  ask '' "${create[@]}"
  job=${answer:-JOB}
  if [ $dry_run = no ]; then
    inform "console: https://console.cloud.google.com/ai/platform/locations/$REGION/training/${job##*/}?project=$PROJECT_ID"
    inform "log:     gcloud ai custom-jobs stream-logs $job $(quoted "${place[@]}")"
    inform "stop:    gcloud ai custom-jobs cancel $job $(quoted "${place[@]}")"
    inform "The job goes on if this script is interrupted. Its log begins when the machine has started."
  fi
  cloud_results
  local follow=(gcloud ai custom-jobs stream-logs "$job" "${place[@]}" --polling-interval 10)
  quoted "${follow[@]}"
  printf '\n'
  [ $dry_run = yes ] || "${follow[@]}" || inform "gcloud could not show the log to its end"
  ask '' gcloud ai custom-jobs describe "$job" "${place[@]}" --format 'value(state,error.message)'
  [ $dry_run = no ] || return 0
  state=${answer%%[[:space:]]*} message=${answer#"$state"}
  case $state in
    JOB_STATE_SUCCEEDED)
      inform "The job has succeeded."
      cloud_results
      ;;
    JOB_STATE_CANCELLED) refuse 143 "the job was cancelled; the same command resumes it from its last checkpoint" ;;
    JOB_STATE_FAILED | JOB_STATE_EXPIRED)
      local code=1
      [[ ! $message =~ non-zero\ status\ of\ ([0-9]+) ]] || code=${BASH_REMATCH[1]}
      refuse "$code" "the job failed; docs/troubleshooting.md explains the exit code $code:${message:- Vertex AI gives no reason}"
      ;;
    *) refuse 10 "the job is in the state $state and goes on; follow it: $(quoted "${follow[@]}")" ;;
  esac
}
