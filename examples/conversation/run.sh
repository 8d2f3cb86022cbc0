set -e
export MINIONS_EVALS_DB=evals.db
minions-evals import refund.yaml
minions-evals run-test-case refund-talk --target python:desk:polite || true  # it says that it is done, and it is not
minions-evals run-test-case refund-talk --target python:desk:agent
