# Builds the image and runs a job on the bundled sample:
#   docker build -t nlp .
#   docker run nlp --train-data-file data/df.pickle --job-dir . --epochs 1 --batch-size 1
#
# The build needs BuildKit or buildah. Its arguments:
#   MODEL, DATA              what the image brings along in place of the bundled model and the sample; image/README.md
#   BASE                     the Debian 12 image that it builds on; CONTRIBUTING.md says how to renew the digest
#   REVISION, CREATED, SOURCE_DATE_EPOCH, SOURCE
#                            the commit, its time twice, and the address of the sources, for the labels and the bill of materials
#
# Two other targets add what a TPU or a GPU needs. Neither image has been run on such a device yet.
#   docker build --target runtime-tpu -t nlp-tpu .
#   docker build --target runtime-gpu -t nlp-gpu .                          CUDA 12, for NVIDIA's drivers from 525 on
#   docker build --target runtime-gpu --build-arg CUDA=13 -t nlp-gpu .      CUDA 13, for NVIDIA's drivers from 580 on
# Their plugins are downloaded from PyPI while you build, because their licences do not plainly permit us to ship them: libtpu is
# under the terms of Google Cloud Platform, and the CUDA libraries are under NVIDIA's licences. You accept them by building, and
# should read them before you give such an image to others.
#
# The target test runs the tests.
ARG BASE=docker.io/library/debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171

# What a build needs. .devcontainer/ begins with it, too.
FROM ${BASE} AS tools
WORKDIR /src
COPY scripts/install-dependencies.sh scripts/
RUN bash scripts/install-dependencies.sh --build --image

FROM tools AS build
COPY CMakeLists.txt CMakePresets.json ARCHITECTURE.md ./
COPY cmake cmake
COPY storage storage
COPY trainer trainer
COPY third_party third_party
COPY entrypoint entrypoint
# The folder of a compiler cache, if a build mounts one, as scripts/test-container.sh does.
ARG CCACHE_DIR=
RUN if [ -n "${CCACHE_DIR}" ]; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=/src CCACHE_SLOPPINESS=locale CCACHE_COMPILERCHECK=content; fi \
 && cmake --preset release -DBUILD_TESTING=OFF -DBERTH_BENCH=OFF \
 && cmake --build --preset release --target berth
COPY LICENSE ./
COPY scripts/collect-image.sh scripts/collect-program.sh scripts/write-sbom.sh scripts/
ARG BASE
ARG REVISION=unknown
ARG SOURCE_DATE_EPOCH=0
RUN bash scripts/collect-image.sh build/release/berth /image

# The model and the data. The secret is a file of credentials for gs://.
FROM build AS content
COPY examples examples
COPY scripts/bake-image.sh scripts/
ARG MODEL=
ARG DATA=
RUN --mount=type=bind,source=image,target=/src/image --mount=type=secret,id=gcloud,target=/run/secrets/gcloud \
    GOOGLE_CLOUD_KEY=/run/secrets/gcloud bash scripts/bake-image.sh build/release/berth /content "${MODEL}" "${DATA}"

# The image has no shell and no package manager. Its first layer holds the binary, its shared libraries, CA certificates, the licences and a
# bill of materials. Its second layer holds the model and the data.
FROM scratch AS runtime
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="berth" \
      org.opencontainers.image.description="Fine-tunes a BERT-family encoder: data in, model out, one binary" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}"
COPY --from=build /image/ /
COPY --from=content /content/ /
USER 65532:65532
WORKDIR /job
ENTRYPOINT ["/usr/local/bin/berth"]

FROM ${BASE} AS plugin
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv ca-certificates
WORKDIR /src
COPY scripts/install-device-plugin.sh scripts/

FROM plugin AS plugin-tpu
RUN bash scripts/install-device-plugin.sh tpu /plugins

FROM plugin AS plugin-gpu
ARG CUDA=12
RUN bash scripts/install-device-plugin.sh "cuda${CUDA}" /plugins

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

# docker build --target test . compiles the tests of the optimized program and runs them.
FROM build AS test
RUN bash scripts/install-dependencies.sh --test
COPY . .
RUN cmake --preset release -DBUILD_TESTING=ON && cmake --build --preset release --target optimized_tests \
 && ctest --preset release --label-regex optimized --label-exclude plugins --output-on-failure --no-tests=error

# The last stage is what is built if no target is named.
FROM runtime
