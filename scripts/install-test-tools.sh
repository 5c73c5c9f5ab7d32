#!/bin/sh
# What the tests need beside Python packages: the programs of a PostgreSQL server (initdb, postgres).
# The tests start a server of their own, as an unprivileged user, in a temporary folder, and remove it.
# If the programs are there already, this does nothing. Otherwise it installs the package `postgresql` with
# apt-get (as root, or with sudo), and tells the package not to start a server of its own.
set -eu

for folder in "$(command -v pg_config >/dev/null 2>&1 && pg_config --bindir || true)" \
              /usr/lib/postgresql/*/bin /usr/local/pgsql/bin /opt/homebrew/opt/postgresql*/bin; do
    if [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ]; then
        exit 0
    fi
done

if ! command -v apt-get >/dev/null 2>&1; then
    echo "The tests need PostgreSQL's initdb and postgres; install PostgreSQL 13 or newer, then run this again." >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    run=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    run="sudo -n"
else
    echo "The tests need PostgreSQL; as an administrator, run: apt-get install postgresql" >&2
    exit 1
fi

echo "installing postgresql for the tests (apt-get)"
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -qq
$run apt-get install -y -qq --no-install-recommends postgresql-common >/dev/null
$run mkdir -p /etc/postgresql-common/createcluster.d
echo "create_main_cluster = false" | $run tee /etc/postgresql-common/createcluster.d/bestarm-tests.conf >/dev/null
$run apt-get install -y -qq --no-install-recommends postgresql >/dev/null
