set -e
export MINIONS_EVALS_DB=evals.db
minions-evals import shop.yaml calendar.yaml files.yaml tickets.yaml worlds.yaml
minions-evals run-benchmark worlds --target 'command:python3 desk_agent.py sound'
minions-evals world attack worlds --target python:desk_agent:sound
