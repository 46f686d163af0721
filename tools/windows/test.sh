#!/bin/sh
# Tries the program for Windows under Wine: the same bytes as on this system, names of files as they are on Windows,
# exit statuses, and the server. Then tests of packages for Windows.
#
#   tools/windows/test.sh VERITY
#
# Needs Wine of 64 bits (Debian: wine64), curl, and with Wine before 9 Python. Wine is not Windows: it has no symbolic
# links, and Wine 8 does not delete as Go asks it to, so tests that do either are left out.
set -eu
verity=$1
wine=$(command -v wine64 || command -v /usr/lib/wine/wine64 || command -v wine || true)
[ -n "$wine" ] || { echo "*** SKIPPED: make windows-test needs wine (Debian: wine64) ***"; exit 0; }
tmp=$(mktemp -d)
export WINEPREFIX=$tmp/prefix WINEDEBUG=-all LC_ALL=C.UTF-8
finish() {
	"$wine" wineboot -k >/dev/null 2>&1 || true
	for try in 1 2 3 4 5 6 7 8 9; do # it still writes its settings
		rm -rf "$tmp" 2>/dev/null && break
		sleep 1
	done
}
trap finish EXIT
"$wine" wineboot -i >/dev/null 2>&1
c=$WINEPREFIX/drive_c
dll=$c/windows/system32/bcryptprimitives.dll
[ -e "$dll" ] || python3 tools/windows/prng.py "$dll"
GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -trimpath -o "$c/verity.exe" ./cmd/verity
exe() { "$wine" 'C:\verity.exe' "$@"; }
fail() { echo "FAIL: $*"; exit 1; }
same() { # WHAT: the two files
	cmp "$tmp/here" "$tmp/there" || fail "$1"
	echo "ok	$1"
}
status() { # WANT ARGUMENTS…
	want=$1 got=0
	shift
	exe "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
	[ $got -eq "$want" ] || { cat "$tmp/err"; fail "verity $*: status $got, want $want"; }
}
says() { # TEXT: the last command
	grep -qF -- "$1" "$tmp/out" "$tmp/err" || { cat "$tmp/out" "$tmp/err"; fail "no \"$1\""; }
	printf 'ok	%s\n' "$1"
}

exe version
both() { # ARGUMENTS…
	"$verity" transcribe -q -f json "$@" | sed 's/,"stats":.*//' >"$tmp/here"
	exe transcribe -q -f json "$@" | sed 's/,"stats":.*//' >"$tmp/there"
	same "${VERITY_DISABLE-} transcribe $*"
}
both --speakers voice examples/conversation.opus
for VERITY_DISABLE in "" avx512 avx512,avxvnni; do
	export VERITY_DISABLE
	both model/base/jfk.flac
done
unset VERITY_DISABLE

dir="$c/users/Jörg Müller/Aufnahmen"
long=$(printf 'sehr lange Namen von Verzeichnissen %.0s' 1 2 3 4)
mkdir -p "$dir/$long/$long/$long"
for name in "Über größe.flac" TALK.FLAC "$long/$long/$long/talk.flac"; do cp model/base/jfk.flac "$dir/$name"; done
status 0 -q -o 'C:\texts' 'C:\users\Jörg Müller\Aufnahmen\*.flac'
[ "$(ls "$c/texts" | sort | tr '\n' /)" = "TALK.txt/Über größe.txt/" ] || fail "a pattern: $(ls "$c/texts")"
"$verity" -q model/base/jfk.flac >"$tmp/here"
cp "$c/texts/Über größe.txt" "$tmp/there"
same "names with umlauts, *.flac for TALK.FLAC, no carriage returns"
status 0 -q -o 'C:/deep' "C:/users/Jörg Müller/Aufnahmen/$long/$long/$long/talk.flac"
cp "$c/deep/talk.txt" "$tmp/there"
same "a path of over 400 characters"
status 2 -q -o 'C:\texts' 'C:\users\Jörg Müller\Aufnahmen\TALK.FLAC'
says 'C:\texts\TALK.txt exists'
status 1 'C:\none.mp3'
says 'C:\none.mp3: there is no such sound file'
status 1 'C:\*.opus'
says 'C:\*.opus: no file here has such a name'
status 2 --modle x talk.mp3
says 'did you mean --model?'
status 1 listen
says 'ffmpeg'
"$verity" quantize model/digits/target --precision int8 --out "$tmp/int8" >/dev/null 2>&1
status 0 quantize model/digits/target --precision int8 --out 'C:\int8'
cp "$tmp/int8/model.safetensors" "$tmp/here"
cp "$c/int8/model.safetensors" "$tmp/there"
same "quantize"

port=18473
"$wine" 'C:\verity.exe' serve -q --listen 127.0.0.1:$port 2>"$tmp/log" &
server=$!
i=0
until curl -sf -o "$tmp/out" http://127.0.0.1:$port/; do i=$((i + 1)); [ $i -lt 100 ] || { cat "$tmp/log"; fail "no server"; }; sleep 0.2; done
curl -sf -F file=@model/base/jfk.flac -F response_format=text http://127.0.0.1:$port/v1/audio/transcriptions >"$tmp/out"
says 'ask not what your country can do for you'
status 1 serve --listen 127.0.0.1:$port
says 'another program listens there'
kill $server

tests() { # PACKAGE FLAGS…
	package=$1
	shift
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go test -c -vet=off -trimpath -o "$tmp/package.exe" ./$package
	(cd $package && "$wine" "$tmp/package.exe" -test.short "$@" >"$tmp/log" 2>&1) || { cat "$tmp/log"; fail "tests of $package"; }
	echo "ok	$package"
}
same='Golden|Rows|Threads|Bits|Hash|Cosine'
tests internal/kernel -test.skip 'TestGenerated|TestCeilings|TestEncodings|TestNoEVEX|TestReadCaches'
tests parallel
tests decoder -test.run "$same" -test.skip 'TestBeams'
