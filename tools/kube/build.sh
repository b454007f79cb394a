#!/usr/bin/env bash
# Builds kube-apiserver, kube-scheduler and kubectl into the cache folder and installs etcd.
# Does nothing when all four are already there. Called by `make kube`; safe to run again.
#
# Looks in KUBEBUILDER_ASSETS first; the cache is MOORING_CACHE (default ~/.cache/mooring).
set -euo pipefail
cd "$(dirname "$0")"

version=v1.36.4
cache=${MOORING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mooring}/kube/$version
programs=(kube-apiserver kube-scheduler kubectl)

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  for program in etcd kube-apiserver kube-scheduler kubectl; do
    [ -x "$KUBEBUILDER_ASSETS/$program" ] || {
      echo "make kube: KUBEBUILDER_ASSETS is set, but $KUBEBUILDER_ASSETS/$program is missing." >&2
      exit 2
    }
  done
  echo "kube: using the binaries in KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS"
  exit 0
fi

if ! command -v etcd >/dev/null; then
  command -v apt-get >/dev/null || {
    echo "make kube: etcd is not on the PATH; install it (Debian: apt-get install etcd-server)." >&2
    exit 2
  }
  echo "kube: installing etcd-server"
  as_root=(); [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq etcd-server >/dev/null
fi

missing=()
for program in "${programs[@]}"; do
  [ -x "$cache/$program" ] || missing+=("$program")
done
if [ ${#missing[@]} -gt 0 ]; then
  command -v go >/dev/null || {
    echo "make kube: building ${missing[*]} needs Go 1.26 or newer on the PATH." >&2
    exit 2
  }
  mkdir -p "$cache"
  flags="-s -w"
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=36 -X $package.gitTreeState=clean"
  done
  for program in "${missing[@]}"; do
    echo "kube: building $program $version (the first build takes about five minutes on two cores)"
    # Built under another name and moved into place, so that an interrupted build leaves nothing half-made.
    CGO_ENABLED=0 go build -trimpath -ldflags "$flags" -o "$cache/.$program.$$" "k8s.io/kubernetes/cmd/$program"
    mv "$cache/.$program.$$" "$cache/$program"
  done
fi
echo "kube: etcd $(etcd --version | sed -n 's/etcd Version: //p'), kube-apiserver, kube-scheduler and kubectl $version in $cache"
