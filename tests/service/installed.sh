#!/bin/bash
# Runs inside the machine, as an unprivileged user: the service as `proctor service install` leaves it. Prints `NAME VALUE` lines; the
# test judges. Argument: the directory with `proctor`.
set -eu
tools=$1
proctor=$tools/proctor
cookie=cookie-of-the-installed-service
units=$HOME/.config/systemd/user
state=$HOME/.local/state/proctor
one=$HOME/one

make_project() { # DIRECTORY
  mkdir -p "$1"
  # Two of the working trees get the same content, and each runs.
  printf '[run]\nreuse = "off"\n[[check]]\nname = "check"\ncommand = ["/bin/sh", "check.sh", "%s"]\n' "$cookie" >"$1/proctor.toml"
  cat >"$1/check.sh" <<'CHECK'
grep -h -E '^(NoNewPrivs|Sig(Ign|Blk))' /proc/self/status
if grep -q hold saved.txt; then
  echo holding
  sleep 600
fi
CHECK
  echo 0 >"$1/saved.txt"
}
ledger() { cat "$state"/ledger/*.jsonl 2>/dev/null || true; }
runs() { ledger | grep -c '"kind":"run"' || true; }
runs_of() { cat "$state/ledger/$1-"*.jsonl 2>/dev/null | grep -c '"kind":"run"' || true; }
show() { systemctl --user show -p "$1" --value proctor.service; }
main() { show MainPID; }
await() { # WHAT COMMAND...: polls for a minute
  local what=$1 tries=0
  shift
  until "$@"; do
    tries=$((tries + 1))
    if [ $tries -ge 1200 ]; then
      echo "LATE $what"
      { systemctl --user status --no-pager proctor.service; journalctl --user -u proctor --no-pager | tail -40; ledger; } >&2 || true
      exit 1
    fi
    sleep 0.05
  done
}
runs_reach() { [ "$(runs)" -ge "$1" ]; }
of_reach() { [ "$(runs_of "$1")" -ge "$2" ]; }
holds() { pgrep -f "check.sh $cookie" >/dev/null && grep -qs holding "$state"/evidence/*/default/runs/*/STEP.1-terminal-output.log; }
nobody() { ! pgrep -f "check.sh $cookie" >/dev/null; }
is_another_than() { local now; now=$(main); [ "$now" != 0 ] && [ "$now" != "$1" ] && [ "$(show ActiveState)" = active ]; }
status_of() { local code=0; "$@" >"$HOME/said" 2>&1 || code=$?; echo $code; }
one_line() { tr -d '\n'; }
is_fresh() { "$proctor" status "$1" | grep -q 'fresh PASS'; }

# A service that was started by hand is not pushed aside.
"$proctor" daemon 2>/dev/null &
by_hand=$!
await 'the service that was started by hand' test -S "$XDG_RUNTIME_DIR/proctor/control.sock"
echo "BYHAND $(status_of "$proctor" service install) $(grep -c 'started by hand' "$HOME/said") $(ls "$units" 2>/dev/null | wc -l)"
kill $by_hand && wait $by_hand

echo "BEFORE $(status_of "$proctor" service status) $(grep -c '^  proctor service install' "$HOME/said")"
echo "INSTALL $("$proctor" service install --json | one_line)"
echo "AGAIN $("$proctor" service install --json | one_line)"
echo "MODES $(stat -c %a "$XDG_RUNTIME_DIR/proctor" "$XDG_RUNTIME_DIR/proctor/control.sock" "$units/proctor.service" | tr '\n' ' ')"
echo "EXE $(readlink "/proc/$(main)/exe")"

# A save leads to a report.
make_project "$one"
"$proctor" add "$one" >/dev/null 2>&1
await 'the first verdict' runs_reach 1
echo 1 >"$one/saved.txt"
await 'a verdict on a save' runs_reach 2
echo "REPORT $(one_line <"$one/evidence/default/execution-report.json")"
echo "PRIVILEGES $(grep -h NoNewPrivs "$state"/evidence/*/default/latest/STEP.1-terminal-output.log)"
echo "STATUS $("$proctor" service status --json | one_line)"

# A reload runs everything once more, in the same process.
before=$(main)
systemctl --user reload proctor.service
await 'a verdict on a reload' runs_reach 3
echo "RELOADED $([ "$before" = "$(main)" ] && echo same)"

# Killed while it runs: nobody is left, it is started anew, and nothing that was written is lost.
echo hold >"$one/saved.txt"
await 'the check to hold' holds
written=$(ledger | sha256sum) lines=$(ledger | wc -l)
before=$(main)
systemctl --user kill -s KILL --kill-whom=main proctor.service
"$proctor" status "$one" >/dev/null || true
await 'the service to be there again' is_another_than "$before"
echo 2 >"$one/saved.txt"
await 'a fresh verdict after a kill' is_fresh "$one"
echo "KILLED $([ "$(ledger | head -n "$lines" | sha256sum)" = "$written" ] && echo intact) $(ledger | grep -c INTERRUPTED) $(show NRestarts)"
wrong=0
for run in "$state"/evidence/*/default/runs/*/; do (cd "$run" && sha256sum --quiet -c SHA256SUMS >&2) || wrong=$((wrong + 1)); done
echo "EVIDENCE $wrong $("$proctor" log "$one" | grep -c exec-)"

# A loop that hangs is missed.
mkdir "$units/proctor.service.d"
printf '[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\n' >"$units/proctor.service.d/short.conf"
systemctl --user daemon-reload
systemctl --user restart proctor.service
before=$(main)
kill -STOP "$before"
await 'the watchdog to bite' is_another_than "$before"
await 'a verdict after the watchdog' is_fresh "$one"
echo "WATCHDOG $(journalctl --user -u proctor --no-pager | grep -c 'Watchdog timeout') $(show NRestarts)"
printf '[Service]\nEnvironment=PROCTOR_TEST_ISOLATION=cgroup\n' >"$units/proctor.service.d/short.conf"
systemctl --user daemon-reload

# Two projects; two working trees of one repository.
make_project "$HOME/two"
"$proctor" add "$HOME/two" >/dev/null 2>&1
make_project "$HOME/tree"
git -C "$HOME/tree" -c init.defaultBranch=main init -q
git -C "$HOME/tree" add . && git -C "$HOME/tree" -c user.name=a -c user.email=a@example.org commit -qm begin
git -C "$HOME/tree" worktree add -q -b other "$HOME/branch"
"$proctor" add "$HOME/tree" >/dev/null 2>&1
"$proctor" add "$HOME/branch" >/dev/null 2>&1
for name in two tree branch; do await "the first verdict of $name" of_reach "$name" 1; done
# Every project has a launcher of its own, in one cgroup.
systemctl --user restart proctor.service
rm -r "$units/proctor.service.d"
systemctl --user daemon-reload
reached=
for name in two tree branch; do
  was=$(runs_of "$name")
  echo 5 >"$HOME/$name/saved.txt"
  await "a verdict of $name in a cgroup" of_reach "$name" $((was + 1))
  reached="$reached$(grep -o '"level": *"[a-z]*"' "$HOME/$name/evidence/default/execution-report.json" | head -n 1 | cut -d '"' -f 4) "
  one_line <"$HOME/$name/evidence/default/execution-report.json" | grep -o '"obstacles": *[[][^]]*]' | sed "s/^/OBSTACLES-$name /"
done
echo "CGROUPS $reached"
systemctl --user restart proctor.service
was="$(runs_of one) $(runs_of two) $(runs_of tree)" in_branch=$(runs_of branch)
echo 7 >"$HOME/branch/saved.txt"
await 'a verdict on a save in the second working tree' of_reach branch $((in_branch + 1))
echo "APART $([ "$was" = "$(runs_of one) $(runs_of two) $(runs_of tree)" ] && echo alone) $("$proctor" list --json | grep -o "\"root\"" | wc -l)"
echo "PROJECTS $("$proctor" status --all | grep -c 'fresh PASS')"

# Stopped while it runs, and started by whoever asks.
echo hold >"$one/saved.txt"
await 'the check to hold again' pgrep -f "check.sh $cookie" >/dev/null
systemctl --user stop proctor.service
await 'everything to be dead after a stop' nobody
echo "STOPPED $(cat "$state"/ledger/one-*.jsonl | tail -1 | grep -c INTERRUPTED) $(show Result)"
echo 3 >"$one/saved.txt"
"$proctor" status "$one" >/dev/null || true
echo "ACTIVATED $(show ActiveState)"
await 'a fresh verdict after activation' is_fresh "$one"

# The service finds what this shell finds, and does not know of another shell's places until it is told.
mkdir "$HOME/bin" "$HOME/carried"
printf '#!/bin/sh\necho "$LANG"\n' >"$HOME/bin/own-check" && chmod +x "$HOME/bin/own-check"
printf '[[check]]\nname = "check"\ncommand = ["own-check"]\n' >"$HOME/carried/proctor.toml"
"$proctor" add "$HOME/carried" >/dev/null 2>&1
await 'a verdict without the tool' of_reach carried 1
before=$("$proctor" status "$HOME/carried" | grep -c 'fresh FAIL')
advised=$(PATH="$HOME/bin:$PATH" "$proctor" service status | grep -c 'other variables of the shell')
missing=$(PATH="$HOME/bin:$PATH" LANG=C.UTF-8 "$proctor" service install | grep -c "without it, services would not find $HOME/bin")
echo '# again' >>"$HOME/carried/proctor.toml"
await 'a verdict with the tool' is_fresh "$HOME/carried"
said=$(cat "$state"/evidence/carried-*/default/latest/STEP.1-terminal-output.log)
echo "CARRIED $before $advised $missing $said"

# An edited unit file is somebody's.
sed -i s/WatchdogSec=60/WatchdogSec=61/ "$units/proctor.service"
echo "EDITED $(status_of "$proctor" service install) $(status_of "$proctor" service uninstall) $(grep -c WatchdogSec=61 "$units/proctor.service")"
PATH="$HOME/bin:$PATH" LANG=C.UTF-8 "$proctor" service install --force >/dev/null
echo "FORCED $(grep -c WatchdogSec=60 "$units/proctor.service") $(show WatchdogUSec)"

# A program at a path that systemd would read otherwise.
odd="$HOME/o d/50%h\$HOME;é"
mkdir -p "$odd"
cp "$proctor" "$odd/proctor"
"$odd/proctor" service install >/dev/null
echo "ODD $([ "$(readlink "/proc/$(main)/exe")" = "$odd/proctor" ] && echo there) $(systemd-analyze --user verify "$units/proctor.service" 2>&1 | grep -c proctor.service || true)"

: >"$units/other.service"
"$odd/proctor" service uninstall >/dev/null
left=$(cd "$units" && find . -type f -o -type l | sort | tr '\n' ' ')
echo "UNINSTALLED $left$(show LoadState) $(test -e "$XDG_RUNTIME_DIR/proctor/control.sock" && echo socket || echo none)"
echo "TWICE $(status_of "$proctor" service uninstall)"
