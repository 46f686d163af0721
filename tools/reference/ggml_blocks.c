// Writes what ggml makes of blocks of quantised weights, as JSON: for each type the
// blocks' bytes and the bits of the 32 floats of each, in hexadecimal.
//
//   cc -O2 -ffp-contract=off -I WHISPER.CPP/ggml/include -I WHISPER.CPP/ggml/src ggml_blocks.c \
//      BUILD/ggml/src/libggml-base.a -lstdc++ -lm -lpthread -o ggml_blocks
//   ./ggml_blocks > ../../internal/ggml/testdata/blocks.json
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "ggml.h"
#include "ggml-quants.h"

static uint32_t state = 12345;

static uint8_t next(void) {
    state = state * 1664525u + 1013904223u;
    return state >> 24;
}

int main(void) {
    struct {
        const char *name;
        enum ggml_type type;
        int halves; // binary16 numbers that a block begins with
    } types[] = {
        {"q4_0", GGML_TYPE_Q4_0, 1}, {"q4_1", GGML_TYPE_Q4_1, 2}, {"q5_0", GGML_TYPE_Q5_0, 1},
        {"q5_1", GGML_TYPE_Q5_1, 2}, {"q8_0", GGML_TYPE_Q8_0, 1},
    };
    printf("{\n");
    for (int t = 0; t < 5; t++) {
        size_t size = ggml_type_size(types[t].type);
        printf(" \"%s\": [\n", types[t].name);
        for (int n = 0; n < 8; n++) {
            uint8_t b[64];
            float y[32];
            for (size_t i = 0; i < size; i++) b[i] = next();
            for (int h = 0; h < types[t].halves; h++) b[2 * h + 1] &= 0xb7; // neither huge, infinite nor no number
            ggml_get_type_traits(types[t].type)->to_float(b, y, 32);
            printf("  {\"block\": \"");
            for (size_t i = 0; i < size; i++) printf("%02x", b[i]);
            printf("\", \"bits\": \"");
            for (int i = 0; i < 32; i++) {
                uint32_t u;
                memcpy(&u, &y[i], 4);
                printf("%08x", u);
            }
            printf("\"}%s\n", n < 7 ? "," : "");
        }
        printf(" ]%s\n", t < 4 ? "," : "");
    }
    printf("}\n");
}
