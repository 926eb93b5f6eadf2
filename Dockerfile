# metaeval as a command: docker build -t metaeval . && docker run --rm -v "$PWD:/study" metaeval demo
FROM python:3.12-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
# hadolint ignore=DL3013
RUN set -eu; for wheel in /wheels/*.whl; do pip install --no-cache-dir "${wheel}[figures,postgres]"; done \
    && rm -r /wheels && useradd --create-home --uid 1000 metaeval && install -d -o metaeval /study
USER 1000
WORKDIR /study
ENTRYPOINT ["metaeval"]
CMD ["--help"]
