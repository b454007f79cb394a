# The image that examples/*/deploy.yaml name: docker build --tag mooring:0.1.0 .
# The Python version is the one the tests run with, and so are all versions in constraints.txt.
FROM python:3.11-slim AS build
WORKDIR /build
COPY constraints.txt ./
RUN python -m pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt pip \
 && python -m venv --without-pip /opt/mooring
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
# Only wheels: the image has no compiler, and a source distribution would run code of its own here.
RUN python -m pip --python /opt/mooring/bin/python install --no-cache-dir --disable-pip-version-check \
      --only-binary :all: --constraint constraints.txt --build-constraint constraints.txt .

FROM python:3.11-slim
# Installers are of no use at run time.
RUN python -m pip uninstall --yes --quiet --root-user-action ignore setuptools wheel pip
COPY --from=build /opt/mooring /opt/mooring
ENV PATH=/opt/mooring/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that runAsNonRoot can be checked; it owns no file.
USER 65532:65532
WORKDIR /policy
ENTRYPOINT ["moor"]
