// Sends the samples of the microphone as 16-bit PCM, in pieces of a tenth of a second.
class Microphone extends AudioWorkletProcessor {
  constructor() {
    super();
    this.piece = new Int16Array(Math.round(sampleRate / 10));
    this.length = 0;
  }

  process([input]) {
    for (const x of input[0] || []) {
      this.piece[this.length++] = Math.max(-1, Math.min(1, x)) * 32767;
      if (this.length === this.piece.length) {
        this.port.postMessage(this.piece.slice());
        this.length = 0;
      }
    }
    return true;
  }
}
registerProcessor("microphone", Microphone);
