# What `.ci/run` and `.ci/wide` share. They source it, in the first lines.
cd "$(dirname "$0")/.."
exec </dev/null
export CARGO_TERM_COLOR=never
# Everything is compiled once, from nothing: what a next compilation could use again would only cost time.
export CARGO_INCREMENTAL=0
# Nobody opens a debugger here, and what one needs takes a quarter of the time that compiling takes. Panics name their lines without it.
export CARGO_PROFILE_DEV_DEBUG=0
# A developer's own flags would make another program than the one that is checked.
unset RUSTFLAGS RUSTDOCFLAGS PROCTOR_UPDATE_HELP PROCTOR_UPDATE_RECORDING INSTA_UPDATE

target=$(cargo metadata --format-version 1 --no-deps --offline | python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
tools=$target/ci-tools
scratch=$(mktemp -d "${TMPDIR:-/tmp}/proctor-ci.XXXXXX")
background=
trap '[ -z "$background" ] || kill "$background" 2>/dev/null || true; rm -rf "$scratch"' EXIT

step_started=
finish_step() {
  [ -z "$step_started" ] || echo "    ($((SECONDS - step_started)) s)"
  step_started=$SECONDS
}
step() {
  finish_step
  printf '\n==> %s\n' "$1"
}
fail() {
  printf '\n%s: %s\n' "$0" "$1" >&2
  exit 1
}

# The fenced block that follows the comment `<!-- test -->`.
test_command=$(awk '/^<!-- test -->$/ {marked = 1} marked && /^```/ {inside = !inside; if (!inside) exit; next} inside' README.md)
[ -n "$test_command" ] || fail 'README.md has no block marked `<!-- test -->` that says how the tests are run'

# Runs a tier of the tests, with a directory for temporary files that nobody else uses. `$scratch/TIER` gets its closing lines.
# A script's `&` and `nohup` leave signals ignored, and every program that is started inherits that. The tests send these signals.
run_tier() {
  mkdir -p "$scratch/tmp"
  TMPDIR=$scratch/tmp env --default-signal=HUP,INT,QUIT python3 -B .ci/tests.py "$1" --command "$test_command" --closing "$scratch/$1" ||
    fail "the tests of the $1 tier failed"
}
expect_nothing_left() {
  # npm and tsc keep compiled code for the next time; that is theirs.
  left=$(find "$scratch/tmp" -mindepth 1 -maxdepth 1 ! -name node-compile-cache)
  [ -z "$left" ] || fail "the tests left files behind: $(find $left -printf '%p %s bytes, %t\n')"
  for process in /proc/[0-9]*; do
    # A process may end while it is looked at.
    if grep -qsF "$scratch/tmp" "$process/environ" 2>/dev/null; then
      fail "the tests left a process behind: ${process#/proc/} $(tr '\0' ' ' <"$process/cmdline" 2>/dev/null || true)"
    fi
  done
}

