#!/bin/bash
# Runs inside the machine, as an unprivileged user with a service manager of its own. Prints `NAME VALUE` lines; the test judges.
# Arguments: the directory with `proctor` and `fake-tool`, and the strongest level of isolation.
set -eu
tools=$1 level=$2
cookie=cookie-of-the-service
project=$HOME/project
mkdir "$project"
cat >"$project/proctor.toml" <<END
[[check]]
name = "check"
command = ["/bin/sh", "check.sh", "$cookie"]
END
# It leaves a daemon behind that heeds no signal and burns what only a cgroup counts: the check never waits for it. It goes on while
# the project says so.
cat >"$project/check.sh" <<'END'
grep -E '^Sig(Ign|Blk)' /proc/self/status
burn='trap "" HUP INT TERM; n=0; while [ $n -lt 200000 ]; do n=$((n + 1)); done; : >"$PROCTOR_OUT/burnt"; sleep 600; :'
(setsid sh -c "$burn" "$1" </dev/null >/dev/null 2>&1 &)
until [ -e "$PROCTOR_OUT/burnt" ]; do sleep 0.01; done
if grep -q hold saved.txt; then
  echo holding
  sleep 600
fi
END
echo 0 >"$project/saved.txt"

state=$HOME/.local/state/proctor
ledger() { cat "$state"/ledger/*.jsonl 2>/dev/null || true; }
runs() { ledger | grep -c '"kind":"run"' || true; }
await() { # WHAT COMMAND...: polls for a minute
  local what=$1 tries=0
  shift
  until "$@"; do
    tries=$((tries + 1))
    [ $tries -lt 1200 ] || { echo "LATE $what"; systemctl --user status --no-pager watch >&2 || true; ledger >&2; exit 1; }
    sleep 0.05
  done
}
runs_reach() { [ "$(runs)" -ge "$1" ]; }
nobody() { ! pgrep -f "$cookie" >/dev/null; }
somebody_holds() { grep -qs holding "$state"/evidence/*/default/runs/*/STEP.1-terminal-output.log; }
inactive() { ! systemctl --user is-active --quiet watch; }
cgroup() { sed -n 's/^0:://p' "/proc/$(main)/cgroup"; }
main() { systemctl --user show -p MainPID --value watch; }
actions() { find "/sys/fs/cgroup$1" -maxdepth 2 -type d -name 'action-*' 2>/dev/null | wc -l; }
begin() {
  systemd-run --user --quiet --unit=watch -p Delegate=yes -p Type=exec -p KillMode="$1" \
    --setenv=PROCTOR_TEST_ISOLATION="$level" "$tools/proctor" watch "$project"
}

begin control-group
await 'the first verdict' runs_reach 1
unit=$(cgroup)
echo 1 >"$project/saved.txt"
await 'a verdict on a save' runs_reach 2
echo "REPORT $(tr -d '\n' <"$project/evidence/default/execution-report.json")"
echo "RECORD $(cat "$state"/evidence/*/default/latest/STEP.1-terminal-output.json | tr -d '\n')"
echo "IGNORED $(grep -h SigIgn "$state"/evidence/*/default/latest/STEP.1-terminal-output.log)"
await 'the daemon to be dead' nobody
none_left() { [ "$(actions "$unit")" = 0 ]; }
await 'the cgroups to be removed' none_left
systemctl --user kill -s HUP --kill-who=main watch
await 'a verdict on a reload' runs_reach 3
echo "RELOADED $(runs)"
echo hold >"$project/saved.txt"
await 'the check to hold' somebody_holds
echo "DURING $(actions "$unit")"
systemctl --user stop watch
await 'everything to be dead after a stop' nobody
echo "STOPPED $(ledger | tail -1 | grep -c INTERRUPTED)"
systemctl --user reset-failed watch 2>/dev/null || true

# KillMode=process: the service manager kills nobody, so whoever is dead was killed by proctor.
begin process
holds_again() { pgrep -f "sleep 600" >/dev/null && pgrep -f "check.sh $cookie" >/dev/null; }
await 'the check to hold again' holds_again
systemctl --user kill -s KILL --kill-who=main watch
await 'the service to be over' inactive
await 'everything to be dead after a kill' nobody
systemctl --user reset-failed watch 2>/dev/null || true
echo 2 >"$project/saved.txt"
"$tools/proctor" run "$project" >/dev/null 2>"$HOME/said" || { cat "$HOME/said" >&2; echo "NEXT failed"; }
echo "RECOVERED $(grep -c 'kept as INTERRUPTED' "$HOME/said")"

# A unit that is marked as delegated, as later service managers do it, in which an earlier launcher died.
cat >"$HOME/marked" <<END
set -eu
own=/sys/fs/cgroup\$(sed -n 's/^0:://p' /proc/self/cgroup)
python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.delegate", b"1")' "\$own"
mkdir "\$own/action-2147483646-1" "\$own/action-2147483646-2"
sh -c 'echo 0 >"\$1/cgroup.procs"; exec sleep 600' $cookie "\$own/action-2147483646-2" &
"$tools/proctor" run "$project" >/dev/null 2>&1
echo "MARKED \$(find "\$own" -maxdepth 1 -name 'action-*' | wc -l)"
echo "MARKEDREPORT \$(tr -d '\\n' <"$project/evidence/default/execution-report.json")"
END
systemd-run --user --quiet --wait --pipe -p Delegate=yes --setenv=PROCTOR_TEST_ISOLATION="$level" bash "$HOME/marked"
