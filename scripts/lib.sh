# shellcheck shell=bash
# Shared by the scripts of this folder; sourced, never run.

# the checkout
REQUAL_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# where dependencies live: outside of the checkout, shared by all checkouts of this user
REQUAL_DEPS="${REQUAL_DEPS:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/requal/deps}"
export REQUAL_ROOT REQUAL_DEPS

# shellcheck source=versions.env
. "$REQUAL_ROOT/scripts/versions.env"

say() { printf '%s\n' "$*" >&2; }

# die STATUS MESSAGE...: one clear line, then the end
die() {
    local status=$1
    shift
    say "${0##*/}: $*"
    exit "$status"
}

# seconds since the epoch, and a duration for people
now() { date +%s; }
human() {
    local s=$1
    if ((s >= 60)); then printf '%d min %02d s' $((s / 60)) $((s % 60)); else printf '%d s' "$s"; fi
}

# the first 12 digits of a file's SHA-256, what CMake computes for REQUAL_TEST_PYTHON
short_digest() { sha256sum "$1" | cut -c1-12; }

# the folder of a Python environment made from requirements/TOPIC.txt
venv_dir() { printf '%s/venv-%s-%s' "$REQUAL_DEPS" "$1" "$(short_digest "$REQUAL_ROOT/scripts/requirements/$1.txt")"; }

# quietly LABEL COMMAND...: the output goes to a log; every 10 seconds a line says how far it is; a failure shows the log's end
quietly() {
    local label=$1 log start pid last shown=0 status=0
    shift
    mkdir -p "$REQUAL_DEPS/logs"
    log="$REQUAL_DEPS/logs/$(printf '%s' "$label" | tr -c 'A-Za-z0-9.\n' '-').log"
    start=$(now)
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.2
        if (($(now) - start >= shown + 10)); then
            shown=$(($(now) - start))
            last=$(tail -c 400 "$log" | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 | cut -c1-90 || true)
            say "        $label: $(human "$shown")  $last"
        fi
    done
    wait "$pid" || status=$?
    if ((status != 0)); then
        tail -n 40 "$log" >&2
        say "        $label failed (exit status $status); the whole log: $log"
    fi
    return "$status"
}

# version_at_least HAVE WANT
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# requal_cmake, requal_ctest: the system's when new enough for CMakePresets.json, else the one that scripts/setup fetched
_requal_find_cmake() {
    local program=$1 system
    system=$(command -v "$program" || true)
    if [ -n "$system" ] && version_at_least "$("$system" --version | sed -n '1s/.* version //p')" 3.25; then
        printf '%s' "$system"
        return
    fi
    local fetched
    fetched=$(echo "$(venv_dir build)"/lib/python3*/site-packages/cmake/data/bin/"$program")
    [ -x "$fetched" ] || die 3 "no $program of version 3.25 or newer; run scripts/setup"
    printf '%s' "$fetched"
}
requal_cmake() { "$(_requal_find_cmake cmake)" "$@"; }
requal_ctest() { "$(_requal_find_cmake ctest)" "$@"; }

# configure PRESET [options]: always fast when nothing changed
configure() {
    local preset=$1
    shift
    (cd "$REQUAL_ROOT" && requal_cmake --preset "$preset" -D "REQUAL_DEPS=$REQUAL_DEPS" "$@")
}

# build_locked COMMAND...: one build runs at a time on this machine, whatever the checkout; the others wait
build_locked() {
    local lock="${TMPDIR:-/tmp}/requal-build.lock"
    (
        flock -n 9 || {
            say "waiting for another build ($lock)"
            flock 9
        }
        # the lock is not inherited: a server that a build leaves behind must not keep it
        "$@" 9>&-
    ) 9>"$lock"
}

# build PRESET [TARGET...]
build() {
    local preset=$1
    shift
    build_locked requal_cmake --build "$REQUAL_ROOT/build/$preset" ${1:+--target "$@"}
}

# run_tests PRESET [ctest options]: the reports are those of this run only
run_tests() {
    local preset=$1 folder="$REQUAL_ROOT/build/$1"
    shift
    rm -rf "$folder/reports"
    mkdir -p "$folder/reports"
    requal_ctest --test-dir "$folder" --output-on-failure --no-tests=error --parallel "$(nproc)" \
        --output-junit "$folder/reports/ctest.xml" "$@"
}
