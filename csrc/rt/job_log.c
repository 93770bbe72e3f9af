/* Log of jobs: a file in shared memory with one ring of events per thread, without locks.
 *
 * The layout (little-endian, gpusched/io/run_log.py reads it): header_t, the names of the tasks,
 * one ring_t per thread, and the rings. A ring's `next` counts the events ever written to it, so
 * that a log is readable at any time, also after its writers were killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rt/rt.h"
#include "rt/thread_state.h"

#define VERSION 1
#define MOST_TASKS 4096
#define MOST_THREADS 1024
#define MOST_EVENTS (1 << 24)
#define SECOND_NS 1000000000

static const char magic[8] = {'G', 'S', 'R', 'T', 'L', 'O', 'G', '1'};

typedef struct {
    char magic[8];
    uint32_t version, tasks, threads, events;
    _Atomic uint32_t claimed; /* rings, at times more than there are */
    uint32_t unused;
    _Atomic uint64_t lost; /* events of threads without a ring */
    int64_t opened, wall;  /* the same instant of CLOCK_MONOTONIC and CLOCK_REALTIME */
    char about[64];
    int64_t reserved;
} header_t;

typedef struct {
    _Atomic uint64_t next;
    _Atomic uint64_t owner; /* the process, and its thread times 2**32; 0: free */
    char reserved[48];
} ring_t;

_Static_assert(sizeof(header_t) == 128 && sizeof(ring_t) == 64 && sizeof(gs_rt_event_t) == 32,
               "layout of the file");

struct gs_rt_log {
    header_t *header;
    ring_t *rings;
    gs_rt_event_t *events;
    size_t bytes;
    int64_t opened; /* of this object */
};

static size_t size_of(const header_t *header)
{
    return sizeof *header + (size_t)header->tasks * GS_RT_NAME_BYTES +
           (size_t)header->threads * (sizeof(ring_t) + header->events * sizeof(gs_rt_event_t));
}

/* Maps a file that has been opened. */
static int map(int file, size_t bytes, gs_rt_log_t **log)
{
    gs_rt_log_t *self = gs_rt_allocate(1, sizeof *self, "log");
    if (self == NULL) {
        return GS_RT_ERR_SYSTEM;
    }
    int flags = MAP_SHARED;
#ifdef MAP_POPULATE
    flags |= MAP_POPULATE; /* no page faults later */
#endif
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (start == MAP_FAILED) {
        gs_rt_free(self);
        return gs_rt_fail_system("log", errno);
    }
    self->header = start;
    self->bytes = bytes;
    self->opened = gs_rt_now();
    *log = self;
    return GS_RT_OK;
}

static void find_parts(gs_rt_log_t *self)
{
    char *behind = (char *)(self->header + 1);
    self->rings = (ring_t *)(void *)(behind + (size_t)self->header->tasks * GS_RT_NAME_BYTES);
    self->events = (gs_rt_event_t *)(void *)(self->rings + self->header->threads);
}

static int check(const gs_rt_log_options_t *options, header_t *header)
{
    int threads = options->threads == 0 ? 16 : options->threads;
    int events = options->events == 0 ? 65536 : options->events;
    if (options->tasks < 0 || options->tasks > MOST_TASKS ||
        (options->tasks > 0 && options->names == NULL)) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "tasks", options->tasks,
                                 "0 to 4096 tasks with their names");
    }
    if (threads < 1 || threads > MOST_THREADS) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "threads", threads, "1 to 1024");
    }
    if (events < 2 || events > MOST_EVENTS || (events & (events - 1)) != 0) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "events", events, "a power of 2 up to 2**24");
    }
    for (int i = 0; i < options->tasks; i++) {
        const char *name = options->names[i];
        if (name == NULL || *name == 0 || strlen(name) >= GS_RT_NAME_BYTES) {
            return gs_rt_fail(GS_RT_ERR_VALUE, "names", name, "names of 1 to 63 bytes");
        }
    }
    if (options->about != NULL && strlen(options->about) >= sizeof header->about) {
        return gs_rt_fail(GS_RT_ERR_VALUE, "about", options->about, "at most 63 bytes");
    }
    header->tasks = (uint32_t)options->tasks;
    header->threads = (uint32_t)threads;
    header->events = (uint32_t)events;
    return GS_RT_OK;
}

int gs_rt_log_create(const char *path, const gs_rt_log_options_t *options, gs_rt_log_t **log)
{
    *log = NULL;
    header_t header = {.version = VERSION};
    int status = check(options, &header);
    if (status != GS_RT_OK) {
        return status;
    }
    /* Those who still have an earlier log keep it. */
    if (unlink(path) != 0 && errno != ENOENT) {
        return gs_rt_fail_system("log", errno);
    }
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) {
        return gs_rt_fail_system("log", errno);
    }
    size_t bytes = size_of(&header);
#ifdef __APPLE__
    int error = ftruncate(file, (off_t)bytes) == 0 ? 0 : errno;
#else
    int error = posix_fallocate(file, 0, (off_t)bytes); /* a full disk is noticed now */
#endif
    if (error != 0) {
        close(file);
        unlink(path);
        return gs_rt_fail_system("log", error);
    }
    gs_rt_log_t *self = NULL;
    status = map(file, bytes, &self);
    close(file);
    if (status != GS_RT_OK) {
        unlink(path);
        return status;
    }
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    header.wall = (int64_t)wall.tv_sec * SECOND_NS + wall.tv_nsec;
    header.opened = gs_rt_now();
    if (options->about != NULL) {
        memcpy(header.about, options->about, strlen(options->about));
    }
    *self->header = header;
    char *name = (char *)(self->header + 1);
    for (int i = 0; i < options->tasks; i++, name += GS_RT_NAME_BYTES) {
        memcpy(name, options->names[i], strlen(options->names[i]));
    }
    find_parts(self);
    atomic_thread_fence(memory_order_release);
    memcpy(self->header->magic, magic, sizeof magic); /* complete: others may join */
    *log = self;
    return GS_RT_OK;
}

int gs_rt_log_join(const char *path, gs_rt_log_t **log)
{
    *log = NULL;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return gs_rt_fail_system("log", errno);
    }
    struct stat facts;
    gs_rt_log_t *self = NULL;
    int status = GS_RT_OK;
    if (fstat(file, &facts) != 0) {
        status = gs_rt_fail_system("log", errno);
    } else if (!S_ISREG(facts.st_mode) || facts.st_size < (off_t)sizeof(header_t)) {
        status = gs_rt_fail(GS_RT_ERR_VALUE, "log", path, "a log of this version");
    } else {
        status = map(file, (size_t)facts.st_size, &self);
    }
    close(file);
    if (status != GS_RT_OK) {
        return status;
    }
    const header_t *header = self->header;
    if (memcmp(header->magic, magic, sizeof magic) != 0 || header->version != VERSION ||
        header->tasks > MOST_TASKS || header->threads > MOST_THREADS || header->events < 2 ||
        header->events > MOST_EVENTS || (header->events & (header->events - 1)) != 0 ||
        size_of(header) != self->bytes) {
        gs_rt_log_close(self);
        return gs_rt_fail(GS_RT_ERR_VALUE, "log", path, "a log of this version");
    }
    find_parts(self);
    *log = self;
    return GS_RT_OK;
}

static uint32_t thread_number(void)
{
#ifdef __linux__
    return (uint32_t)syscall(SYS_gettid);
#else
    return 0;
#endif
}

/* The ring of the calling thread, or NULL if none was left. */
static ring_t *own_ring(gs_rt_log_t *self)
{
    gs_rt_thread_state_t *state = gs_rt_thread_state();
    int32_t process = (int32_t)getpid(); /* another one behind a fork */
    if (state->log != self || state->opened != self->opened || state->process != process) {
        state->log = self;
        state->opened = self->opened;
        state->process = process;
        state->ring = -1;
        uint64_t owner = (uint64_t)thread_number() << 32 | (uint32_t)process;
        /* A thread that writes to several logs in turn finds its ring again. */
        for (uint32_t i = 0; owner >> 32 != 0 && i < self->header->threads; i++) {
            if (atomic_load(&self->rings[i].owner) == owner) {
                state->ring = (int32_t)i;
            }
        }
        if (state->ring < 0) {
            uint32_t claimed = atomic_fetch_add(&self->header->claimed, 1);
            if (claimed < self->header->threads) {
                atomic_store(&self->rings[claimed].owner, owner);
                state->ring = (int32_t)claimed;
            } else {
                atomic_fetch_sub(&self->header->claimed, 1);
            }
        }
    }
    return state->ring < 0 ? NULL : self->rings + state->ring;
}

void gs_rt_log_event_at(gs_rt_log_t *self, int64_t t, int kind, int task, int64_t job,
                        int64_t value)
{
    if (self == NULL) {
        return;
    }
    ring_t *ring = own_ring(self);
    if (ring == NULL) {
        atomic_fetch_add(&self->header->lost, 1);
        return;
    }
    uint64_t next = atomic_load_explicit(&ring->next, memory_order_relaxed);
    size_t index = (size_t)(ring - self->rings), events = self->header->events;
    self->events[index * events + (size_t)(next & (events - 1))] = (gs_rt_event_t){
        .t = t,
        .job = job,
        .value = value,
        .kind = (uint16_t)kind,
        .task = (uint16_t)task,
        .thread = (uint32_t)index,
    };
    atomic_store_explicit(&ring->next, next + 1, memory_order_release);
}

void gs_rt_log_event(gs_rt_log_t *self, int kind, int task, int64_t job, int64_t value)
{
    if (self != NULL) {
        gs_rt_log_event_at(self, gs_rt_now(), kind, task, job, value);
    }
}

void gs_rt_log_close(gs_rt_log_t *self)
{
    if (self != NULL) {
        munmap(self->header, self->bytes);
        gs_rt_free(self);
    }
}
