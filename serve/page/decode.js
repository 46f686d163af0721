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
  const n = channels[0].length, view = new DataView(new ArrayBuffer(44)), samples = new Int16Array(n); // all browsers' machines are little-endian
  const text = (at, s) => [...s].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)));
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (const c of channels) sum += c[i];
    samples[i] = Math.max(-1, Math.min(1, sum / channels.length)) * 32767;
  }
  for (const [at, s] of [[0, "RIFF"], [8, "WAVEfmt "], [36, "data"]]) text(at, s);
  for (const [at, x] of [[4, 36 + 2 * n], [16, 16], [24, rate], [28, 2 * rate], [40, 2 * n]]) view.setUint32(at, x, true);
  for (const [at, x] of [[20, 1], [22, 1], [32, 2], [34, 16]]) view.setUint16(at, x, true);
  return new Blob([view, samples], {type: "audio/wav"});
}
