/*
 * The reference that `peerfix bench` is compared with: the plainest use of the driver API that times the same things,
 * without a gate, without verification, without interleaving. Needs no toolkit.
 *
 *   gcc -O2 -o reference tests/device/reference.c -ldl
 *   ./reference
 *
 * Prints one figure a line: name, value, unit. GB/s is 10^9.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void *handle;
#define FN(ret, name, ...) static ret (*name)(__VA_ARGS__)
FN(int, cuInit, unsigned);
FN(int, cuDeviceGet, int *, int);
FN(int, cuDeviceGetCount, int *);
FN(int, cuDeviceGetAttribute, int *, int, int);
FN(int, cuDevicePrimaryCtxRetain, handle *, int);
FN(int, cuCtxSetCurrent, handle);
FN(int, cuCtxEnablePeerAccess, handle, unsigned);
FN(int, cuCtxDisablePeerAccess, handle);
FN(int, cuMemAlloc_v2, uint64_t *, size_t);
FN(int, cuMemHostAlloc, void **, size_t, unsigned);
FN(int, cuMemcpyPeerAsync, uint64_t, handle, uint64_t, handle, size_t, handle);
FN(int, cuMemcpyDtoHAsync_v2, void *, uint64_t, size_t, handle);
FN(int, cuMemcpyHtoDAsync_v2, uint64_t, const void *, size_t, handle);
FN(int, cuStreamCreate, handle *, unsigned);
FN(int, cuStreamSynchronize, handle);
FN(int, cuStreamWaitEvent, handle, handle, unsigned);
FN(int, cuEventCreate, handle *, unsigned);
FN(int, cuEventRecord, handle, handle);
FN(int, cuEventSynchronize, handle);
FN(int, cuEventElapsedTime, float *, handle, handle);
FN(int, cuModuleLoadDataEx, handle *, const void *, unsigned, int *, void **);
FN(int, cuModuleGetFunction, handle *, handle, const char *);
FN(int, cuLaunchKernel, handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);

#define CHECK(call) do { int r_ = (call); if (r_) { fprintf(stderr, "%s: %d\n", #call, r_); exit(1); } } while (0)
#define BYTES ((size_t)256 << 20)
#define SAMPLES 9

static handle ctx[2], stream[2], start[2], stop[2], mark[2];
static uint64_t source[2], target[2], chain[2], out[2];
static void *host;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, ascending);
	return values[count / 2];
}

static void bind(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib) { fprintf(stderr, "%s\n", dlerror()); exit(1); }
#define GET(name) do { *(void **)&name = dlsym(lib, #name); if (!name) { fprintf(stderr, "no %s\n", #name); exit(1); } } while (0)
	GET(cuInit); GET(cuDeviceGet); GET(cuDeviceGetCount); GET(cuDeviceGetAttribute); GET(cuDevicePrimaryCtxRetain);
	GET(cuCtxSetCurrent); GET(cuCtxEnablePeerAccess); GET(cuCtxDisablePeerAccess); GET(cuMemAlloc_v2); GET(cuMemHostAlloc);
	GET(cuMemcpyPeerAsync); GET(cuMemcpyDtoHAsync_v2); GET(cuMemcpyHtoDAsync_v2); GET(cuStreamCreate); GET(cuStreamSynchronize);
	GET(cuStreamWaitEvent); GET(cuEventCreate); GET(cuEventRecord); GET(cuEventSynchronize); GET(cuEventElapsedTime);
	GET(cuModuleLoadDataEx); GET(cuModuleGetFunction); GET(cuLaunchKernel);
}

static void copy(int from, int to, int engine)
{
	CHECK(cuMemcpyPeerAsync(target[to], ctx[to], source[from], ctx[from], BYTES, stream[engine]));
}

/* Copies in one direction, moved by the engine of the GPU `engine`. */
static double peer(int from, int to, int engine)
{
	double values[SAMPLES];
	for (int i = 0; i < 4; i++) copy(from, to, engine);
	CHECK(cuStreamSynchronize(stream[engine]));
	for (int s = 0; s < SAMPLES; s++) {
		CHECK(cuCtxSetCurrent(ctx[engine]));
		CHECK(cuEventRecord(start[engine], stream[engine]));
		for (int i = 0; i < 16; i++) copy(from, to, engine);
		CHECK(cuEventRecord(stop[engine], stream[engine]));
		CHECK(cuEventSynchronize(stop[engine]));
		float ms;
		CHECK(cuEventElapsedTime(&ms, start[engine], stop[engine]));
		values[s] = 16.0 * BYTES / (ms / 1e3) / 1e9;
	}
	return median(values, SAMPLES);
}

/* Both directions at once, each by the source's engine (write) or the destination's (read). */
static double both(int write)
{
	double values[SAMPLES];
	for (int s = -1; s < SAMPLES; s++) {
		int a = write ? 0 : 1, b = write ? 1 : 0;
		CHECK(cuCtxSetCurrent(ctx[a]));
		CHECK(cuEventRecord(start[a], stream[a]));
		CHECK(cuStreamWaitEvent(stream[b], start[a], 0));
		for (int i = 0; i < 16; i++) { copy(0, 1, a); copy(1, 0, b); }
		CHECK(cuCtxSetCurrent(ctx[b]));
		CHECK(cuEventRecord(mark[b], stream[b]));
		CHECK(cuCtxSetCurrent(ctx[a]));
		CHECK(cuStreamWaitEvent(stream[a], mark[b], 0));
		CHECK(cuEventRecord(stop[a], stream[a]));
		CHECK(cuEventSynchronize(stop[a]));
		float ms;
		CHECK(cuEventElapsedTime(&ms, start[a], stop[a]));
		if (s >= 0) values[s] = 32.0 * BYTES / (ms / 1e3) / 1e9;
	}
	return median(values, SAMPLES);
}

static double host_copy(int gpu, int to_host)
{
	double values[SAMPLES];
	for (int s = -1; s < SAMPLES; s++) {
		CHECK(cuCtxSetCurrent(ctx[gpu]));
		CHECK(cuEventRecord(start[gpu], stream[gpu]));
		for (int i = 0; i < 4; i++) {
			if (to_host) CHECK(cuMemcpyDtoHAsync_v2(host, source[gpu], BYTES, stream[gpu]));
			else CHECK(cuMemcpyHtoDAsync_v2(target[gpu], host, BYTES, stream[gpu]));
		}
		CHECK(cuEventRecord(stop[gpu], stream[gpu]));
		CHECK(cuEventSynchronize(stop[gpu]));
		float ms;
		CHECK(cuEventElapsedTime(&ms, start[gpu], stop[gpu]));
		if (s >= 0) values[s] = 4.0 * BYTES / (ms / 1e3) / 1e9;
	}
	return median(values, SAMPLES);
}

static const char chase_ptx[] =
	".version 6.4\n.target sm_52\n.address_size 64\n"
	".visible .entry chase(.param .u64 p, .param .u32 n, .param .u64 o)\n{\n"
	".reg .pred %q; .reg .b32 %n; .reg .b64 %p, %o;\n"
	"ld.param.u64 %p, [p]; ld.param.u32 %n, [n]; ld.param.u64 %o, [o];\n"
	"L: ld.global.u64 %p, [%p]; sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra L;\n"
	"st.global.u64 [%o], %p; ret;\n}\n";

/* Dependent loads by `reader` in the memory of `owner`: 2 MiB, one node in `stride` bytes, in order. */
static double chase(int reader, int owner, size_t stride)
{
	enum { HOPS = 20000 };
	size_t size = (size_t)2 << 20;
	static uint64_t nodes[(2 << 20) / 8];
	for (size_t at = 0; at < size; at += stride) nodes[at / 8] = chain[owner] + (at + stride) % size;
	CHECK(cuCtxSetCurrent(ctx[owner]));
	CHECK(cuMemcpyHtoDAsync_v2(chain[owner], nodes, size, stream[owner]));
	CHECK(cuStreamSynchronize(stream[owner]));
	CHECK(cuCtxSetCurrent(ctx[reader]));
	handle module, function;
	CHECK(cuModuleLoadDataEx(&module, chase_ptx, 0, NULL, NULL));
	CHECK(cuModuleGetFunction(&function, module, "chase"));
	double values[SAMPLES];
	for (int s = -1; s < SAMPLES; s++) {
		uint64_t p = chain[owner];
		unsigned n = HOPS;
		void *args[] = { &p, &n, &out[reader] };
		CHECK(cuEventRecord(start[reader], stream[reader]));
		CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream[reader], args, NULL));
		CHECK(cuEventRecord(stop[reader], stream[reader]));
		CHECK(cuEventSynchronize(stop[reader]));
		float ms;
		CHECK(cuEventElapsedTime(&ms, start[reader], stop[reader]));
		if (s >= 0) values[s] = ms * 1e6 / HOPS;
	}
	return median(values, SAMPLES);
}

/* The plainest SM copy: each thread moves 16 bytes and strides over the grid, several rounds in one launch. */
static const char copy_ptx[] =
	".version 6.4\n.target sm_52\n.address_size 64\n"
	".visible .entry copy(.param .u64 d, .param .u64 s, .param .u64 n, .param .u32 r)\n{\n"
	".reg .pred %q; .reg .b32 %a, %b, %c, %e, %r, %v0, %v1, %v2, %v3; .reg .b64 %d, %s, %n, %i, %i0, %t, %x, %y;\n"
	"ld.param.u64 %d, [d]; ld.param.u64 %s, [s]; ld.param.u64 %n, [n]; ld.param.u32 %r, [r];\n"
	"mov.u32 %a, %ctaid.x; mov.u32 %b, %ntid.x; mov.u32 %c, %tid.x; mov.u32 %e, %nctaid.x;\n"
	"mul.wide.u32 %i0, %a, %b; cvt.u64.u32 %x, %c; add.u64 %i0, %i0, %x; mul.wide.u32 %t, %e, %b;\n"
	"R: mov.u64 %i, %i0;\n"
	"L: setp.ge.u64 %q, %i, %n; @%q bra E;\n"
	"shl.b64 %x, %i, 4; add.u64 %y, %d, %x; add.u64 %x, %s, %x;\n"
	"ld.global.LOAD.v4.u32 {%v0, %v1, %v2, %v3}, [%x]; st.global.v4.u32 [%y], {%v0, %v1, %v2, %v3};\n"
	"add.u64 %i, %i, %t; bra L;\n"
	"E: sub.u32 %r, %r, 1; setp.ne.u32 %q, %r, 0; @%q bra R; ret;\n}\n";

/*
 * By the SMs of the reader (write 0) or the writer (write 1). Loads that the L1 may keep (ca) can beat the link: part of
 * what a round reads is still there from the round before. Loads that pass it (cg) cannot.
 */
static double sm(int write, const char *load)
{
	char text[sizeof copy_ptx];
	int gpu = write ? 0 : 1, sms;
	memcpy(text, copy_ptx, sizeof text);
	char *at = strstr(text, "LOAD");
	memcpy(at, load, 2);
	memmove(at + 2, at + 4, strlen(at + 4) + 1);
	CHECK(cuDeviceGetAttribute(&sms, 16, gpu));
	CHECK(cuCtxSetCurrent(ctx[gpu]));
	handle module, function;
	CHECK(cuModuleLoadDataEx(&module, text, 0, NULL, NULL));
	CHECK(cuModuleGetFunction(&function, module, "copy"));
	double values[SAMPLES];
	for (int s = -1; s < SAMPLES; s++) {
		uint64_t vectors = BYTES / 16;
		unsigned rounds = 16;
		void *args[] = { &target[1], &source[0], &vectors, &rounds };
		CHECK(cuEventRecord(start[gpu], stream[gpu]));
		CHECK(cuLaunchKernel(function, 4 * (unsigned)sms, 1, 1, 512, 1, 1, 0, stream[gpu], args, NULL));
		CHECK(cuEventRecord(stop[gpu], stream[gpu]));
		CHECK(cuEventSynchronize(stop[gpu]));
		float ms;
		CHECK(cuEventElapsedTime(&ms, start[gpu], stop[gpu]));
		if (s >= 0) values[s] = rounds * (double)BYTES / (ms / 1e3) / 1e9;
	}
	return median(values, SAMPLES);
}

int main(void)
{
	double began = now();
	bind();
	CHECK(cuInit(0));
	printf("cuInit %.3f s\n", now() - began);
	int count, device;
	CHECK(cuDeviceGetCount(&count));
	if (count < 2) { fprintf(stderr, "needs two GPUs\n"); return 1; }
	for (int i = 0; i < 2; i++) {
		double before = now();
		CHECK(cuDeviceGet(&device, i));
		CHECK(cuDevicePrimaryCtxRetain(&ctx[i], device));
		CHECK(cuCtxSetCurrent(ctx[i]));
		printf("context-%d %.3f s\n", i, now() - before);
		CHECK(cuMemAlloc_v2(&source[i], BYTES));
		CHECK(cuMemAlloc_v2(&target[i], BYTES));
		CHECK(cuMemAlloc_v2(&chain[i], (size_t)2 << 20));
		CHECK(cuMemAlloc_v2(&out[i], 4096));
		CHECK(cuStreamCreate(&stream[i], 1));
		CHECK(cuEventCreate(&start[i], 0));
		CHECK(cuEventCreate(&stop[i], 0));
		CHECK(cuEventCreate(&mark[i], 0));
	}
	double before = now();
	CHECK(cuMemHostAlloc(&host, BYTES, 1));
	printf("pinned-256MiB %.3f s\n", now() - before);
	printf("driver-staged-0-1 %.2f GB/s\n", peer(0, 1, 0));
	for (int i = 0; i < 2; i++) {
		before = now();
		CHECK(cuCtxSetCurrent(ctx[i]));
		CHECK(cuCtxEnablePeerAccess(ctx[1 - i], 0));
		printf("enable-peer-%d %.4f s\n", i, now() - before);
	}
	printf("ce-write-0-1 %.2f GB/s\n", peer(0, 1, 0));
	printf("ce-write-1-0 %.2f GB/s\n", peer(1, 0, 1));
	printf("ce-read-0-1 %.2f GB/s\n", peer(0, 1, 1));
	printf("ce-read-1-0 %.2f GB/s\n", peer(1, 0, 0));
	printf("bidirectional-write %.2f GB/s\n", both(1));
	printf("bidirectional-read %.2f GB/s\n", both(0));
	for (int i = 0; i < 2; i++) {
		printf("device-to-host-%d %.2f GB/s\n", i, host_copy(i, 1));
		printf("host-to-device-%d %.2f GB/s\n", i, host_copy(i, 0));
	}
	printf("chase-1-in-0 %.1f ns\n", chase(1, 0, 256));
	printf("chase-0-in-1 %.1f ns\n", chase(0, 1, 256));
	printf("chase-1-in-0-stride-64 %.1f ns\n", chase(1, 0, 64));
	printf("sm-read-0-1 %.2f GB/s\n", sm(0, "cg"));
	printf("sm-read-0-1-through-L1 %.2f GB/s\n", sm(0, "ca"));
	printf("sm-write-0-1 %.2f GB/s\n", sm(1, "cg"));
	printf("wall %.3f s\n", now() - began);
	return 0;
}
