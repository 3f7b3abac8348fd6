#!/usr/bin/env bash
# Downloads the PJRT plugin for TPUs or GPUs, and what it needs, from PyPI into FOLDER, and checks the SHA-256 of every wheel.
#
#   bash scripts/install-device-plugin.sh tpu|cuda12|cuda13 FOLDER
#
#   tpu      libtpu: 137 MB to download, 470 MB installed
#   cuda12   jax-cuda12-pjrt and CUDA 12 with cuDNN, for NVIDIA's drivers from 525 on: 3.2 GB to download, 5.1 GB installed
#   cuda13   jax-cuda13-pjrt and CUDA 13 with cuDNN, for NVIDIA's drivers from 580 on: 2.5 GB to download, 4.0 GB installed
#   gpu      the same as cuda12
#
# berth finds the plugin if FOLDER is ../lib/berth/plugins, as seen from the program's folder. Otherwise --pjrt-plugin names it:
#
#   FOLDER/libtpu/libtpu.so
#   FOLDER/jax_plugins/xla_cuda12/xla_cuda_plugin.so
#   FOLDER/jax_plugins/xla_cuda13/xla_cuda_plugin.so
#
# A FOLDER holds one version of CUDA, because cuDNN and NCCL have the same path in both.
#
# berth does not ship these files, because their licences do not plainly permit it: libtpu is under the terms of Google Cloud
# Platform, and the CUDA libraries are under NVIDIA's licences. Whoever runs this script accepts them.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "install-device-plugin: $*" >&2
  exit 2
}
[ $# = 2 ] || fail "usage: bash scripts/install-device-plugin.sh tpu|cuda12|cuda13 FOLDER"
device=$1 folder=$2
[ "$device" != gpu ] || device=cuda12
[ "$(uname -m)" = x86_64 ] || fail "the pinned wheels are for x86-64, and this machine is $(uname -m)"

case $device in
  tpu)
    requirements="libtpu==0.0.52 --hash=sha256:f5e2e596eaea9357fbb5a6755a7a9007c6ab75bfde4a55191b03eff402971140"
    ;;
  cuda12)
    requirements="
jax-cuda12-pjrt==0.12.0.1 --hash=sha256:5ec28e06198d094031c37590b4ea753ae8cde4879ab4b60baf40f0dffb673286
nvidia-cublas-cu12==12.9.3.13 --hash=sha256:d7d51055f161b317c7105ddaae90e71eda059026074ffef93cf7cde2886bfe72
nvidia-cuda-cupti-cu12==12.8.90 --hash=sha256:ea0cb07ebda26bb9b29ba82cda34849e73c166c18162d3913575b0c9db9a6182
nvidia-cuda-nvcc-cu12==12.9.86 --hash=sha256:5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0
nvidia-cuda-nvrtc-cu12==12.9.86 --hash=sha256:210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4
nvidia-cuda-runtime-cu12==12.9.79 --hash=sha256:25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3
nvidia-cudnn-cu12==9.28.0.42 --hash=sha256:9ff58b7f36dacd0a93e89f8f2957b52466889217963701daa15e577317cfa375
nvidia-cufft-cu12==11.4.1.4 --hash=sha256:c67884f2a7d276b4b80eb56a79322a95df592ae5e765cf1243693365ccab4e28
nvidia-cusolver-cu12==11.7.5.82 --hash=sha256:15da72d1340d29b5b3cf3fd100e3cd53421dde36002eda6ed93811af63c40d88
nvidia-cusparse-cu12==12.5.10.65 --hash=sha256:73060ce019ac064a057267c585bf1fd5a353734151f87472ff02b2c5c9984e78
nvidia-nccl-cu12==2.32.3 --hash=sha256:bb94b2348e4861d5e8aa00b36c3d12d9bdf9c6369b82cbb723de0b582280a21c
nvidia-nvjitlink-cu12==12.9.86 --hash=sha256:e3f1171dbdc83c5932a45f0f4c99180a70de9bd2718c1ab77d14104f6d7147f9
nvidia-nvshmem-cu12==3.8.0 --hash=sha256:b2e5760d6158aefe7bb74348d5128bb1b46a7dd1fd4b7b1e6fe55b4b07888f70"
    ;;
  cuda13)
    requirements="
jax-cuda13-pjrt==0.11.2 --hash=sha256:e5ff589d43064913bb74027682d89639c7ea48f9f81c2bae6fc75117e913f93e
nvidia-cublas==13.10.0.20 --hash=sha256:dcc6d63884c53d07e267ce7e6feac17b2538cebaafec5db865736c3e28e4dc84
nvidia-cuda-cupti==13.5.25 --hash=sha256:9dcca41c12a734192b14e7128ae116bc9ce1b9da686e2ebf48ae7a4415f76650
nvidia-cuda-nvcc==13.5.37 --hash=sha256:f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7
nvidia-cuda-nvrtc==13.5.37 --hash=sha256:86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc
nvidia-cuda-runtime==13.5.37 --hash=sha256:df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d
nvidia-cudnn-cu13==9.28.1.4 --hash=sha256:a54f205b1db1f2895d99f398754db1369816f0569dd459731f925635cf7b65ec
nvidia-cufft==12.5.0.14 --hash=sha256:b8be26837a5abad2b5b74f3e92dd29f622a42934b355be0961a48712cbba23ad
nvidia-cusolver==12.4.1.2 --hash=sha256:b3b8e02fd2f2df869369af075dc3a179d43f6f7b85e94632a7dce556697be044
nvidia-cusparse==12.9.4.2 --hash=sha256:072667e58c851a318738f5527a12eb225cbf058803f2ea451c722d8cf8edddec
nvidia-nccl-cu13==2.32.3 --hash=sha256:1459723080ac889d73a26edfa3e04383a7928ab31ac8f0ec43b3ea9548b04ff3
nvidia-nvjitlink==13.5.37 --hash=sha256:280d7cb9649704145f074b8dbde500de04ce02d0872e066e20a83c17bcaa93eb
nvidia-nvshmem-cu13==3.8.0 --hash=sha256:81a4d1f666543e6d34df6d2ff940c7da1435e34e186aab6f3c2b48861b64ef38
nvidia-nvvm==13.5.37 --hash=sha256:c41bfa362e407405163f103c2229f0765f8cc2ed7d148b754dc77f228bf7e070"
    ;;
  *) fail "'$device' is not tpu, cuda12 or cuda13" ;;
esac
for other in cuda12 cuda13; do
  [[ $device != cuda* || $device = "$other" || ! -e $folder/jax_plugins/xla_$other ]] ||
    fail "$folder holds $other, whose libraries $device would replace; give another folder"
done

# Debian's python3 has no pip of its own, but its virtual environments have one.
partial=$(mktemp -d)
trap 'rm -rf "$partial"' EXIT
/usr/bin/python3 -m venv "$partial/pip" || fail "the package python3-venv is missing"
echo "$requirements" >"$partial/requirements.txt"
# The wheel of libtpu names Python 3.11, but the library in it needs no Python.
"$partial/pip/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-compile --only-binary :all: \
  --python-version 3.11 --require-hashes --upgrade --target "$folder" --requirement "$partial/requirements.txt"
echo "installed the $device plugin in $folder"
