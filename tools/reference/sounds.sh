#!/bin/sh
# Writes audio/testdata/sounds: a second of one sweep, in the compressed formats that
# package audio reads, by ffmpeg's encoders. sweep.wav is what all of them hold.
# TestSounds compares them with the rule of the sweep.
set -eu
cd "$(dirname "$0")/../../audio/testdata/sounds"
ff() { ffmpeg -nostdin -v error -y -fflags +bitexact "$@"; }
# 300 to 1500 Hz and back, at half of full scale: within the band of every codec.
ff -f lavfi -i "aevalsrc=0.5*sin(2*PI*(300*t+600*t*t)):s=48000:d=1" -c:a pcm_s16le -flags +bitexact sweep48.wav
both="-af pan=stereo|c0=c0|c1=c0" # -ac 2 would lose 3 dB
for rate in 16000 22050 44100; do
	ff -i sweep48.wav -ar $rate -ac 1 -c:a libmp3lame -b:a 32k sweep$rate.mp3
done
ff -i sweep48.wav $both -c:a libmp3lame -q:a 5 stereo.mp3
ff -i sweep48.wav -ac 1 -c:a libopus -b:a 16k -application voip silk.opus
ff -i sweep48.wav $both -c:a libopus -b:a 64k -application audio celt.opus
ff -i sweep48.wav -ac 1 -c:a libopus -b:a 48k -application audio opus.webm
rm sweep48.wav
