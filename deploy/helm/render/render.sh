#!/usr/bin/env bash
# Renders the chart with the values beside this script into deploy/helm/rendered/, which the tests hold
# to the schemas of Kubernetes and to the settings that the apps read. With helm, or with Go: see main.go.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
for values in render/*.yaml; do
  out="rendered/$(basename "$values")"
  {
    echo "# Made by render/render.sh from the chart and $values: $(cat leadgate/Chart.yaml leadgate/values.yaml leadgate/templates/* "$values" | sha256sum | cut -d' ' -f1)"
    if command -v helm >/dev/null; then
      helm template leads leadgate --namespace leadgate --values "$values"
    else
      GO111MODULE=off GOPATH="${GOPATH:-/usr/share/gocode}" go run render/main.go leadgate "$values"
    fi
  } >"$out.tmp"
  mv "$out.tmp" "$out"
done
