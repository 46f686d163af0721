package kernel

// Constants of layout that may differ between architectures. A file with other values
// needs a build constraint of its own, and this file the opposite one. Neither signatures
// nor results depend on them: sums of integers are exact.

// int8Zero is added to activations and keys that are rounded to int8; Matrix.offset and
// its like cancel it. VPDPBUSD of amd64 needs one unsigned factor. SDOT of arm64 takes
// two signed ones: there it is 0.
const int8Zero = 128

// int8Signs, by exclusive or, adds int8Zero to eight int8 at a time, and takes it off
// again.
const int8Signs = 0x0101010101010101 * int8Zero
