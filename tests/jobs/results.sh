#!/usr/bin/env bash
# Tests the last lines of a job that finished: they name its results, and the command in them works as it stands.
#   results.sh BERTH
. "$(dirname "$0")/lib.sh"

flags=(--train-data-file "$sample" --max-steps 2 --batch-size 4 --validation-split 0.1)

# text CODE ARGUMENTS...: runs berth with the log as text, in err.txt.
text() {
  local code=$1
  shift
  timeout 60 "$berth" "$@" --log-format text >out.txt 2>err.txt
  local got=$?
  [ "$got" = "$code" ] || fail "exit $got instead of $code: berth $* ($(tail -n 1 err.txt))"
}

# field NAME: that field of the final report in err.txt, or "absent".
field() {
  tail -n 1 err.txt | python3 -c 'import json, sys; print(json.load(sys.stdin).get(sys.argv[1], "absent"))' "$1"
}

# The command after a training, as it was printed, labels the rows of a file of that name.
job="it's my job"
text 0 "${flags[@]}" --job-dir "$job"
tail -n 4 err.txt >last.txt
[ "$(sed -n 1p last.txt)" = "model:  $job/model" ] || fail "names no model: $(cat last.txt)"
[ "$(sed -n 2p last.txt)" = "report: $job/report.html" ] && [ -s "$job/report.html" ] || fail "names no report: $(cat last.txt)"
printf 'text\nGood\nBad\n' >new.csv
bash -c "$(sed -n 4p last.txt) --log-format text" >out.txt 2>err.txt || fail "the next command: $(tail -n 1 last.txt): $(tail -n 1 err.txt)"
[ "$(wc -l <"$job/predictions.tsv")" = 3 ] || fail "the next command has not predicted"
[ "$(tail -n 3 err.txt | sed -n 1p)" = "predictions: $job/predictions.tsv" ] || fail "names no predictions: $(tail -n 3 err.txt)"
grep -qxF "  pandas.read_csv(\"$job/predictions.tsv\", sep=\"\\t\", keep_default_na=False, na_values=[\"\"])" err.txt || fail "does not say how Python reads them: $(tail -n 1 err.txt)"

# A finished job says it again, and so does the final report, which is the last line where lines are JSON.
text 0 "${flags[@]}" --job-dir "$job"
cmp -s <(tail -n 4 err.txt) last.txt || fail "a finished job says other last lines: $(tail -n 4 err.txt)"
expect 0 finished "${flags[@]}" --job-dir "$job"
[ "$(field model)" = "$job/model" ] && [ "$(field report)" = "$job/report.html" ] || fail "the final report: $(tail -n 1 err.txt)"
[ "  $(field next)" = "$(sed -n 4p last.txt)" ] || fail "the final report has another command: $(field next)"
expect 0 finished --mode predict --predict-data-file new.csv --job-dir "$job"
[ "$(field predictions)" = "$job/predictions.tsv" ] && [ "$(field model)" = absent ] || fail "after predict: $(tail -n 1 err.txt)"
rm "$job/report.html"
expect 0 finished "${flags[@]}" --job-dir "$job"
[ "$(field report)" = absent ] || fail "names a report that is not there"

# What was not asked for is not named, nor is anything to who wants errors alone.
expect 0 finished "${flags[@]}" --job-dir bare --no-report --export-dir elsewhere/model
[ "$(field report)" = absent ] && [ "$(field model)" = elsewhere/model ] || fail "without a report: $(tail -n 1 err.txt)"
text 0 "${flags[@]}" --job-dir bare --no-report --export-dir elsewhere/model --log-level error
[ ! -s err.txt ] || fail "--log-level error: $(cat err.txt)"
expect 0 finished "${flags[@]}" --job-dir other --dry-run
[ "$(field model)" = absent ] && [ "$(field next)" = absent ] || fail "a dry run names results"
expect 0 finished --mode predict --predict-data-file new.csv --job-dir bare --predictions-file -
[ "$(field predictions)" = absent ] || fail "standard output has a name: $(tail -n 1 err.txt)"

# Embeddings, and a model that cannot predict.
expect 0 finished --mode embed --predict-data-file new.csv --job-dir bare
[ "$(field read)" = 'numpy.load("bare/embeddings.npy")' ] && [ -s bare/embeddings.npy ] || fail "after embed: $(tail -n 1 err.txt)"
expect 0 finished --task mlm "${flags[@]}" --job-dir masked
case $(field next) in *"--model masked/model --train-data-file labelled.csv --job-dir masked-fine-tuned") ;;
*) fail "after a masked language model: $(field next)" ;;
esac

# Of several seeds, the best is named.
expect 0 finished "${flags[@]}" --job-dir seeds --seed 7 --seeds 2
best=$(python3 -c 'import json; v = json.load(open("seeds/metrics.json"))["seeds"]["accuracy"]["values"]; print(7 + v.index(max(v)))')
[ "$(field model)" = "seeds/seed-$best/model" ] || fail "the best seed is $best: $(field model)"
case $(field next) in *"--job-dir seeds/seed-$best") ;;
*) fail "after several seeds: $(field next)" ;;
esac

# Process 1 is what a container runs: its user gives arguments only. A job directory beside the root is gone with the container.
if unshare --pid --fork true 2>/dev/null; then
  for place in contained "$(mktemp -d -p /dev/shm)"; do
    unshare --pid --fork "$berth" "${flags[@]}" --job-dir "$place" >out.txt 2>err.txt || fail "as process 1: $(tail -n 1 err.txt)"
    if [ "$(stat -c %d "$place")" = "$(stat -c %d /)" ]; then
      [ "$(field next)" = absent ] && grep -q 'inside this container' err.txt || fail "inside a container: $(tail -n 1 err.txt)"
    else
      [ "$(field next)" = "--mode predict --predict-data-file new.csv --job-dir $place" ] || fail "on a volume: $(field next)"
      ! grep -q 'inside this container' err.txt || fail "takes a volume for the container"
    fi
    [ "$(field model)" = "$place/model" ] || fail "as process 1, names the model $(field model)"
    rm -rf "$place"
  done
else
  echo "SKIPPED: no PID namespace can be made here"
fi
finish
