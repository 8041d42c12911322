#!/bin/bash
# Runs inside the machine, as an unprivileged user: a hostile check under a service of a real service manager. Prints `NAME VALUE` lines;
# the test judges. Arguments: the directory with `proctor`, and the strongest level of isolation.
set -eu
tools=$1 level=$2
proctor=$tools/proctor
state=$HOME/.local/state/proctor
socket=$XDG_RUNTIME_DIR/proctor/control.sock
mkdir -p "$HOME/hostile" "$HOME/other" "$HOME/.cache"
printf '[[check]]\nname = "check"\ncommand = ["true"]\n' >"$HOME/other/proctor.toml"
printf '[[check]]\nname = "check"\ncommand = ["/bin/bash", "check.sh"]\n' >"$HOME/hostile/proctor.toml"
cp "$tools/ask.py" "$HOME/hostile/ask.py"
printf 'exit 0\n' >"$HOME/hostile/check.sh"

ledger() { cat "$state"/ledger/*.jsonl 2>/dev/null || true; }
runs_of() { cat "$state/ledger/$1-"*.jsonl 2>/dev/null | grep -c '"kind":"run"' || true; }
of_reach() { [ "$(runs_of "$1")" -ge "$2" ]; }
await() { # WHAT COMMAND...: polls for a minute
  local what=$1 tries=0
  shift
  until "$@"; do
    tries=$((tries + 1))
    if [ $tries -ge 1200 ]; then
      echo "LATE $what"
      { systemctl --user status --no-pager attacked; journalctl --user -u attacked --no-pager | tail -40; ledger; } >&2 || true
      exit 1
    fi
    sleep 0.05
  done
}
# What must be as it was: keys, the ledger and evidence of the other project, and that project's files.
untouched() {
  { find "$state" -path '*key*' -type f; find "$state/ledger" "$state/evidence" "$HOME/other" -path '*other*' -type f; } |
    sort | xargs sha256sum | sha256sum
}
kinds() { ledger | grep -c -E "\"kind\":\"($1)\"" || true; }

systemd-run --user --quiet --unit=attacked -p Delegate=yes --setenv=PROCTOR_TEST_ISOLATION="$level" "$proctor" daemon
await 'the socket' test -S "$socket"
"$proctor" add "$HOME/other" >/dev/null
"$proctor" add "$HOME/hostile" >/dev/null
await 'the first verdicts' of_reach other 1
await 'the first verdicts' of_reach hostile 1
before=$(untouched)
approvals=$(kinds 'approval|registered')
lines=$(cat "$state"/ledger/hostile-*.jsonl | wc -l)
head -n "$lines" "$state"/ledger/hostile-*.jsonl >"$HOME/lines"

# One save.
cat >"$HOME/hostile/check.new" <<CHECK
mkdir -p $HOME/.cache/x && printf '[[check]]\nname = "free"\ncommand = ["true"]\n[sandbox]\nmode = "off"\n' >$HOME/.cache/x/proctor.toml
python3 ask.py $socket $HOME/.cache/x || echo FAULT asked
cat $state/*key* $state/keys/* 2>/dev/null | grep . && echo FAULT key
for file in $state/ledger/*.jsonl; do echo x 2>/dev/null >>\$file && echo FAULT ledger; done
$proctor add $HOME/.cache/x 2>/dev/null && echo FAULT added
$proctor approve 2>/dev/null </dev/null && echo FAULT approved
echo x 2>/dev/null >>$HOME/other/proctor.toml && echo FAULT other
echo attacked
CHECK
mv "$HOME/hostile/check.new" "$HOME/hostile/check.sh"
await 'the verdict on the hostile check' of_reach hostile 2

log=$(cat "$state"/evidence/hostile-*/default/latest/STEP.1-terminal-output.log)
echo "ATTACKED $(grep -c '^attacked' <<<"$log")"
echo "FAULTS $(grep -c FAULT <<<"$log" || true) $(grep FAULT <<<"$log" | tr '\n' ';' || true)"
echo "REFUSED $(grep -c '403 refused' <<<"$log" || true)"
echo "REPORT $(tr -d '\n' <"$HOME/hostile/evidence/default/execution-report.json")"
echo "UNTOUCHED $([ "$before" = "$(untouched)" ] && echo same || echo changed)"
echo "LINES $(cmp -s "$HOME/lines" <(head -n "$lines" "$state"/ledger/hostile-*.jsonl) && echo same || echo changed)"
# The save changed no plan, so nothing had to be approved.
echo "APPROVALS $([ "$approvals" = "$(kinds 'approval|registered')" ] && echo same || echo changed)"
echo "PROJECTS $("$proctor" list | grep -c ' \|-' || true) $("$proctor" list | grep -c 'cache/x' || true)"
echo "JOURNAL $(journalctl --user -u attacked --no-pager | grep -c 'an action sent a request to the control socket' || true)"
echo "VERIFIED $("$proctor" verify --all >/dev/null 2>"$HOME/said" && echo yes || { cat "$HOME/said" >&2; echo no; })"
systemctl --user stop attacked
