# The image that examples/*/deploy.yaml name: docker build --tag mooring:0.1.0 .
# The Python version is the one the tests run with, and so are all versions in locks/; pip checks the
# hash of every file it installs. Pin the base as well: --build-arg BASE=python:3.11-slim@sha256:...
ARG BASE=python:3.11-slim
FROM ${BASE} AS build
WORKDIR /build
COPY locks ./locks
# Only wheels: the image has no compiler, and a source distribution would run code of its own here.
RUN python -m pip install --no-cache-dir --disable-pip-version-check \
      --require-hashes --only-binary :all: --requirement locks/build.txt \
 && python -m venv --without-pip /opt/mooring \
 && python -m pip --python /opt/mooring/bin/python install --no-cache-dir --disable-pip-version-check \
      --require-hashes --only-binary :all: --requirement locks/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY examples ./examples
# From here on nothing is fetched.
RUN python -m pip wheel --no-cache-dir --disable-pip-version-check --no-deps --no-index \
      --no-build-isolation --wheel-dir dist . \
 && python -m pip --python /opt/mooring/bin/python install --no-cache-dir --disable-pip-version-check \
      --no-deps --no-index dist/*.whl

FROM ${BASE}
# Installers are of no use at run time.
RUN python -m pip uninstall --yes --quiet --root-user-action ignore setuptools wheel pip
COPY --from=build /opt/mooring /opt/mooring
ENV PATH=/opt/mooring/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that runAsNonRoot can be checked; it owns no file.
USER 65532:65532
WORKDIR /policy
ENTRYPOINT ["moor"]
