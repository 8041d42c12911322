#!/bin/bash
# Runs inside the machine as root: a Debian package is installed, used by a person, upgraded under the person's service, and removed.
# Prints `NAME VALUE` lines; the test judges. Argument: the directory with the packages `old.deb` and `new.deb`, whose programs differ.
set -eu
packages=$1
person=proctor-test
number=$(id -u $person)
home=$(getent passwd $person | cut -d: -f6)
runtime=/run/user/$number
as_person() {
  runuser -u $person -- env -C "$home" HOME="$home" XDG_RUNTIME_DIR=$runtime DBUS_SESSION_BUS_ADDRESS=unix:path=$runtime/bus "$@"
}
status_of() { local code=0; "$@" >/tmp/said 2>&1 || code=$?; echo $code; }
await() { # WHAT COMMAND...: polls for a minute
  local what=$1 tries=0
  shift
  until "$@"; do
    tries=$((tries + 1))
    if [ $tries -ge 600 ]; then
      echo "LATE $what"
      { as_person proctor status shop; as_person systemctl --user status --no-pager proctor.service; } >&2 || true
      exit 1
    fi
    sleep 0.1
  done
}
service_program() { sha256sum "/proc/$(as_person systemctl --user show -p MainPID --value proctor.service)/exe" 2>/dev/null | cut -d ' ' -f 1; }
runs_installed() { [ "$(service_program)" = "$(sha256sum /usr/bin/proctor | cut -d ' ' -f 1)" ]; }
is_fresh() { as_person proctor status shop | grep -q "fresh $1"; }

echo "INSTALLED $(status_of dpkg --install "$packages/old.deb") $(dpkg-query -W -f '${Status}' proctor)"
echo "WHOLE $(status_of dpkg --verify proctor) $(wc -c </tmp/said)"
echo "NOTICES $(zgrep -c '^serde_json [0-9.]* · ' /usr/share/doc/proctor/third-party-notices.gz)"
# Relative links of the package's pages that lead nowhere.
dead_links() {
  python3 -c '
import pathlib, re
dead = [(page, link) for page in pathlib.Path("/usr/share/doc/proctor").rglob("*.md")
        for link in re.findall(r"\]\(([^)#\s]+)", re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.S))
        if "://" not in link and not (page.parent / link).exists()]
print(len(dead), *dead[:5])'
}
echo "LINKS $(dead_links)"
echo "STARTED $(as_person systemctl --user is-active proctor.service proctor.socket | tr '\n' ' ')"
echo "UNITS $(status_of as_person systemd-analyze --user verify /usr/lib/systemd/user/proctor.service)"

as_person mkdir shop
as_person tee shop/proctor.toml >/dev/null <<'TOML'
[[check]]
name = "check"
command = ["grep", "-q", "good", "saved.txt"]
TOML
echo 'good' | as_person tee shop/saved.txt >/dev/null
echo "RUN $(status_of as_person proctor run shop)"

as_person proctor service install >/dev/null
as_person proctor service add shop >/dev/null
await 'the service to serve the project' is_fresh PASS
await 'the service of the package' runs_installed
before=$(service_program)
echo "UPGRADED $(status_of dpkg --install "$packages/new.deb")"
echo 'bad' | as_person tee shop/saved.txt >/dev/null
await 'the new program to judge' is_fresh FAIL
await 'the service to run the new program' runs_installed
echo "CHANGED $([ "$before" != "$(service_program)" ] && echo 1 || echo 0)"

as_person proctor service uninstall >/dev/null
store=$home/.local/state/proctor
kept() { find "$store" -type f \( -name '*.jsonl' -o -name '*.key' -o -name '*.pem' -o -name execution-report.json \) -print0 | sort -z | xargs -0 sha256sum | sha256sum; }
before=$(kept)
echo "PURGED $(status_of dpkg --purge proctor) $(ls -d /usr/bin/proctor /usr/share/doc/proctor /usr/lib/systemd/user/proctor.* 2>/dev/null | wc -l)"
echo "KEPT $([ "$before" = "$(kept)" ] && echo 1 || echo 0) $([ "$(find "$store" -name execution-report.json | wc -l)" -ge 2 ] && echo 1 || echo 0)"
echo "AGAIN $(status_of dpkg --install "$packages/old.deb") $(status_of as_person proctor verify --all)"
