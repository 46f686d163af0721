"""Uses an installed verity_asr: check.py SOUND PROGRAM. Run by build.py --test."""
import subprocess
import sys

import verity_asr

sound, program = sys.argv[1:]
result = verity_asr.transcribe(sound, language="en", word_timestamps=True, threads=1)
assert "ask what you can do for your country" in result.text and result.language == "en", result
assert abs(result.duration - 11) < 0.1 and result.segments[-1].end <= result.duration + 0.1, result
assert len(result.words) > 15 and all(w.start <= w.end for w in result.words), result.words
assert "".join(w.word for w in result.words) == result.text, result.words

streamed = list(verity_asr.stream(sound, language="en", threads=1))
assert "".join(" " + s.text for s in streamed).split() == result.text.split() and streamed[0].start < streamed[-1].end, streamed
for segment in verity_asr.stream(sound, threads=1):
    break  # the program ends with the loop

for wrong in ({"path": "nowhere.wav"}, {"path": sound, "beam_size": "many"}, {"path": sound, "no_such_option": True}):
    path = wrong.pop("path")
    for call in (verity_asr.transcribe, lambda p, **o: list(verity_asr.stream(p, **o))):
        try:
            call(path, **wrong)
        except verity_asr.VerityError as e:
            assert e.status in (1, 2) and str(e), e
        else:
            raise AssertionError(f"{path} {wrong}: no error")
said = subprocess.run([program, "version"], check=True, capture_output=True, text=True).stdout
assert said.startswith("verity "), said
print("verity_asr: transcribe, stream, errors and the command verity work")
