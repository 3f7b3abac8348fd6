#!/usr/bin/env bash
# Makes the wheel from a folder with the given program, installs it in a fresh virtual environment, and tests the commands and the module.
# The tests run without any other package, and then with pandas, NumPy and tqdm where pip can install them.
#   wheel.sh BERTH [PYTHON]
set -euo pipefail
program=$(realpath "$1") python=${2:-/usr/bin/python3}
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
unset PYTHONPATH
export HF_HUB_OFFLINE=1 HF_HOME=$scratch/huggingface PIP_DISABLE_PIP_VERSION_CHECK=1 SOURCE_DATE_EPOCH=1700000000

fail() {
  echo "FAILED: $*"
  exit 1
}

# A folder as scripts/package.sh makes it, but with the libraries of this system and a tiny model.
mkdir -p folder/bin folder/share/berth/data
strip -o folder/bin/berth "$program"
cp -r "$repository/tests/testdata/tiny_model" folder/share/berth/model
cp "$repository/examples/data/df.pickle" folder/share/berth/data

"$python" "$repository/scripts/make-wheel.py" folder dist
mkdir elsewhere
cp -r folder elsewhere/copy
touch elsewhere/copy/share/berth/data/df.pickle
"$python" "$repository/scripts/make-wheel.py" elsewhere/copy again
diff -r dist again || fail "the same folder made another wheel"
ls dist
[ "$(find dist -name '*.whl' | wc -l)" = 1 ] || fail "not one wheel"

"$python" -m venv "a venv"
bin="$scratch/a venv/bin"
"$bin/pip" install --quiet --no-index dist/*.whl
"$bin/pip" check

# Without a wheel that fits, pip shows where to go.
if "$bin/pip" install --no-index --force-reinstall dist/*.tar.gz >refused.txt 2>&1; then fail "the source distribution was built"; fi
grep -q 'docker run' refused.txt || fail "pip does not lead to Docker: $(cat refused.txt)"

export BERTH_SAMPLE=$repository/examples/data/df.pickle
echo "--- $("$bin/python" --version), the standard library alone"
"$bin/python" -X dev -W ignore::DeprecationWarning "$repository/tests/python/module_test.py"
if timeout 300 "$bin/pip" install --quiet pandas tqdm >pip.txt 2>&1; then
  echo "--- with pandas, NumPy and tqdm"
  "$bin/python" "$repository/tests/python/frames_test.py"
else
  echo "--- SKIPPED with pandas, which pip cannot install: $(tail -n 1 pip.txt)"
fi
"$bin/pip" uninstall --quiet --yes berth-trainer
[ -z "$(find "a venv" -path '*berth_trainer*' -not -path '*__pycache__*' -print -quit)" ] || fail "pip left files behind"
echo "all as expected"
