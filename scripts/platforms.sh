# shellcheck shell=bash disable=SC2034
# Sourced after env.sh by what makes releases: builds for each platform, linked by zig for an old glibc, and runs what was
# built for another processor. Folders of their own, so that what make build made stays as it is.

HOST=$(uname -m)
# The oldest glibc: that of openEuler 20.03, Debian 10 and RHEL 8, as manylinux_2_28 has it.
OLDEST_GLIBC=2.28

# architectures: this machine's first; then what ARCHES names besides.
architectures() { echo "$HOST"; tr ' ' '\n' <<<"${ARCHES:-x86_64 aarch64}" | grep -vx "$HOST" || true; }

# missing ARCH: why it cannot be built for here; nothing where it can.
missing() {
    local triple=$1-unknown-linux-gnu
    has cargo || { echo "Rust is not installed"; return; }
    [ -d "$(rustc --print sysroot)/lib/rustlib/$triple" ] || { has rustup && rustup -q target add "$triple" </dev/null >&2; } ||
        { echo "Rust has no standard library for it: rustup target add $triple"; return; }
    [ "$1" = "$HOST" ] || has "$1-linux-gnu-g++" || "$ROOT/scripts/need" "g++-${1//_/-}-linux-gnu" >&2 && { [ "$1" = "$HOST" ] || has "$1-linux-gnu-g++"; } ||
        echo "the C++ compiler $1-linux-gnu-g++ is not to be had"
}

# build ARCH PREFIX LIBDIR [DESTDIR]: an installed copy for a platform.
build() {
    local cxx=c++ program=
    # What the program says of itself, it says on this machine; this machine's copy is built first.
    [ "$1" = "$HOST" ] || { cxx=$1-linux-gnu-g++ program=$TARGET/wheel/$HOST-unknown-linux-gnu/release/aoe; }
    PATH=$TARGET/tools/python/bin:$PATH TRIPLE=$1-unknown-linux-gnu GLIBC=$OLDEST_GLIBC CXX=$cxx AOE_PROGRAM=$program \
        CARGO_TARGET_DIR=$TARGET/wheel PREFIX=$2 LIBDIR=$3 DESTDIR=${4:-} PROFILE=release FEATURES='' DROP_IN=yes scripts/install
}

# runner_of ARCH: sets `runner` to what runs a program of that processor; fails where nothing does.
runner_of() {
    runner=()
    [ "$1" != "$HOST" ] || return 0
    has "qemu-$1-static" || "$ROOT/scripts/need" qemu-user-static || true
    has "qemu-$1-static" || return 1
    runner=("qemu-$1-static" -L "/usr/$1-linux-gnu")
}
