#!/usr/bin/env bash
# Runs a command with a file system like that of a container on Vertex AI or Kubernetes: /gcs and /dev/termination-log are there, and
# /tmp is its own. The mounts end with the command. It takes root.
#   in_container.sh SCRATCH COMMAND...
#   SCRATCH  a folder that is the same inside. SCRATCH/gcs becomes /gcs, and SCRATCH/termination-log and SCRATCH/tmp likewise.
set -euo pipefail

if [ "${inside:-no}" = no ]; then
  inside=yes exec unshare --mount -- bash "$0" "$@"
fi
unset inside
scratch=$1
shift
mkdir -p "$scratch"/{root,gcs,tmp}
touch "$scratch/termination-log"
root=$scratch/root
mount -t tmpfs none "$root"
for entry in /*; do
  case $entry in
    /dev | /tmp | /gcs) ;;
    *) if [ -L "$entry" ]; then cp -P "$entry" "$root$entry"; elif [ -d "$entry" ]; then
        mkdir "$root$entry" && mount --rbind "$entry" "$root$entry"
      fi ;;
  esac
done
mkdir "$root"/{dev,tmp,gcs}
for device in null zero random urandom; do
  touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
touch "$root/dev/termination-log"
mount --bind "$scratch/termination-log" "$root/dev/termination-log"
mount --bind "$scratch/gcs" "$root/gcs"
mount --bind "$scratch/tmp" "$root/tmp"
mkdir -p "$root$scratch"
mount --rbind "$scratch" "$root$scratch"
here=$PWD
exec chroot "$root" /usr/bin/env --chdir="$here" "$@"
