# Every prompt at every provider on every test, kept: the same command again pays for nothing.
set -eu
minions-evals eval promptfooconfig.yaml -o results.json
