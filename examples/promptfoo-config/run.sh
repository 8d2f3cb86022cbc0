# Every prompt at every provider on every test, kept: the same command again pays for nothing.
# --yes agrees to run the code that the config names (greeter.py); without it, eval asks you first.
set -eu
minions-evals eval promptfooconfig.yaml --yes -o results.json
