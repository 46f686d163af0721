// The sounds of a recording: of the microphone, and of a tab or the computer.
import {Failure} from "./api.js";

// listen returns streams of sound from a source: "microphone", "computer" or "both". It throws a Failure.
export async function listen(source, microphone) {
  if (!navigator.mediaDevices) throw new Failure("Browsers allow the microphone only on the computer where Verity runs, or over https: see --tls-cert in the manual.");
  const streams = source === "microphone" ? [] : [await share()]; // first, as browsers allow that only right after a click
  try {
    if (source !== "computer") streams.push(await navigator.mediaDevices.getUserMedia({audio: {...microphone && {deviceId: {ideal: microphone}}, channelCount: 1, echoCancellation: source === "both", autoGainControl: true}})); // else what a loudspeaker plays is heard twice
  } catch (e) {
    stop(streams);
    throw new Failure(e.name === "NotAllowedError" ? "The browser does not let this page use the microphone. Allow it next to the address, then press Record." :
      e.name === "NotFoundError" ? "No microphone was found. Plug one in, then press Record." : "The microphone cannot be used. Close other programs that may use it, then press Record.");
  }
  return streams;
}

const shared = "the shared tab or screen";
const how = "Choose a tab or the screen, and switch on “Also share audio” there. Only Chrome and Edge on a computer can do that.";

async function share() {
  const sound = {echoCancellation: false, noiseSuppression: false, autoGainControl: false};
  let stream;
  try {
    stream = await navigator.mediaDevices.getDisplayMedia({video: true, audio: sound, systemAudio: "include", windowAudio: "system"});
  } catch (e) { // a TypeError where there is no such function
    throw new Failure((e instanceof TypeError ? "This browser cannot share sound. " : "Nothing was shared. ") + how);
  }
  for (const t of stream.getVideoTracks()) { t.stop(); stream.removeTrack(t); } // browsers share sound only beside a picture
  if (!stream.getTracks().length) throw new Failure("No sound was shared. " + how);
  return Object.assign(stream, {device: shared});
}

// mix calls add with the sound of all streams, in pieces of 16 bits. It returns the node that does so, and their sum as a stream.
export function mix(context, streams, worklet, add) {
  const node = worklet ? new AudioWorkletNode(context, "microphone", {numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit"}) : context.createScriptProcessor(4096, 1, 1), sum = context.createMediaStreamDestination();
  if (worklet) node.port.onmessage = m => add(m.data);
  else { // it comes from the server
    node.onaudioprocess = e => add(Int16Array.from(e.inputBuffer.getChannelData(0), x => Math.max(-1, Math.min(1, x)) * 32767));
    node.connect(context.destination);
  }
  for (const s of streams) {
    const source = context.createMediaStreamSource(s);
    for (const to of [node, sum]) source.connect(to);
  }
  return [node, streams.length > 1 ? sum.stream : streams[0]];
}

// devices names the streams that have not ended.
export const devices = streams => streams.filter(s => s.active).map(s => s.device || s.getTracks()[0].label).join(" and ");

export function stop(streams) { for (const t of streams.flatMap(s => s.getTracks())) t.stop(); }
