// Sound that Verity cannot read without ffmpeg, such as that of phones, is decoded by the browser and sent as WAV.
const rate = 16000, longest = 40 * 60; // Hz, as the model hears; seconds that are decoded at once

// decode returns a file as mono WAV, or null if the browser cannot decode it or it is too long.
export async function decode(file) {
  if (!(await lengthOf(file) <= longest)) return null;
  const data = await file.arrayBuffer().catch(() => null), sound = data && await new OfflineAudioContext(1, 1, rate).decodeAudioData(data).catch(() => null);
  return sound && wav(Array.from({length: sound.numberOfChannels}, (_, c) => sound.getChannelData(c)));
}

// lengthOf returns the seconds of a file, or NaN.
function lengthOf(file) {
  const audio = new Audio();
  return new Promise(found => {
    audio.onloadedmetadata = () => found(audio.duration);
    audio.onerror = () => found(NaN);
    audio.src = URL.createObjectURL(file);
  }).finally(() => URL.revokeObjectURL(audio.src));
}

// wav returns the mean of channels as WAV of 16 bits.
function wav(channels) {
  const n = channels[0].length, samples = new Int16Array(n); // all browsers' machines are little-endian
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (const c of channels) sum += c[i];
    samples[i] = Math.max(-1, Math.min(1, sum / channels.length)) * 32767;
  }
  const format = [Uint32Array.of(16), Uint16Array.of(1, 1), Uint32Array.of(rate, 2 * rate), Uint16Array.of(2, 16)]; // PCM, one channel
  return new Blob(["RIFF", Uint32Array.of(36 + 2 * n), "WAVEfmt ", ...format, "data", Uint32Array.of(2 * n), samples], {type: "audio/wav"});
}
