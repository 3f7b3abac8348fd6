# Builds the image and runs a job on the bundled sample:
#   docker build -t nlp .
#   docker run nlp --train-data-file data/df.pickle --job-dir . --epochs 1 --batch-size 1
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
RUN cmake --preset release -DBUILD_TESTING=OFF -DBERTH_BENCH=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
 && cmake --build --preset release --target berth
COPY examples examples
COPY scripts/collect-image.sh scripts/
RUN bash scripts/collect-image.sh build/release/berth /image

# The final image has no shell and no package manager. It holds the binary, its shared libraries, CA certificates, the bundled
# model and the sample.
FROM scratch
ARG REVISION=unknown
LABEL org.opencontainers.image.title="berth" \
      org.opencontainers.image.description="Fine-tunes a BERT-family encoder: data in, model out, one binary" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /image/ /
USER 65532:65532
WORKDIR /job
ENTRYPOINT ["/usr/local/bin/berth"]
