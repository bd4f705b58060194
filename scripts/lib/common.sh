# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034  # variables are for those who source this
# What the scripts here share; sourced, never run. It sets: top (the project's folder), jobs (CPUs to build with).

set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)
export LC_ALL=C.UTF-8

# Each entry: PACKAGE, or PACKAGE=COMMAND where having the command is enough, wherever it came from.
packages_build=("gcc=gcc" libc6-dev "cmake=cmake" "ninja-build=ninja" "pkg-config=pkg-config"
                libhwloc-dev libpcre2-dev libjansson-dev)
packages_test=(libcmocka-dev "python3=python3" "g++=g++" "clang=clang" libclang-rt-dev
               "clang-format=clang-format" "groff-base=groff")
packages_browser=("chromium-headless-shell=chromium-headless-shell")
packages_model=("python3=python3" python3-pip ca-certificates)

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
    warn "$*"
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# package_missing ENTRY: true when ENTRY (see above) is not there.
package_missing() {
    local package=${1%%=*} command=${1#*=}
    if [ "$command" != "$1" ]; then
        if have "$command"; then return 1; fi
    elif [ "$package" = python3-pip ]; then
        if python3 -m pip --version >/dev/null 2>&1; then return 1; fi
    elif [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ]; then
        return 1
    fi
}

# packages_need ENTRY...: installs what is missing, and only that; touches neither the network nor the system when
# nothing is.
packages_need() {
    local entry missing=() as_root=()
    if ! have dpkg-query; then
        say "not a Debian system: assuming that what stands for these packages is there: ${*%%=*}"
        return
    fi
    for entry in "$@"; do
        if package_missing "$entry"; then missing+=("${entry%%=*}"); fi
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        have sudo || die "these packages are missing, and installing them needs root or sudo: ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${#missing[@]} missing packages: ${missing[*]}"
    # An old list names versions that are gone, and a new system has none. If it cannot be fetched, what is there may do.
    quietly "$top/build/logs/packages-list.log" "${as_root[@]}" apt-get update -q || true
    quietly "$top/build/logs/packages.log" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
        --no-install-recommends -o DPkg::Lock::Timeout=120 "${missing[@]}" ||
        die "these packages could not be installed: ${missing[*]}"
}

# quietly LOG COMMAND...: runs the command with its output in the file LOG; shows the end of it when it fails.
quietly() {
    local log=$1 rc=0
    shift
    mkdir -p "$(dirname "$log")"
    "$@" >"$log" 2>&1 </dev/null || rc=$?
    if [ "$rc" != 0 ]; then
        warn "failed with exit code $rc: $*"
        tail -n 40 "$log" >&2
        warn "all of its output: $log"
    fi
    return "$rc"
}

# model_folder: where the models are kept.
model_folder() { printf '%s\n' "${STRETTO_MODELS:-$top/models}"; }
