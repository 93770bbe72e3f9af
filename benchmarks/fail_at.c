/* A library to be preloaded: the k-th change of a file in a folder fails, or ends the process.
 *
 * Counted are write, pwrite, ftruncate, fsync, fdatasync, rename, link and unlink, of files whose
 * path begins with the value of FAULT_FOLDER. The change number FAULT_AT, from 1,
 *
 *   fail   returns -1 with errno EIO, as do all later ones until the process ends,
 *   once   returns -1 with errno ENOSPC, later ones succeed,
 *   kill   ends the process by SIGKILL before the change,
 *   half   writes the first half of the bytes, and then ends the process,
 *
 * as FAULT_HOW says. The number of changes is written to the file FAULT_COUNT at the end of a
 * process that lives. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long changes;

static int counts_path(const char *path)
{
    const char *folder = getenv("FAULT_FOLDER");
    return folder && strncmp(path, folder, strlen(folder)) == 0;
}

static int counts_file(int file)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = '\0';
    return counts_path(path);
}

/* 0: go on; 1: fail; 2: write half and end. */
static int verdict(void)
{
    const char *at = getenv("FAULT_AT"), *how = getenv("FAULT_HOW");
    long number = atomic_fetch_add(&changes, 1) + 1;
    if (!at || !how || number < atol(at))
        return 0;
    if (number > atol(at)) {
        errno = EIO;
        return strcmp(how, "fail") == 0;
    }
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "half") == 0)
        return 2;
    errno = strcmp(how, "once") == 0 ? ENOSPC : EIO;
    return 1;
}

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

ssize_t write(int file, const void *data, size_t size)
{
    ssize_t (*real)(int, const void *, size_t);
    *(void **)&real = next("write");
    switch (counts_file(file) ? verdict() : 0) {
    case 1:
        return -1;
    case 2:
        if (real(file, data, size / 2) >= 0)
            kill(getpid(), SIGKILL);
        return -1;
    default:
        return real(file, data, size);
    }
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t place)
{
    ssize_t (*real)(int, const void *, size_t, off64_t);
    *(void **)&real = next("pwrite64");
    switch (counts_file(file) ? verdict() : 0) {
    case 1:
        return -1;
    case 2:
        if (real(file, data, size / 2, place) >= 0)
            kill(getpid(), SIGKILL);
        return -1;
    default:
        return real(file, data, size, place);
    }
}

ssize_t pwrite(int file, const void *data, size_t size, off_t place)
{
    return pwrite64(file, data, size, place);
}

/* A change without bytes: half of it is none. */
static int refused(int counted)
{
    int found = counted ? verdict() : 0;
    if (found == 2)
        kill(getpid(), SIGKILL);
    return found;
}

int fsync(int file)
{
    int (*real)(int);
    *(void **)&real = next("fsync");
    return refused(counts_file(file)) ? -1 : real(file);
}

int fdatasync(int file)
{
    int (*real)(int);
    *(void **)&real = next("fdatasync");
    return refused(counts_file(file)) ? -1 : real(file);
}

int ftruncate64(int file, off64_t size)
{
    int (*real)(int, off64_t);
    *(void **)&real = next("ftruncate64");
    return refused(counts_file(file)) ? -1 : real(file, size);
}

int ftruncate(int file, off_t size)
{
    return ftruncate64(file, size);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *);
    *(void **)&real = next("rename");
    return refused(counts_path(from)) ? -1 : real(from, to);
}

int link(const char *from, const char *to)
{
    int (*real)(const char *, const char *);
    *(void **)&real = next("link");
    return refused(counts_path(from)) ? -1 : real(from, to);
}

int unlink(const char *path)
{
    int (*real)(const char *);
    *(void **)&real = next("unlink");
    return refused(counts_path(path)) ? -1 : real(path);
}

__attribute__((destructor)) static void count(void)
{
    const char *path = getenv("FAULT_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", (long)atomic_load(&changes));
        fclose(file);
    }
}
