#!/bin/sh
# What clients of whisper.cpp's server send: sh whisper-cpp.sh talk.wav [http://127.0.0.1:8000]
set -eu
file=${1:?is missing: sh whisper-cpp.sh FILE [ADDRESS]}
base=${2:-http://127.0.0.1:8000}
ask() { curl --silent --show-error --fail-with-body -H "Authorization: Bearer ${VERITY_KEY:-none}" "$@"; }

ask "$base/health"
ask -F file=@"$file" -F temperature=0.0 -F temperature_inc=0.2 -F response_format=json "$base/inference"
for format in text srt vtt verbose_json; do
	ask -F file=@"$file" -F response_format=$format "$base/inference"
done
