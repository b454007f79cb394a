#!/usr/bin/env bash
# Builds Kubernetes' end-to-end specs of scheduling and workloads (e2e/) into the cache folder.
# Does nothing when they are there and newer than their source. Called by `make conformance`.
#
# The cache is MOORING_CACHE (default ~/.cache/mooring), as for build.sh.
set -euo pipefail
cd "$(dirname "$0")"

version=v1.36.4
cache=${MOORING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mooring}/kube/$version
program=$cache/e2e.test

for source in e2e/*.go go.mod; do
  [ "$program" -nt "$source" ] || {
    command -v go >/dev/null || {
      echo "make conformance: building the end-to-end specs needs Go 1.26 or newer on the PATH." >&2
      exit 2
    }
    mkdir -p "$cache"
    echo "conformance: building the end-to-end specs of Kubernetes $version (once; some minutes on two cores)"
    # Built under another name and moved into place, so that an interrupted build leaves nothing half-made.
    CGO_ENABLED=0 go test -c -vet=off -trimpath -ldflags "-s -w" -o "$program.$$" ./e2e
    mv "$program.$$" "$program"
    break
  }
done
