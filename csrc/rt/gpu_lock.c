/* Lock on the GPU in shared memory, in MPCP's order or FMLP+'s, that outlives its holders.
 *
 * Each slot belongs to a thread. `owner` says which slot holds the lock, and one store of it hands
 * the lock over; the wake-up behind it only saves the next holder the wait until its next look. All
 * other members are read and written under a robust mutex, in an order that leaves a valid state
 * after every store:
 *
 *   request    ticket, waits = 1; where nobody holds the lock, owner = the next one
 *   release    waits = 0, owner = the next one
 *   recovery   waits = 0 of the dead holder, owner = the next one, the dead holder's slot is free
 *
 * A process may therefore be killed anywhere. If it held the lock, or was given it, the others find
 * that its process has ended. They look at its pidfd: it tells of the end only when the files of
 * the process, and with them its GPU context, are closed, which a robust mutex alone does not
 * await.
 */
#define _GNU_SOURCE
#include "rt/rt.h"
#include "rt/thread_state.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/wait_word.h"

#define MAGIC 0x67735254u
#define VERSION 2
#define CHECK_NS 1000000
#define NAP_NS 20000000 /* a waiter looks so often whether it is to stop */

/* Between two stores; a test lets processes die here. */
#ifndef GS_RT_GPU_LOCK_STORED
#define GS_RT_GPU_LOCK_STORED(place) ((void)0)
#endif

typedef struct {
    int32_t process; /* 0: free */
    int32_t urgency;
    int64_t born; /* start of the process, since numbers of processes are used again */
    uint64_t ticket;
    int64_t granted; /* instant at which the lock was last handed to it */
    int32_t waits;   /* has asked, and not given back since */
    int32_t told;    /* a holder has died before it got the lock */
    gs_rt_wait_word_t wake;
} slot_t;

typedef struct {
    _Atomic uint32_t magic;
    uint32_t version, order;
    _Atomic int32_t owner; /* a slot, or -1 */
    uint64_t tickets;
    uint64_t
        space; /* PID namespace of the processes, 0 if unknown: numbers mean nothing in others */
    pthread_mutex_t guard;
    slot_t slots[GS_RT_LOCK_SLOTS];
} shared_t;

struct gs_rt_lock {
    shared_t *shared;
    int64_t check;
    gs_rt_log_t *log;
    int ceiling[GS_RT_LOCK_SLOTS], before[GS_RT_LOCK_SLOTS]; /* priorities of threads */
};

/* The start of a process in clock ticks, field 22 of its line in /proc; 0 if it cannot be seen, -1
 * without such a process. */
static int64_t start_of(int32_t process)
{
    char path[48] = "/proc/", line[1024];
    strcpy(gs_rt_number_text(path + strlen(path), process), "/stat");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return errno == ENOENT ? -1 : 0;
    }
    ssize_t size = read(file, line, sizeof line - 1);
    bool gone = size < 0 && errno == ESRCH;
    close(file);
    if (size <= 0) {
        return gone ? -1 : 0;
    }
    line[size] = 0;
    const char *at = strrchr(line, ')'); /* the name of the program may have spaces */
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    return at == NULL ? 0 : strtoll(at, NULL, 10);
}

/* Whether a process has ended and its files are closed. What cannot be seen has not ended: better
 * that others wait than that two hold the lock. */
static bool has_ended(int32_t process, int64_t born)
{
    if (process == 0) {
        return true;
    }
    int file = (int)syscall(SYS_pidfd_open, process, 0);
    if (file < 0 && errno == ESRCH) {
        return true;
    }
    struct pollfd ended = {.fd = file, .events = POLLIN};
    bool result = file >= 0 && poll(&ended, 1, 0) == 1;
    int64_t start = result ? 0 : start_of(process);
    if (file >= 0) {
        close(file);
    }
    return result || (start != 0 && born > 0 && start != born);
}

static int enter(shared_t *s)
{
    int error = pthread_mutex_lock(&s->guard);
    if (error == EOWNERDEAD) { /* the state is valid after every store */
        error = pthread_mutex_consistent(&s->guard);
    }
    return error == 0 ? GS_RT_OK : gs_rt_fail_system("guard of the lock", error);
}

static void leave(shared_t *s)
{
    pthread_mutex_unlock(&s->guard);
}

static bool is_before(const shared_t *s, const slot_t *a, const slot_t *b)
{
    if (s->order == GS_RT_ORDER_PRIORITY && a->urgency != b->urgency) {
        return a->urgency > b->urgency;
    }
    return a->ticket < b->ticket;
}

/* Hands the lock to the next one that waits, other than a slot. Under the guard. */
static void hand_over(shared_t *s, int32_t from, bool died)
{
    int32_t next = -1;
    for (int32_t i = 0; i < GS_RT_LOCK_SLOTS; i++) {
        const slot_t *slot = &s->slots[i];
        if (i != from && slot->process != 0 && slot->waits &&
            (next < 0 || is_before(s, slot, &s->slots[next]))) {
            next = i;
        }
    }
    if (next >= 0) {
        s->slots[next].granted = gs_rt_now();
        GS_RT_GPU_LOCK_STORED(0);
        if (died) {
            s->slots[next].told = 1;
            GS_RT_GPU_LOCK_STORED(1);
        }
    }
    atomic_store(&s->owner, next);
    GS_RT_GPU_LOCK_STORED(2);
    if (next >= 0) {
        gs_rt_wait_word_change(&s->slots[next].wake, true, true);
        GS_RT_GPU_LOCK_STORED(3);
    }
}

/* Looks whether the holder has died, and hands the lock over if so. */
static int look_after(shared_t *s)
{
    int status = enter(s);
    if (status != GS_RT_OK) {
        return status;
    }
    int32_t owner = atomic_load(&s->owner);
    if (owner < 0) { /* died between its request and the hand-over to itself */
        hand_over(s, -1, false);
        leave(s);
        return GS_RT_OK;
    }
    int32_t process = s->slots[owner].process;
    int64_t born = s->slots[owner].born;
    leave(s);
    if (!has_ended(process, born)) { /* takes a while, which others need not wait for */
        return GS_RT_OK;
    }
    status = enter(s);
    if (status != GS_RT_OK) {
        return status;
    }
    slot_t *slot = &s->slots[owner];
    if (atomic_load(&s->owner) == owner && slot->process == process && slot->born == born) {
        slot->waits = 0;
        GS_RT_GPU_LOCK_STORED(4);
        hand_over(s, owner, true);
        slot->process = 0;
        GS_RT_GPU_LOCK_STORED(5);
    }
    leave(s);
    return GS_RT_OK;
}

static uint64_t space_of_processes(void)
{
    struct stat facts;
    return stat("/proc/self/ns/pid", &facts) == 0 ? facts.st_ino : 0;
}

/* Maps the shared memory, whose file is locked meanwhile. */
static int map_shared(int file, uint32_t order, shared_t **mapped)
{
    struct stat facts;
    if (flock(file, LOCK_EX) != 0 || fstat(file, &facts) != 0 ||
        (facts.st_size == 0 && ftruncate(file, sizeof(shared_t)) != 0)) {
        return gs_rt_fail_system("shared memory of the lock", errno);
    }
    if (facts.st_size != 0 && facts.st_size != (off_t)sizeof(shared_t)) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "size of the lock", facts.st_size,
                                 "shared memory of a lock of this version");
    }
    shared_t *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (s == MAP_FAILED) {
        return gs_rt_fail_system("shared memory of the lock", errno);
    }
    int status = GS_RT_OK;
    if (atomic_load(&s->magic) == 0) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
        int error = pthread_mutex_init(&s->guard, &attributes);
        pthread_mutexattr_destroy(&attributes);
        s->version = VERSION;
        s->order = order;
        s->space = space_of_processes();
        atomic_store(&s->owner, -1);
        if (error == 0) {
            atomic_store(&s->magic, MAGIC);
        } else {
            status = gs_rt_fail_system("guard of the lock", error);
        }
    } else if (atomic_load(&s->magic) != MAGIC || s->version != VERSION) {
        status = gs_rt_fail_number(GS_RT_ERR_VALUE, "version of the lock", s->version,
                                   "shared memory of a lock of this version");
    } else if (s->order != order) {
        status = gs_rt_fail_number(GS_RT_ERR_VALUE, "order", (int64_t)order,
                                   "the order with which the lock was made");
    } else if (s->space != space_of_processes()) {
        status = gs_rt_fail_number(GS_RT_ERR_VALUE, "PID namespace", (int64_t)space_of_processes(),
                                   "that of the process that made the lock, else nobody sees "
                                   "whether its holder lives (containers share it: --pid)");
    }
    if (status != GS_RT_OK) {
        munmap(s, sizeof *s);
        return status;
    }
    *mapped = s;
    return GS_RT_OK;
}

static int check_name(const char *name)
{
    size_t size = name == NULL ? 0 : strlen(name);
    if (size < 2 || size > 200 || name[0] != '/' || strchr(name + 1, '/') != NULL) {
        return gs_rt_fail(GS_RT_ERR_VALUE, "name", name, "a slash and a name without slashes");
    }
    return GS_RT_OK;
}

int gs_rt_lock_open(const gs_rt_lock_options_t *options, gs_rt_lock_t **lock)
{
    *lock = NULL;
    int status = check_name(options->name);
    if (status != GS_RT_OK) {
        return status;
    }
    if (options->order != GS_RT_ORDER_PRIORITY && options->order != GS_RT_ORDER_FIFO) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "order", options->order, "GS_RT_ORDER_*");
    }
    if (options->check_ns < 0) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "check_ns", options->check_ns, "at least 0 ns");
    }
    gs_rt_lock_t *self = gs_rt_allocate(1, sizeof *self, "lock");
    if (self == NULL) {
        return GS_RT_ERR_SYSTEM;
    }
    int file = shm_open(options->name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
        status = gs_rt_fail_system("shared memory of the lock", errno);
    } else {
        status = map_shared(file, (uint32_t)options->order, &self->shared);
        flock(file, LOCK_UN); /* the mapping keeps the file open, and locked */
        close(file);
    }
    if (status != GS_RT_OK) {
        gs_rt_free(self);
        return status;
    }
    self->check = options->check_ns == 0 ? CHECK_NS : options->check_ns;
    self->log = options->log;
    *lock = self;
    return GS_RT_OK;
}

int gs_rt_lock_join(gs_rt_lock_t *self, int urgency, int ceiling, int *slot)
{
    shared_t *s = self->shared;
    int policy;
    struct sched_param parameter;
    pthread_getschedparam(pthread_self(), &policy, &parameter);
    if (ceiling != 0 && (ceiling < parameter.sched_priority || ceiling > 99 ||
                         (policy != SCHED_FIFO && policy != SCHED_RR))) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "ceiling", ceiling,
                                 "0, or at least the SCHED_FIFO priority of the thread");
    }
    int32_t process = (int32_t)getpid();
    int64_t born = start_of(process);
    int status = enter(s);
    if (status != GS_RT_OK) {
        return status;
    }
    int32_t owner = atomic_load(&s->owner), found = -1;
    for (int32_t i = 0; i < GS_RT_LOCK_SLOTS && found < 0; i++) {
        if (i != owner && s->slots[i].process == 0) {
            found = i;
        }
    }
    for (int32_t i = 0; i < GS_RT_LOCK_SLOTS && found < 0; i++) {
        if (i != owner && has_ended(s->slots[i].process, s->slots[i].born)) {
            found = i;
        }
    }
    if (found >= 0) {
        slot_t *mine = &s->slots[found];
        mine->waits = 0;
        GS_RT_GPU_LOCK_STORED(6);
        mine->urgency = urgency;
        mine->told = 0;
        mine->born = born;
        GS_RT_GPU_LOCK_STORED(7);
        mine->process = process;
        GS_RT_GPU_LOCK_STORED(8);
        self->ceiling[found] = ceiling;
        *slot = found;
    }
    leave(s);
    return found >= 0 ? GS_RT_OK
                      : gs_rt_fail_number(GS_RT_ERR_FULL, "slot", GS_RT_LOCK_SLOTS + 1,
                                          "at most 64 threads that share the lock");
}

static int check_slot(const gs_rt_lock_t *self, int slot)
{
    if (slot < 0 || slot >= GS_RT_LOCK_SLOTS ||
        self->shared->slots[slot].process != (int32_t)getpid()) {
        return gs_rt_fail_number(GS_RT_ERR_VALUE, "slot", slot, "that of gs_rt_lock_join");
    }
    return GS_RT_OK;
}

static int set_priority(const gs_rt_lock_t *self, int slot, int priority)
{
    int error = self->ceiling[slot] == 0 ? 0 : pthread_setschedprio(pthread_self(), priority);
    return error == 0 ? GS_RT_OK : gs_rt_fail_system("ceiling", error);
}

/* Gives the thread its ceiling. *before: the priority that it had. */
static int raise_priority(const gs_rt_lock_t *self, int slot, int *before)
{
    struct sched_param parameter = {0};
    int policy;
    pthread_getschedparam(pthread_self(), &policy, &parameter);
    *before = parameter.sched_priority;
    return set_priority(self, slot, self->ceiling[slot]);
}

/* Asks for the lock. */
static int request(shared_t *s, int slot, int64_t *asked)
{
    int status = enter(s);
    if (status != GS_RT_OK) {
        return status;
    }
    slot_t *mine = &s->slots[slot];
    if (mine->waits) {
        leave(s);
        return gs_rt_fail_number(GS_RT_ERR_STATE, "slot", slot,
                                 "one that neither holds the lock nor waits for it");
    }
    *asked = gs_rt_now();
    mine->told = 0;
    mine->ticket = s->tickets;
    GS_RT_GPU_LOCK_STORED(9);
    s->tickets++;
    GS_RT_GPU_LOCK_STORED(10);
    mine->waits = 1;
    GS_RT_GPU_LOCK_STORED(11);
    if (atomic_load(&s->owner) < 0) {
        hand_over(s, -1, false);
    }
    leave(s);
    return GS_RT_OK;
}

/* Takes a request back, unless the lock has come meanwhile: GS_RT_TIMEOUT or GS_RT_OK. */
static int withdraw(shared_t *s, int slot, int64_t *withdrawn)
{
    int status = enter(s);
    if (status != GS_RT_OK) {
        return status;
    }
    if (atomic_load(&s->owner) != slot) {
        *withdrawn = gs_rt_now();
        s->slots[slot].waits = 0;
        GS_RT_GPU_LOCK_STORED(12);
        status = GS_RT_TIMEOUT;
    }
    leave(s);
    return status;
}

/* Takes a request back; the lock, if it has come meanwhile, is given to the next one, who is told
 * what this one would have been. */
static int give_up(shared_t *s, int slot, int64_t *withdrawn)
{
    int status = enter(s);
    if (status != GS_RT_OK) {
        return status;
    }
    *withdrawn = gs_rt_now();
    s->slots[slot].waits = 0;
    GS_RT_GPU_LOCK_STORED(16);
    if (atomic_load(&s->owner) == slot) {
        hand_over(s, slot, s->slots[slot].told != 0);
    }
    leave(s);
    return GS_RT_STOPPED;
}

/* The end of a wait for the lock. */
typedef struct {
    int64_t until;
    int (*stopped)(void *arg); /* NULL: never */
    void *arg;
} limit_t;

static int wait_until_owner(gs_rt_lock_t *self, int slot, int spin, const limit_t *limit,
                            int64_t *withdrawn)
{
    shared_t *s = self->shared;
    slot_t *mine = &s->slots[slot];
    int64_t look = gs_rt_now() + self->check, until = limit->until;
    for (;;) {
        uint32_t before = atomic_load(&mine->wake);
        if (atomic_load(&s->owner) == slot) {
            return GS_RT_OK;
        }
        int64_t now = gs_rt_now();
        if (now >= until) {
            return withdraw(s, slot, withdrawn);
        }
        if (limit->stopped != NULL && limit->stopped(limit->arg) != 0) {
            return give_up(s, slot, withdrawn);
        }
        if (now >= look) {
            int status = look_after(s);
            if (status != GS_RT_OK) {
                return status;
            }
            look = gs_rt_now() + self->check;
        } else if (spin) {
            gs_rt_wait_word_pause();
        } else {
            int64_t asleep = look < until ? look : until;
            if (limit->stopped != NULL && now + NAP_NS < asleep) {
                asleep = now + NAP_NS;
            }
            gs_rt_wait_word_sleep(&mine->wake, before, asleep, true);
        }
    }
}

int gs_rt_lock_acquire(gs_rt_lock_t *self, int slot, const gs_rt_job_t *job, int spin,
                       int64_t until)
{
    return gs_rt_lock_acquire_or_stop(self, slot, job, spin, until, NULL, NULL);
}

int gs_rt_lock_acquire_or_stop(gs_rt_lock_t *self, int slot, const gs_rt_job_t *job, int spin,
                               int64_t until, int (*stopped)(void *arg), void *arg)
{
    int before = 0, status = check_slot(self, slot);
    if (status != GS_RT_OK) {
        return status;
    }
    /* Before it sleeps, so that it runs at once when it gets the lock. A spinning thread waits at
     * its own priority. */
    status = spin ? GS_RT_OK : raise_priority(self, slot, &before);
    if (status != GS_RT_OK) {
        return status;
    }
    slot_t *mine = &self->shared->slots[slot];
    gs_rt_log_t *log = job == NULL ? NULL : self->log;
    int64_t asked = 0, withdrawn = 0;
    status = request(self->shared, slot, &asked);
    if (status == GS_RT_OK) {
        if (log != NULL) {
            gs_rt_log_event_at(log, asked, GS_RT_EV_REQUEST, job->task, job->job, mine->urgency);
        }
        limit_t limit = {.until = until, .stopped = stopped, .arg = arg};
        status = wait_until_owner(self, slot, spin, &limit, &withdrawn);
    }
    if (status != GS_RT_OK) {
        if (!spin) {
            set_priority(self, slot, before);
        }
        if (status > 0 && log != NULL) {
            gs_rt_log_event_at(log, withdrawn, GS_RT_EV_SKIP, job->task, job->job, job->kernel);
        }
        return status;
    }
    if (spin && (status = raise_priority(self, slot, &before)) != GS_RT_OK) {
        gs_rt_lock_release(self, slot, NULL);
        return status;
    }
    self->before[slot] = before;
    bool died = mine->told != 0;
    if (log != NULL) {
        gs_rt_log_event(log, GS_RT_EV_ACQUIRE, job->task, job->job, mine->granted);
        if (died) {
            gs_rt_log_event(log, GS_RT_EV_OWNER_DIED, job->task, job->job, 0);
        }
    }
    return died ? GS_RT_OWNER_DIED : GS_RT_OK;
}

/* Enters the lock for a slot of this process; nothing is entered after an error. */
static int enter_of(gs_rt_lock_t *self, int slot)
{
    int status = check_slot(self, slot);
    return status != GS_RT_OK ? status : enter(self->shared);
}

int gs_rt_lock_release(gs_rt_lock_t *self, int slot, const gs_rt_job_t *job)
{
    int status = enter_of(self, slot);
    if (status != GS_RT_OK) {
        return status;
    }
    shared_t *s = self->shared;
    if (atomic_load(&s->owner) != slot) {
        leave(s);
        return gs_rt_fail_number(GS_RT_ERR_STATE, "slot", slot, "the holder of the lock");
    }
    int64_t now = gs_rt_now();
    s->slots[slot].waits = 0;
    GS_RT_GPU_LOCK_STORED(13);
    hand_over(s, slot, false);
    leave(s);
    if (job != NULL) {
        gs_rt_log_event_at(self->log, now, GS_RT_EV_RELEASE_LOCK, job->task, job->job, 0);
    }
    return set_priority(self, slot, self->before[slot]);
}

int gs_rt_lock_leave(gs_rt_lock_t *self, int slot)
{
    int status = enter_of(self, slot);
    if (status != GS_RT_OK) {
        return status;
    }
    shared_t *s = self->shared;
    s->slots[slot].waits = 0;
    GS_RT_GPU_LOCK_STORED(14);
    bool held = atomic_load(&s->owner) == slot;
    if (held) {
        hand_over(s, slot, false);
    }
    s->slots[slot].process = 0;
    GS_RT_GPU_LOCK_STORED(15);
    leave(s);
    return held ? set_priority(self, slot, self->before[slot]) : GS_RT_OK;
}

void gs_rt_lock_close(gs_rt_lock_t *self)
{
    if (self != NULL) {
        munmap(self->shared, sizeof *self->shared);
        gs_rt_free(self);
    }
}

int gs_rt_lock_remove(const char *name)
{
    int status = check_name(name);
    if (status == GS_RT_OK && shm_unlink(name) != 0 && errno != ENOENT) {
        status = gs_rt_fail_system("shared memory of the lock", errno);
    }
    return status;
}

#else /* without robust mutexes and pidfds */

static int refuse(void)
{
    return gs_rt_fail(GS_RT_ERR_SYSTEM, "lock", "this system", "Linux");
}

int gs_rt_lock_open(const gs_rt_lock_options_t *options, gs_rt_lock_t **lock)
{
    (void)options;
    *lock = NULL;
    return refuse();
}

int gs_rt_lock_join(gs_rt_lock_t *self, int urgency, int ceiling, int *slot)
{
    (void)self, (void)urgency, (void)ceiling, (void)slot;
    return refuse();
}

int gs_rt_lock_acquire(gs_rt_lock_t *self, int slot, const gs_rt_job_t *job, int spin,
                       int64_t until)
{
    (void)self, (void)slot, (void)job, (void)spin, (void)until;
    return refuse();
}

int gs_rt_lock_acquire_or_stop(gs_rt_lock_t *self, int slot, const gs_rt_job_t *job, int spin,
                               int64_t until, int (*stopped)(void *arg), void *arg)
{
    (void)self, (void)slot, (void)job, (void)spin, (void)until, (void)stopped, (void)arg;
    return refuse();
}

int gs_rt_lock_release(gs_rt_lock_t *self, int slot, const gs_rt_job_t *job)
{
    (void)self, (void)slot, (void)job;
    return refuse();
}

int gs_rt_lock_leave(gs_rt_lock_t *self, int slot)
{
    (void)self, (void)slot;
    return refuse();
}

void gs_rt_lock_close(gs_rt_lock_t *self)
{
    (void)self;
}

int gs_rt_lock_remove(const char *name)
{
    (void)name;
    return refuse();
}

#endif
