# The second version lost a case; the comparison says how much two cases can prove.
set -eu
minions-evals import suite.yaml
minions-evals run-benchmark refunds --prompt-version desk@1
minions-evals run-benchmark refunds --prompt-version desk@2
minions-evals compare refunds --from desk@1 --to desk@2
minions-evals report refunds -o refunds.html
