"""Where things are: WORK holds what is made, TOKENIZER is a folder of openai/whisper-base."""
import os
from pathlib import Path
WORK = Path(os.environ.get("WORK", "work"))
MODEL = str(Path(__file__).resolve().parents[3] / "models/whisper/base")
TOKENIZER = os.environ.get("TOKENIZER", "openai/whisper-base")
