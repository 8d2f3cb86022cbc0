#!/usr/bin/env bash
# Evaluates the config, writes the results into a folder, and passes the exit code on to the steps that follow.
set -uo pipefail

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/minions-evals.XXXXXX")
options=(-o "$folder/report.html" -o "$folder/report.md" -o "$folder/junit.xml" -o "$folder/results.csv")
[ -z "${EVALS_MIN_PASS_RATE:-}" ] || options+=(--min-pass-rate "$EVALS_MIN_PASS_RATE")
[ "${EVALS_TRUST_CODE:-false}" != true ] || options+=(--yes)
read -r -a more <<< "${EVALS_ARGUMENTS:-}"
compared=()
[ "${EVALS_FAIL_ON_REGRESSION:-false}" != true ] || compared+=(--fail-on-regression)
baseline=${EVALS_BASELINE:-${EVALS_BASE_BRANCH:-}}
[ -z "$baseline" ] || compared+=(--baseline "$baseline")

evaluate() { # what it says is shown as it comes, and is whole in the file before that is read
    {
        minions-evals eval "$EVALS_CONFIG" "${options[@]}" "$@" ${more[@]+"${more[@]}"} 2>&1 >&3 |
            tee "$folder/messages.txt" >&2
        code=${PIPESTATUS[0]}
    } 3>&1
}

evaluate ${compared[@]+"${compared[@]}"}
# The first pull request of a repository has nothing to be compared with: nothing was run yet, and that is no failure of it.
if [ "$code" = 2 ] && [ -z "${EVALS_BASELINE:-}" ] && grep -q "no evaluation on a branch" "$folder/messages.txt"; then
    evaluate
    echo "::notice::Nothing to compare with: $baseline has no evaluation yet. Run this action on pushes to $baseline, too." |
        tee -a "$folder/messages.txt"
fi

{
    echo "exit-code=$code"
    echo "folder=$folder"
    [ ! -s "$folder/report.html" ] || echo "report=$folder/report.html"
} >> "$GITHUB_OUTPUT"
exit 0 # the last step ends with the code, once the results are shown
