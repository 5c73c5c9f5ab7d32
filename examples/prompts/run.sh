#!/usr/bin/env bash
# Three teams compare prompts by filling worksheets, with nothing but shell commands: bash run.sh [FOLDER]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$(mktemp -d)}
cd "$folder"

# The coordinator: a server, a study, and a token for each team.
bestarm serve --port 0 --storage sqlite:///prompts.db --admin-token-file admin-token > serve.log &
server=$!
trap 'kill $server; wait $server || true' EXIT
until grep -q '^listening on ' serve.log; do
    kill -0 $server    # ends the script if the server has ended
    sleep 0.1
done
BESTARM_URL=$(sed -n 's/^listening on //p' serve.log)
export BESTARM_URL
BESTARM_TOKEN=$(cat admin-token) bestarm study create "$here/problem.toml" --agents 3 \
    --set thrift=messages --set min_batch=20
for team in red green blue; do
    mkdir "$team"
    token=$(BESTARM_TOKEN=$(cat admin-token) bestarm token create --study summary-prompt --agent "$team")
    printf 'token = "%s"\n' "$token" > "$team/bestarm.toml"
done

# The teams, one after the other: a worksheet of trials, scores in its reward column, and back.
for round in 1 2 3 4 5 6 7 8 9 10; do
    for team in red green blue; do
        cd "$folder/$team"
        bestarm ask -n 60 --worksheet "sheet-$round.csv"
        if [ ! -e "sheet-$round.csv" ]; then    # nothing to do: the study is finished
            break 2
        fi
        python3 "$here/fill.py" "sheet-$round.csv" "$team"
        bestarm tell --worksheet "sheet-$round.csv"
    done
done

cd "$folder"
BESTARM_TOKEN=$(cat admin-token) bestarm study show summary-prompt
