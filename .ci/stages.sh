# What both tiers of CI use: stages with their seconds, and tests that may run once more. Sourced, not run.

stage=""
# Starts the stage that its argument names; says how long the one before took.
stage() {
    [ -z "$stage" ] || echo "== $stage took $((SECONDS - started)) s"
    stage=$1 started=$SECONDS
    [ -z "$stage" ] || echo "== $stage"
}

# Runs tests; up to three that fail run once more, alone: programs of several processes share 2 cores with other tests.
# A second failure ends the run; what passed then is printed as unstable, to be made stable.
tests() {
    local code=0 failed=0 cache=.ci-cache/v/cache/lastfailed
    rm -f "$cache"
    "${python:-python}" -m pytest -o cache_dir=.ci-cache "$@" || code=$?
    [ "$code" != 0 ] || return 0
    [ ! -f "$cache" ] || failed=$(python -c 'import json, sys; print(len(json.load(open(sys.argv[1]))))' "$cache")
    if [ "$code" != 1 ] || [ "$failed" -lt 1 ] || [ "$failed" -gt 3 ]; then return "$code"; fi
    echo "== once more, alone: the $failed that failed"
    "${python:-python}" -m pytest -o cache_dir=.ci-cache "$@" -n 0 --last-failed --last-failed-no-failures none
    echo "== unstable: $failed failed beside others and passed alone"
}

# Whether the run has taken fewer than so many seconds; says what is left out on a machine that is too slow for all.
in_time() {
    [ "$SECONDS" -lt "$1" ] && return
    echo "== left out after $SECONDS s: $2"
    return 1
}
