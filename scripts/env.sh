# shellcheck shell=bash disable=SC2034
# Sourced by the scripts beside it: where things are, and how they speak. No output, no side effects
# but the current folder, which becomes the repository.

set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
ROOT=$PWD

# Cargo's output folder, as an absolute path; the user may have moved it.
TARGET=${CARGO_TARGET_DIR:-target}
case $TARGET in /*) ;; *) TARGET=$ROOT/$TARGET ;; esac
export CARGO_TARGET_DIR=$TARGET

# Tools that scripts/need had to fetch, and rustup's, which some shells leave out.
PATH=$TARGET/tools/bin:$PATH:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin
export PATH

# Version of this release, and the oldest compiler it builds with.
VERSION=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
RUST_VERSION=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

# Libraries that a program linked with libaoe.a needs too (rustc --print native-static-libs).
STATIC_LIBS=$(<cmake/static-libs)

# The platform that is built for: TRIPLE (Rust's name; empty: this machine) and GLIBC, the oldest that it is to run on.
# scripts/wheel sets them; zig then links, which has every version of glibc.
ZIG_TARGET=${TRIPLE:+${TRIPLE/-unknown-/-}.$GLIBC}

# built PROFILE: cargo's output folder for a profile.
built() {
    case $1 in
        dev) printf '%s\n' "$TARGET/${TRIPLE:+$TRIPLE/}debug" ;;
        *) printf '%s\n' "$TARGET/${TRIPLE:+$TRIPLE/}$1" ;;
    esac
}

# cargo_build ARGUMENT...: for that platform.
cargo_build() {
    if [ -n "${TRIPLE:-}" ]; then
        cargo zigbuild --locked --target "$TRIPLE.$GLIBC" "$@"
    else
        cargo build --locked "$@"
    fi
}

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# at_least HAVE WANTED: compares dotted version numbers.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }
