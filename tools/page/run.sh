#!/bin/sh
# Drives the server's page and reports in Chromium: run.sh PROGRAM MODEL SPEECH PICTURES [PART…], a part of
# page.mjs. Skipped with a line where a program is missing.
set -eu
program=$1 model=$2 speech=$3 pictures=$4
shift 4
skip() { echo "*** SKIPPED: the pages in Chromium: $1 ***"; exit 0; }
browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$browser" ] || skip "no Chromium is installed"
command -v npm >/dev/null || skip "no npm is installed"
command -v ffmpeg >/dev/null || skip "no ffmpeg is installed"
mkdir -p "$pictures"
cp "$(dirname "$0")/package.json" "$(dirname "$0")"/*.mjs "$pictures"
npm install --silent --prefix "$pictures" || skip "playwright-core and axe-core cannot be installed"
digits=$PWD/model/digits
ffmpeg -v error -y -i "$speech" -af adelay=500,apad=pad_dur=2 -ar 48000 -ac 1 "$pictures/speech.wav"
ffmpeg -v error -y -stream_loop 24 -i "$pictures/speech.wav" -c copy "$pictures/long.wav"
ffmpeg -v error -y -i model/base/jfk.flac -i model/base/librispeech/84-121123-0003.flac -filter_complex \
	'[0]atrim=0:3.2[a];[0]atrim=7.5:10.6,asetpts=PTS-STARTPTS[c];[a][1][c]concat=n=3:v=0:a=1' -ar 16000 -ac 1 "$pictures/two.wav"
for kind in m4a mp4 mov webm; do
	[ $kind = m4a ] && picture= || picture="-f lavfi -i testsrc=s=160x120:r=5"
	codec=aac; [ $kind = webm ] && codec=libvorbis
	ffmpeg -v error -y $picture -i "$pictures/speech.wav" -c:a $codec -ac 2 -shortest "$pictures/phone.$kind"
done
ffmpeg -v error -y -f lavfi -i anullsrc=r=48000:cl=mono -t 5 "$pictures/silence.wav"
ffmpeg -v error -y -f lavfi -i anullsrc=r=8000:cl=mono -t 2460 -c:a aac -b:a 8k "$pictures/long.m4a"
cd "$pictures"
code=0
firefox=${FIREFOX:-$(command -v firefox || command -v firefox-esr || true)}
if [ $# -eq 0 ]; then
	node report.mjs "$browser" "$program" "$digits" "$pictures" || code=1
	if [ -n "$firefox" ]; then
		node firefox.mjs "$firefox" "$program" "$digits/target" "$digits/digits.wav" || code=1
	else
		echo "*** SKIPPED: the page in Firefox: it is not installed ***"
	fi
fi
node page.mjs "$browser" "$program" "$model" "$pictures/speech.wav" "$pictures" "$@" || code=1
exit $code
