/* A library to be preloaded: chosen allocations of chosen shared objects fail.
 *
 * fail_malloc_set(objects, at, many) counts from then on the calls of malloc, calloc and realloc
 * that code of these objects makes (their file names contain one of the words in `objects`, which
 * are separated by spaces), and lets calls at, at + 1, ..., at + many - 1, counted from 1, return
 * NULL. With many = 0 it only counts. fail_malloc_stop() ends this and returns the number of calls.
 * What other code allocates, such as the C library itself, is not touched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

enum { RANGES = 32 };
static struct {
    uintptr_t begin, end;
} range[RANGES];
static int ranges;
static bool armed;
static long calls, first, last;

static bool fails(const void *caller)
{
    if (!armed) {
        return false;
    }
    for (int i = 0; i < ranges; i++) {
        if ((uintptr_t)caller >= range[i].begin && (uintptr_t)caller < range[i].end) {
            calls++;
            return first <= calls && calls <= last;
        }
    }
    return false;
}

static void *refused(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? refused() : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? refused() : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return fails(__builtin_return_address(0)) ? refused() : __libc_realloc(block, size);
}

/* Notes where the code of an object is whose name has one of the words. */
static int look(struct dl_phdr_info *info, size_t size, void *objects)
{
    (void)size;
    char words[256];
    strncpy(words, objects, sizeof words - 1);
    words[sizeof words - 1] = '\0';
    char *rest = words, *word;
    bool named = false;
    while ((word = strsep(&rest, " ")) != NULL) {
        named |= word[0] != '\0' && strstr(info->dlpi_name, word) != NULL;
    }
    for (int i = 0; named && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0 && ranges < RANGES) {
            range[ranges].begin = info->dlpi_addr + part->p_vaddr;
            range[ranges].end = range[ranges].begin + part->p_memsz;
            ranges++;
        }
    }
    return 0;
}

int fail_malloc_set(const char *objects, long at, long many)
{
    static char known[256];
    if (strcmp(known, objects) != 0) {
        ranges = 0;
        dl_iterate_phdr(look, (void *)(uintptr_t)objects);
        strncpy(known, objects, sizeof known - 1);
    }
    calls = 0;
    first = at;
    last = at + many - 1;
    armed = true;
    return ranges;
}

long fail_malloc_stop(void)
{
    armed = false;
    return calls;
}
