#!/bin/sh
# Runs the programs in examples against a server: examples.sh VERITY PYTHON
set -eu
verity=$1 python=$2
sound=model/digits/digits.wav
log=$(mktemp)
"$verity" serve --model model/digits/target --listen 127.0.0.1:0 2>"$log" &
server=$!
trap 'kill $server 2>/dev/null; wait $server || true; rm -f "$log"' EXIT
until VERITY_URL=$(sed -n 's/.* on \(http:.*\)/\1/p' "$log") && [ -n "$VERITY_URL" ]; do sleep 0.1; done
export VERITY_URL

want=$("$verity" transcribe --quiet --model model/digits/target --output-format txt $sound | tr -s ' \n' ' ' | sed 's/ $//')
check() {
	if [ "$2" != "$want" ]; then
		echo "$1: got \"$2\", want \"$want\""
		exit 1
	fi
	echo "$1: as the command line"
}
sh examples/curl.sh $sound "$VERITY_URL" >"$log.curl"
grep -q 'transcript.text.done' "$log.curl" && grep -q '^WEBVTT' "$log.curl" && rm "$log.curl"
sh examples/whisper-cpp.sh $sound "$VERITY_URL" >"$log.cpp"
grep -q '"status":"ok"' "$log.cpp" && grep -q '^WEBVTT' "$log.cpp" && rm "$log.cpp"
check transcribe.py "$("$python" examples/transcribe.py $sound)"
(cd examples/go && go build -o "$log.go" .)
check "go, a file" "$("$log.go" $sound | awk '{printf "%s%s", sep, $3; sep = " "}')"
live=$(tail -c +45 $sound | "$log.go" -)
heard=$(tail -c +45 $sound | "$python" examples/listen.py)
rm "$log.go"
if [ -z "$live" ] || [ -z "$heard" ]; then
	echo "live sound gives no text"
	exit 1
fi
echo "live, by go and listen.py: $live / $heard"
