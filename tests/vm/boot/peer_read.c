/* peer_read DRIVE PEER (nvme0 nvme1): reads the first page of DRIVE twice, into this program's memory and into the
 * controller memory of PEER, through the kernel's peer-to-peer DMA, and compares. Only reads. A witness that shares
 * nothing with the program under test.
 * Status: 0 all words right, 1 words wrong though the read succeeded, 3 the kernel refused the read, 2 anything else. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define WORDS (PAGE / 8)
#define POISON 0x5a5a5a5a5a5a5a5aULL

static int fail(const char *what) {
    printf("%s: %s\n", what, strerror(errno));
    return 2;
}

int main(int count, char **args) {
    char path[256], address[64] = "";
    static uint64_t right[WORDS] __attribute__((aligned(PAGE)));
    if (count != 3) return 2;

    snprintf(path, sizeof path, "/sys/class/nvme/%s/address", args[2]);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%63s", address) != 1) return fail(path);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/p2pmem/allocate", address);
    int memory = open(path, O_RDWR);
    if (memory < 0) return fail(path);
    volatile uint64_t *peer = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (peer == MAP_FAILED) return fail("mmap");

    snprintf(path, sizeof path, "/dev/%sn1", args[1]);
    int drive = open(path, O_RDONLY | O_DIRECT);
    if (drive < 0 || pread(drive, right, PAGE, 0) != PAGE) return fail(path);
    for (int word = 0; word < WORDS; word++) peer[word] = POISON;
    if (pread(drive, (void *)peer, PAGE, 0) != PAGE) {
        printf("refused: %s\n", strerror(errno));
        return 3;
    }
    int wrong = 0, untouched = 0;
    for (int word = 0; word < WORDS; word++) {
        wrong += peer[word] != right[word];
        untouched += peer[word] == POISON;
    }
    printf("wrong %d untouched %d of %d\n", wrong, untouched, WORDS);
    return wrong != 0;
}
