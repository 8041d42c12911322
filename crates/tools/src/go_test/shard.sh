# Runs `go test` with one part (shard) of the packages that its patterns name, and lists all of them and its own.
# Arguments: the number of the part, the number of parts, and the command.
set -f
number=$1 of=$2
shift 2
here=${0%/*} left=$# patterns=
while [ "$left" -gt 0 ]; do
    word=$1
    shift
    left=$((left - 1))
    case $word in
        . | ./*) patterns="$patterns $word" ;;
        *) set -- "$@" "$word" ;;
    esac
done
"$1" list $patterns >"$here/packages" || exit
[ -s "$here/packages" ] || exec "$@" $patterns
awk -v number="$number" -v of="$of" -v list="$here/collected.json" '
    { all = all (NR > 1 ? "," : "") "\"" $0 "\"" }
    NR % of == number % of { own = own (own == "" ? "" : ",") (NR - 1); print }
    END { printf "{\"tests\":[%s],\"own\":[%s]}", all, own >list }
' "$here/packages" >"$here/own" || exit
[ -s "$here/own" ] && exec "$@" $(cat "$here/own")
# There are more parts than packages. Go then says that no test was run.
exec "$@" -run '^$' "$(head -n 1 "$here/packages")"
