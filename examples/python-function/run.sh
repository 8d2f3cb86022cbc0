# Twice: the second run is compared with the first.
set -eu
python3 capitals.py
python3 capitals.py
