import os

from proof import Bridge

bridge = Bridge(os.environ["VERITY_PROOF_BRIDGE"])
