"""A plugin for pytest under which the tests of OpenAI's Python client send real sound: they name bytes that are none."""
import os

with open(os.environ["VERITY_PROOF_SOUND"], "rb") as sound:
    SOUND = sound.read()


def patched(create):
    def with_sound(self, *args, **options):
        if options.get("file") == b"Example data":
            options["file"] = ("sound.wav", SOUND)
        return create(self, *args, **options)
    return with_sound


from openai.resources.audio import transcriptions, translations  # noqa: E402

for module in (transcriptions, translations):
    for name, kind in list(vars(module).items()):
        if isinstance(kind, type) and "create" in vars(kind):
            kind.create = patched(kind.create)
