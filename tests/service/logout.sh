#!/bin/bash
# Runs inside the machine, as root: the service of a user who logs in and out, first without, then with lingering. Prints `NAME VALUE`
# lines; the test judges. Arguments: the directory with `proctor`, and a user to make.
set -eu
tools=$1 user=$2
home=/home/$user
proctor=$tools/proctor
useradd --create-home --uid 4712 "$user"
# Without a session the user's manager ends at once; usually it waits ten seconds for another one.
mkdir -p /etc/systemd/logind.conf.d
printf '[Login]\nUserStopDelaySec=0\n' >/etc/systemd/logind.conf.d/test.conf
systemctl restart systemd-logind

await() { # WHAT COMMAND...: polls for a minute
  local what=$1 tries=0
  shift
  until "$@"; do
    tries=$((tries + 1))
    if [ $tries -ge 1200 ]; then
      echo "LATE $what"
      { loginctl list-sessions; systemctl status --no-pager user@4712.service; journalctl --no-pager | tail -40; } >&2 || true
      exit 1
    fi
    sleep 0.05
  done
}
session() { # SCRIPT: a login session that ends with the script
  systemd-run --quiet --pipe --wait --collect --service-type=simple --uid="$user" -p PAMName=login \
    -E HOME="$home" -E TOOLS="$tools" bash -euc "$1"
}
runs() { cat "$home"/.local/state/proctor/ledger/*.jsonl 2>/dev/null | grep -c '"kind":"run"' || true; }
runs_reach() { [ "$(runs)" -ge "$1" ]; }
is_down() { ! pgrep -u "$user" >/dev/null; }
manager_is() { [ "$(systemctl is-active user@4712.service)" = "$1" ]; }

install=$(session '
  mkdir "$HOME/project"
  printf "[[check]]\nname = \"check\"\ncommand = [\"/bin/sh\", \"check.sh\"]\n" >"$HOME/project/proctor.toml"
  echo "if grep -q hold saved.txt; then sleep 600; fi" >"$HOME/project/check.sh"
  echo 0 >"$HOME/project/saved.txt"
  "$TOOLS/proctor" add "$HOME/project" >/dev/null 2>&1
  "$TOOLS/proctor" service install | grep -c enable-linger
  "$TOOLS/proctor" wait "$HOME/project" --fresh >/dev/null
  echo hold >"$HOME/project/saved.txt"
  until pgrep -u "$(id -u)" -x sleep >/dev/null; do sleep 0.01; done
')
echo "ADVISED $install"
await 'the service to end with the session' is_down
echo "LOGGEDOUT $(tail -n 1 "$home"/.local/state/proctor/ledger/*.jsonl | grep -c INTERRUPTED)"
echo 1 >"$home/project/saved.txt"

# The next login starts it, and it takes up what was saved meanwhile.
session 'until "$TOOLS/proctor" status "$HOME/project" | grep -q "fresh PASS"; do sleep 0.05; done; "$TOOLS/proctor" service status >"$HOME/said" || true
  loginctl enable-linger
  "$TOOLS/proctor" service status | grep -c enable-linger >"$HOME/advised" || true'
echo "LINGERS $(grep -c 'ends when you log out' "$home/said") $(cat "$home/advised")"
manager_is active && before=$(runs)
runuser -u "$user" -- sh -c "echo 2 >'$home/project/saved.txt'"
await 'a verdict without a session' runs_reach $((before + 1))
echo "WITHOUT $(loginctl list-sessions --no-legend | grep -c "$user" || true) $(runs)"
loginctl disable-linger "$user"
await 'the service to end without lingering' is_down
