#!/bin/sh
# What the tests need beside Python packages. Whatever is there already is left alone.
#   - the programs of a PostgreSQL server (initdb, postgres): the tests start a server of their own, as an
#     unprivileged user, in a temporary folder, and remove it;
#   - a C compiler, for the disk that forgets what was not synced (tests/support/unsynced.c);
#   - Chromium, in which the tests of the dashboard run, without a window;
#   - axe-core, which looks for what keeps people from using a page; it goes into .tools/ and nowhere else.
# The first three come from apt-get (as root, or with sudo), the last from the npm registry.
set -eu
cd "$(dirname "$0")/.."

AXE=4.14.0

has_postgresql() {
    for folder in "$(command -v pg_config >/dev/null 2>&1 && pg_config --bindir || true)" \
                  /usr/lib/postgresql/*/bin /usr/local/pgsql/bin /opt/homebrew/opt/postgresql*/bin; do
        [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ] && return 0
    done
    return 1
}

has_chromium() {
    command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
        command -v google-chrome >/dev/null 2>&1
}

has_axe() {
    [ -f ".tools/axe-core-$AXE/axe.min.js" ]
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

need_apt_for() {
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "The tests need $1; install it, then run this again." >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
        echo "The tests need $1; as an administrator, run: apt-get install $2" >&2
        exit 1
    fi
    echo "installing $2 (apt-get)"
    export DEBIAN_FRONTEND=noninteractive
    as_root apt-get update -qq
}

has_compiler() {
    command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1
}

missing=""
has_postgresql || missing="$missing, PostgreSQL (apt-get)"
has_compiler || missing="$missing, gcc (apt-get)"
has_chromium || missing="$missing, Chromium (apt-get)"
has_axe || missing="$missing, axe-core $AXE (npm, into .tools)"
if [ -n "$missing" ]; then echo "The tests need what is missing here, and it is installed now: ${missing#, }."; fi

if ! has_postgresql; then
    need_apt_for "PostgreSQL 13 or newer (initdb and postgres)" postgresql
    as_root apt-get install -y -qq --no-install-recommends postgresql-common >/dev/null
    # The package must not start a server of its own.
    as_root mkdir -p /etc/postgresql-common/createcluster.d
    echo "create_main_cluster = false" |
        as_root tee /etc/postgresql-common/createcluster.d/bestarm-tests.conf >/dev/null
    as_root apt-get install -y -qq --no-install-recommends postgresql >/dev/null
fi

if ! has_compiler; then
    need_apt_for "a C compiler" gcc
    as_root apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null
fi

if ! has_chromium; then
    need_apt_for "Chromium" chromium
    as_root apt-get install -y -qq --no-install-recommends chromium fonts-inter >/dev/null
fi

if ! has_axe; then
    if ! command -v npm >/dev/null 2>&1; then
        need_apt_for "npm, to fetch axe-core $AXE" npm
        as_root apt-get install -y -qq --no-install-recommends npm >/dev/null
    fi
    mkdir -p .tools
    (cd .tools && npm pack --silent "axe-core@$AXE" >/dev/null && tar xzf "axe-core-$AXE.tgz" &&
        rm -rf "axe-core-$AXE" && mv package "axe-core-$AXE" && rm "axe-core-$AXE.tgz")
fi
