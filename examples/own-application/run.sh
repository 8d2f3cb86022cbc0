# The program is run once for each case, and what it called is checked beside what it said.
set -eu
minions-evals import suite.yaml
minions-evals run-benchmark prices --target-config target.yaml --min-score 1
