# One test in Python, and one for each case of the suite.
set -eu
python3 -m pytest -q -p no:cacheprovider
