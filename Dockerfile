# Builds the image and runs a job on the bundled sample:
#   docker build -t nlp .
#   docker run nlp --train-data-file data/df.pickle --job-dir . --epochs 1 --batch-size 1
#
# Two other targets add what a TPU or a GPU needs. Neither has been run on such a device yet.
#   docker build --target runtime-tpu -t nlp-tpu .
#   docker build --target runtime-gpu -t nlp-gpu .
# Their plugins are downloaded from PyPI while you build, because their licences do not plainly permit us to ship them: libtpu is
# under the terms of Google Cloud Platform, and the CUDA libraries are under NVIDIA's licences. You accept them by building, and
# should read them before you give such an image to others.
FROM docker.io/library/debian:bookworm-slim AS build
WORKDIR /src
COPY scripts/install-dependencies.sh scripts/
RUN bash scripts/install-dependencies.sh --build --image
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY storage storage
COPY trainer trainer
COPY third_party third_party
COPY entrypoint entrypoint
RUN cmake --preset release -DBUILD_TESTING=OFF -DBERTH_BENCH=OFF \
 && cmake --build --preset release --target berth
COPY examples examples
COPY scripts/collect-image.sh scripts/write-sbom.sh scripts/
ARG REVISION=unknown
ARG SOURCE_DATE_EPOCH=0
RUN bash scripts/collect-image.sh build/release/berth /image

# The image has no shell and no package manager. It holds the binary, its shared libraries, CA certificates, the bundled model, the
# sample, the licences of what it holds and a bill of materials.
FROM scratch AS runtime
ARG REVISION=unknown
LABEL org.opencontainers.image.title="berth" \
      org.opencontainers.image.description="Fine-tunes a BERT-family encoder: data in, model out, one binary" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /image/ /
USER 65532:65532
WORKDIR /job
ENTRYPOINT ["/usr/local/bin/berth"]

FROM docker.io/library/debian:bookworm-slim AS plugin
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv ca-certificates
WORKDIR /src
COPY scripts/install-device-plugin.sh scripts/

FROM plugin AS plugin-tpu
RUN bash scripts/install-device-plugin.sh tpu /plugins

FROM plugin AS plugin-gpu
RUN bash scripts/install-device-plugin.sh gpu /plugins

# The TPU's device files belong to root.
FROM runtime AS runtime-tpu
COPY --from=plugin-tpu /plugins /usr/local/lib/berth/plugins
USER 0:0

# NVIDIA's container runtime puts the driver into /usr/lib64 or /usr/lib/x86_64-linux-gnu, and GKE into /usr/local/nvidia/lib64.
FROM runtime AS runtime-gpu
COPY --from=plugin-gpu /plugins /usr/local/lib/berth/plugins
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    LD_LIBRARY_PATH=/usr/local/nvidia/lib64:/usr/lib64:/usr/lib/x86_64-linux-gnu

# The last stage is what is built if no target is named.
FROM runtime
