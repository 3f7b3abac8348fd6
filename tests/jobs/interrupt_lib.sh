# Scripts that interrupt a job at random moments source this file after lib.sh. They define three functions:
#   start_job   removes err.txt, starts the job in the background with that log, and sets `pid`
#   check_job   says what is wrong with the finished job, by fail
#   clear_job   removes it, or takes a directory that no job has used

# What the log says where a phase of the job begins. "any" is a moment that has no sign.
moments=(any 'rows to train on' '"event":"start"' '"event":"step"' '"event":"evaluation"' '"event":"checkpoint"' '"event":"finish"')

# phase_in LOG: the phase that the log has reached, which is named after the last event.
phase_in() {
  case $(grep -soE '"event":"(start|step|evaluation|checkpoint|finish)"|rows to train on|^\{"code"' "$1" | tail -n 1) in
    '') echo reading ;;
    rows*) echo building ;;
    *evaluation* | *checkpoint*) echo saving ;;
    *finish*) echo exporting ;;
    *code*) echo ended ;;
    *) echo training ;;
  esac
}

# interrupt NAME SIGNAL TIMES DURATION_MS: sends the signal TIMES times, each time to a new process and at a random moment: up to
# 60 ms after the log tells of a phase, or any time within DURATION_MS. A signal after the job's last words does not count. Whenever the
# job ends, it is checked and begun anew. Prints a line of the table for each phase.
interrupt() {
  local name=$1 signal=$2 times=$3 duration_ms=$4 sent=0 finished=0 longest_ms=0 moment phase code begin_ms ms before=$failures
  local -A hit=()
  while [ $sent -lt "$times" ]; do
    moment=${moments[RANDOM % ${#moments[@]}]}
    start_job
    ms=$((RANDOM % 60))
    if [ "$moment" = any ]; then
      ms=$((RANDOM % duration_ms))
    else
      until grep -qF -- "$moment" err.txt 2>/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.005; done
    fi
    sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
    begin_ms=$(date +%s%3N)
    kill "-$signal" $pid 2>/dev/null
    phase=$(phase_in err.txt)
    if [ "$phase" != ended ]; then
      hit[$phase]=$((${hit[$phase]:-0} + 1))
      sent=$((sent + 1))
    fi
    wait $pid 2>/dev/null
    code=$?
    ms=$(($(date +%s%3N) - begin_ms))
    [ $ms -le $longest_ms ] || longest_ms=$ms
    case $signal.$code in
      *.0)
        check_job
        clear_job
        finished=$((finished + 1)) ;;
      KILL.137) ;;
      TERM.143)
        [ "$phase" = reading ] || tail -n 1 err.txt | says '^{"code":143,"reason":"stopped"' ||
          fail "$name: no final report on SIGTERM in the phase $phase: $(tail -n 1 err.txt)" ;;
      *) fail "$name: exit $code on SIG$signal in the phase $phase: $(tail -n 1 err.txt)" ;;
    esac
  done
  start_job
  wait $pid || fail "$name: after SIG$signal: $(tail -n 1 err.txt)"
  check_job
  clear_job
  for phase in "${!hit[@]}"; do printf '%-14s SIG%s  %-10s %4d\n' "$name" "$signal" "$phase" "${hit[$phase]}"; done | sort
  printf '%-14s SIG%s  %-10s %4d  same bits after each of %d ends' "$name" "$signal" 'in all' $sent $((finished + 1))
  [ "$signal" = KILL ] || printf '; the process took at most %d ms to end' $longest_ms
  [ $failures = "$before" ] && echo || echo "  WRONG"
  [ $longest_ms -le 30000 ] || fail "$name: a process took $longest_ms ms to end"
}

# check_curves FOLDER: that the steps of each event file rise, and that a step which two processes have logged has one loss.
check_curves() {
  local file steps twice
  for file in "$1"/*tfevents*; do
    steps=$("$berth" --mode inspect --json "$file" 2>/dev/null | grep -o '"loss":\[\[[^"]*' | grep -oE '\[[0-9]+,' | tr -d '[,')
    echo "$steps" | sort -nuC || fail "the steps of $file do not rise: $steps"
  done
  twice=$(curve "$1" | cut -d, -f1 | uniq -d)
  [ -z "$twice" ] || fail "steps with two losses in $1: $twice"
}
