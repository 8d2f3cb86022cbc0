#!/usr/bin/env bash
# Evaluates the config, writes the results into a folder, and passes the exit code on to the steps that follow.
set -uo pipefail

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/minions-evals.XXXXXX")
options=(-o "$folder/report.html" -o "$folder/report.md" -o "$folder/junit.xml" -o "$folder/results.csv")
[ -z "${EVALS_MIN_PASS_RATE:-}" ] || options+=(--min-pass-rate "$EVALS_MIN_PASS_RATE")
[ "${EVALS_FAIL_ON_REGRESSION:-false}" != true ] || options+=(--fail-on-regression)
[ -z "${EVALS_BASELINE:-}" ] || options+=(--baseline "$EVALS_BASELINE")
[ "${EVALS_TRUST_CODE:-false}" != true ] || options+=(--yes)
read -r -a more <<< "${EVALS_ARGUMENTS:-}"

minions-evals eval "$EVALS_CONFIG" "${options[@]}" ${more[@]+"${more[@]}"} 2> >(tee "$folder/messages.txt" >&2)
code=$?

{
    echo "exit-code=$code"
    echo "folder=$folder"
    [ ! -s "$folder/report.html" ] || echo "report=$folder/report.html"
} >> "$GITHUB_OUTPUT"
exit 0 # the last step ends with the code, once the results are shown
