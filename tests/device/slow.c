/*
 * A libcuda.so.1 that makes peer copies slower by a known share and changes nothing else: each peer copy of 1 MiB or
 * more is followed by one of SLOW_PERCENT of its bytes. Shows that a real slowdown of that size is found.
 *
 *   gcc -O2 -shared -fPIC -o slow/libcuda.so.1 tests/device/slow.c -ldl
 *   REAL_CUDA=/usr/lib/x86_64-linux-gnu/libcuda.so.1 SLOW_PERCENT=10 LD_LIBRARY_PATH=slow peerfix bench -o slow.json
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FORWARD(name) \
	__attribute__((used)) static void *real_##name; \
	__asm__(".globl " #name "\n.type " #name ",@function\n" #name ":\n\tjmp *real_" #name "(%rip)\n");

#define ALL(X) \
	X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGetCount) X(cuDeviceGet) \
	X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceTotalMem_v2) X(cuDeviceGetAttribute) X(cuDeviceGetPCIBusId) \
	X(cuDeviceCanAccessPeer) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2) X(cuCtxSetCurrent) \
	X(cuCtxSynchronize) X(cuCtxEnablePeerAccess) X(cuCtxDisablePeerAccess) X(cuMemGetInfo_v2) X(cuMemAlloc_v2) \
	X(cuMemFree_v2) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostGetDevicePointer_v2) X(cuMemcpyDtoDAsync_v2) \
	X(cuMemcpyDtoHAsync_v2) X(cuMemcpyHtoDAsync_v2) X(cuStreamCreate) X(cuStreamDestroy_v2) \
	X(cuStreamSynchronize) X(cuStreamWaitEvent) X(cuEventCreate) X(cuEventDestroy_v2) X(cuEventRecord) \
	X(cuEventSynchronize) X(cuEventElapsedTime) X(cuModuleLoadDataEx) X(cuModuleGetFunction) X(cuLaunchKernel)

ALL(FORWARD)

typedef int (*peer_copy)(uint64_t, void *, uint64_t, void *, size_t, void *);
static peer_copy real_copy;
static size_t percent;

__attribute__((constructor)) static void bind(void)
{
	const char *path = getenv("REAL_CUDA"), *text = getenv("SLOW_PERCENT");
	void *lib = dlopen(path ? path : "/usr/lib/x86_64-linux-gnu/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) { fprintf(stderr, "slow: %s\n", dlerror()); _Exit(70); }
	percent = text ? (size_t)atoi(text) : 10;
#define BIND(name) real_##name = dlsym(lib, #name);
	ALL(BIND)
	*(void **)&real_copy = dlsym(lib, "cuMemcpyPeerAsync");
}

int cuMemcpyPeerAsync(uint64_t to, void *to_ctx, uint64_t from, void *from_ctx, size_t bytes, void *stream)
{
	int code = real_copy(to, to_ctx, from, from_ctx, bytes, stream);
	size_t more = bytes / 100 * percent / 4096 * 4096;
	if (code == 0 && bytes >= (1 << 20) && more > 0)
		code = real_copy(to, to_ctx, from, from_ctx, more, stream);
	return code;
}
