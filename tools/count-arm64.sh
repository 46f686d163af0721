#!/bin/sh
# Counts the instructions that arm64 programs execute, with a plugin of qemu, to compare Verity with whisper.cpp without
# an arm64 machine.
#
#   tools/count-arm64.sh COMMAND ARG …       prints the count in 10⁹ after the program's own output
#
# CPU is the processor (cortex-a76: dotprod, no i8mm). Needs qemu-user, gcc, libc's headers (Debian: qemu-user gcc).
# The figures of docs/PERFORMANCE.md:
#
#   GOARCH=arm64 CGO_ENABLED=0 go build -o verity-arm64 ./cmd/verity
#   ffmpeg -i model/base/jfk.flac -t 3.5 jfk35.wav
#   tools/count-arm64.sh ./verity-arm64 transcribe --threads 1 --audio-context 256 --language en jfk35.wav
#   tools/count-arm64.sh ./verity-arm64 transcribe … --model DIR --precision int8 jfk35.wav
#   cmake -S whisper.cpp -B build -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DBUILD_SHARED_LIBS=OFF \
#     -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_EXE_LINKER_FLAGS=-static \
#     -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_CPU_ARM_ARCH=armv8.2-a+dotprod+fp16 && cmake --build build --target whisper-cli
#   tools/count-arm64.sh build/bin/whisper-cli -m ggml-base-q8_0.bin -t 1 -bs 1 -bo 1 -nf -np -l en -ac 256 jfk35.wav
set -eu
plugin=$(mktemp /tmp/count.XXXXXX.so)
trap 'rm -f "$plugin"' EXIT
gcc -O2 -shared -fPIC -x c -o "$plugin" - <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stddef.h>
// Of qemu-plugin.h, version 1 of the interface.
struct qemu_plugin_tb;
typedef uint64_t id;
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int, void *);
extern void qemu_plugin_register_vcpu_tb_trans_cb(id, void (*)(id, struct qemu_plugin_tb *));
extern void qemu_plugin_register_atexit_cb(id, void (*)(id, void *), void *);
int qemu_plugin_version = 1;

static struct { uint64_t n, pad[7]; } counts[1024]; // of each thread, a cache line
static void run(unsigned cpu, void *n) { counts[cpu % 1024].n += (size_t)n; }
static void translated(id self, struct qemu_plugin_tb *tb) {
	qemu_plugin_register_vcpu_tb_exec_cb(tb, run, 0, (void *)qemu_plugin_tb_n_insns(tb));
}
static void done(id self, void *x) {
	uint64_t n = 0;
	for (int i = 0; i < 1024; i++) n += counts[i].n;
	fprintf(stderr, "%.2f · 10⁹ instructions\n", n / 1e9);
}
int qemu_plugin_install(id self, const void *info, int argc, char **argv) {
	qemu_plugin_register_vcpu_tb_trans_cb(self, translated);
	qemu_plugin_register_atexit_cb(self, done, NULL);
	return 0;
}
C
qemu-aarch64 -cpu "${CPU:-cortex-a76}" -plugin "$plugin" "$@"
