# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # top is of common.sh, arm64_missing is for those who source this
# What building for arm64 on another processor needs: a compiler, an emulator, and the libraries to link with; sourced,
# never run. The libraries are Debian packages for arm64, unpacked in build/arm64-root and not installed, so the system's
# own packages and architectures stay as they are.

arm64_root=$top/build/arm64-root
arm64_tools=("gcc-aarch64-linux-gnu=aarch64-linux-gnu-gcc" "qemu-user-static=qemu-aarch64-static")
arm64_libraries=(libc6-dev libgcc-s1 libhwloc-dev libpcre2-dev libjansson-dev libcmocka-dev)

# arm64_apt FOLDER WORD...: apt-get for arm64 with lists, state and cache in FOLDER, from the system's own sources; it
# believes that nothing is installed, so what it fetches is complete.
arm64_apt() {
    local work=$1
    shift
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Install-Recommends=false \
        -o APT::Sandbox::User= -o Debug::NoLocking=true -o Dir::Cache="$work/cache" -o Dir::State="$work/state" \
        -o Dir::State::status="$work/status" "$@"
}

# arm64_fetch FOLDER: the packages of all libraries and of what they depend on, in FOLDER/cache/archives.
arm64_fetch() {
    mkdir -p "$1/cache/archives/partial" "$1/state/lists/partial"
    : >"$1/status"
    arm64_apt "$1" update || say "the list of packages may be incomplete"
    arm64_apt "$1" install -y --download-only "${arm64_libraries[@]}"
}

# arm64_unpack FOLDER: they become the root. Links that start at / would leave it, so they are made relative.
arm64_unpack() {
    local package link work=$1
    mkdir -p "$work/root"
    for package in "$work"/cache/archives/*.deb; do
        dpkg-deb --extract "$package" "$work/root" || return 1
    done
    while read -r link; do
        ln -sfnr "$work/root$(readlink "$link")" "$link" || return 1
    done < <(find "$work/root" -type l -lname '/*')
    say "${arm64_libraries[*]}" >"$work/root/libraries"
    rm -rf "$arm64_root"
    mv "$work/root" "$arm64_root"
}

arm64_fill_root() {
    local work=$top/build/arm64-packages
    rm -rf "$work"
    arm64_fetch "$work" && arm64_unpack "$work" && rm -rf "$work"
}

# arm64_prepare: makes sure of all of it; does nothing, offline, when it is there. False, with the reason in
# arm64_missing, when it cannot be had here.
arm64_prepare() {
    arm64_missing="not a Debian system"
    have dpkg-deb && have apt-get || return 1
    arm64_missing="no compiler or emulator (${arm64_tools[*]%%=*})"
    (packages_need "${arm64_tools[@]}") || return 1
    arm64_missing="no arm64 libraries: see build/logs/arm64-packages.log"
    [ "$(cat "$arm64_root/libraries" 2>/dev/null)" = "${arm64_libraries[*]}" ] ||
        quietly "$top/build/logs/arm64-packages.log" arm64_fill_root || return 1
}
