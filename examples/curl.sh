#!/bin/sh
# What the server does, with curl: sh curl.sh talk.wav [http://127.0.0.1:8000]
# With --api-key-file, set VERITY_KEY.
set -eu
file=$1
base=${2:-http://127.0.0.1:8000}/v1
ask() { curl --silent --show-error --fail-with-body -H "Authorization: Bearer ${VERITY_KEY:-none}" "$@"; }

ask "$base/models"
ask -F file=@"$file" "$base/audio/transcriptions"
for format in text srt vtt; do
	ask -F file=@"$file" -F response_format=$format "$base/audio/transcriptions"
done

# Segments and words with their times; a language, and words to expect.
ask -F file=@"$file" -F response_format=verbose_json -F 'timestamp_granularities[]=segment' \
	-F 'timestamp_granularities[]=word' -F language=en -F prompt='Verity, Whisper' "$base/audio/transcriptions"

# Text as it is decided: server-sent events.
ask --no-buffer -F file=@"$file" -F stream=true "$base/audio/transcriptions"

# In English, whatever the language; English-only models refuse it.
ask -F file=@"$file" "$base/audio/translations"
