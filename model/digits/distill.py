"""Distils the assistant: one decoder layer on the target's frozen encoder, taught what the target would say.

It begins as the target's embeddings and last layer. The text it is taught on is the target's own: of every word and time
the target's choice, not the truth. Run after train.py, with the same --work.

  python distill.py --minutes 15 --work /tmp/demo
"""

import torch
import torch.nn.functional as F
from torch import nn

import export
import strings
import train
import vocab as V


class Apprentice(nn.Module):
    parts = ("divergence", "choice")

    def __init__(self, work):
        super().__init__()
        self.target = export.averaged(work).requires_grad_(False)
        self.decoder = export.assistant_of(self.target).decoder

    def curriculum(self, _):
        return 0.7  # as late in the target's training

    @torch.no_grad()
    def teach(self, batch):
        """Returns the encoder's output, the target's text as decoder inputs, and its logits on them."""
        audio = self.target.encoder(batch["mel"], torch.bfloat16)
        cross = self.target.decoder.cross(audio)
        asked = batch["rows"] != strings.IGNORED
        choice = self.target.decoder(batch["inputs"], cross)[0].argmax(-1)[:, :-1]
        inputs = batch["inputs"].clone()
        now = inputs[:, 1:]
        words = (choice >= V.DIGIT) & (choice < V.EOT) & (now >= V.DIGIT) & (now < V.EOT)
        times = (choice >= V.TIME) & (now >= V.TIME)
        inputs[:, 1:] = torch.where(asked[:, :-1] & (words | times), choice, now)
        return audio, inputs, self.target.decoder(inputs, cross)[0][asked]

    def losses(self, batch, _):
        """Returns KL(target || assistant) and the cross-entropy of the target's choices."""
        audio, inputs, wanted = self.teach(batch)
        asked = batch["rows"] != strings.IGNORED
        logits = self.decoder(inputs, self.decoder.cross(audio))[0][asked]
        logp = F.log_softmax(logits, -1)
        divergence = F.kl_div(logp, F.log_softmax(wanted, -1), log_target=True, reduction="batchmean")
        return divergence, F.nll_loss(logp, wanted.argmax(-1))

    def weights(self, _):
        return 1.0, 0.5


def new_apprentice(args):
    return Apprentice(args.work)


if __name__ == "__main__":
    train.run(train.arguments(__doc__, 15, "assistant.pt"), new_apprentice)
