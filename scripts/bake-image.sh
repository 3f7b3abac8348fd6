#!/usr/bin/env bash
# Puts the model and the data that an image brings along into the empty folder ROOT. The Dockerfile calls this script.
#
#   bash scripts/bake-image.sh BINARY ROOT [MODEL [DATA]]
#
#   /usr/local/share/berth/model   MODEL as safetensors, or the bundled model
#   /job/data                      the files of DATA, or the sample; /job is the working directory
#
# image/README.md says what MODEL and DATA may be. The environment: SOURCE_DATE_EPOCH as write-sbom.sh says, and
# GOOGLE_CLOUD_KEY, a file of credentials for gs://, which is used if it exists.
set -euo pipefail
binary=$1 root=$2 model=${3:-} data=${4:-}

if [ -s "${GOOGLE_CLOUD_KEY:-}" ]; then export GOOGLE_APPLICATION_CREDENTIALS=$GOOGLE_CLOUD_KEY; fi
to_model=$root/usr/local/share/berth/model to_data=$root/job/data
install -d "$root/usr/local/share/berth"
install -d -m 1777 "$root/job"

if [ -n "$model" ]; then
  "$binary" --log-format text --mode convert --model "$model" --export-dir "$to_model" --export-format safetensors
else
  cp -r examples/model "$to_model"
fi
if [ -n "$data" ]; then
  "$binary" --log-format text --mode fetch "$data" --export-dir "$to_data"
else
  install -D -m 0644 examples/data/df.pickle "$to_data/df.pickle"
fi

# Every user can read all of it, and every build of a commit has the same times.
chmod -R u=rwX,go=rX "$root/usr" "$to_data"
find "$root" -mindepth 1 -exec touch --no-dereference --date "@${SOURCE_DATE_EPOCH:-0}" {} +
echo "image: $(du -s --apparent-size -B 1 "$to_model" | cut -f 1) bytes of model, $(du -s --apparent-size -B 1 "$to_data" | cut -f 1) of data"
