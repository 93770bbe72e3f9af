/* Lock of the runtime: order, exclusion over threads and processes, deaths at every store.
 *
 *     test_rt_lock [threads | order RUNS | kills COUNT ACQUISITIONS SEED]
 *
 * Without arguments it runs all parts, briefly.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__

static void stored(int place);
#define GS_RT_GPU_LOCK_STORED(place) stored(place)
#include "rt/gpu_lock.c"

#include "minunit.h"

#define PLACES 17
#define LONG_NS 5000000000

static char name[64];

static void nap(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

static gs_rt_lock_t *open_lock(int order, int64_t check)
{
    gs_rt_lock_options_t options = {.name = name, .order = order, .check_ns = check};
    gs_rt_lock_t *lock = NULL;
    if (gs_rt_lock_open(&options, &lock) != GS_RT_OK) {
        fprintf(stderr, "%s\n", gs_rt_error());
        exit(1);
    }
    return lock;
}

/* Deaths -------------------------------------------------------------------------------------- */

typedef struct {
    atomic_long acquired, told, overlaps, failed;
    atomic_int holder;
    atomic_long killed[PLACES + 1]; /* the last one: at any instruction */
} facts_t;

static facts_t *facts;
static int deadly = -1, left; /* dies after so many stores at a place */

static void stored(int place)
{
    if (place == deadly && --left < 0) {
        facts->killed[place]++;
        kill(getpid(), SIGKILL);
    }
}

static bool ended(pid_t process)
{
    int file = (int)syscall(SYS_pidfd_open, process, 0);
    if (file < 0) {
        return errno == ESRCH;
    }
    struct pollfd poller = {.fd = file, .events = POLLIN};
    bool result = poll(&poller, 1, 0) == 1;
    close(file);
    return result;
}

static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* Stops a wait after so many looks. */
static int look(void *arg)
{
    int *looks = arg;
    return --*looks < 0;
}

/* Takes and gives back the lock until it dies. */
static void live(unsigned seed, bool place)
{
    deadly = place ? (int)draw(&seed, PLACES) : -1;
    left = (int)draw(&seed, 1 + draw(&seed, 12)); /* some places are rarely passed */
    gs_rt_lock_t *lock = open_lock(GS_RT_ORDER_PRIORITY, 200000);
    int slot = -1;
    for (int round = 0;; round++) {
        if (slot < 0 && gs_rt_lock_join(lock, (int)draw(&seed, 4), 0, &slot) != GS_RT_OK) {
            facts->failed++;
            _exit(1);
        }
        int64_t until = draw(&seed, 4) == 0 ? gs_rt_now() + draw(&seed, 60000) : INT64_MAX;
        int spin = draw(&seed, 8) == 0, looks = draw(&seed, 4) == 0 ? (int)draw(&seed, 4) : INT_MAX;
        int status = gs_rt_lock_acquire_or_stop(lock, slot, NULL, spin, until, look, &looks);
        if (status < 0) {
            facts->failed++;
            _exit(1);
        }
        if (status != GS_RT_TIMEOUT && status != GS_RT_STOPPED) {
            int before = atomic_exchange(&facts->holder, getpid());
            if (status == GS_RT_OWNER_DIED) {
                facts->told++;
            }
            if (before != 0 && (status != GS_RT_OWNER_DIED || !ended(before))) {
                facts->overlaps++;
            }
            for (volatile unsigned k = draw(&seed, 300); k > 0; k--) {
            }
            int me = getpid();
            facts->acquired++;
            if (!atomic_compare_exchange_strong(&facts->holder, &me, 0)) {
                facts->overlaps++;
            }
            if (draw(&seed, 50) != 0 && gs_rt_lock_release(lock, slot, NULL) != GS_RT_OK) {
                facts->failed++;
                _exit(1);
            } /* otherwise leave gives it back, or it is asked for while held */
            if (atomic_load(&lock->shared->owner) == slot) {
                gs_rt_lock_leave(lock, slot);
                slot = -1;
            }
        }
    }
}

static void kills(long count, long acquisitions, unsigned seed)
{
    enum { PROCESSES = 4 };
    gs_rt_lock_remove(name);
    facts = mmap(NULL, sizeof *facts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t process[PROCESSES] = {0};
    long killed = 0, before = 0;
    int64_t moved = gs_rt_now(), worst = 0;
    bool stuck = false;
    while (!stuck && (killed < count || facts->acquired < acquisitions)) {
        for (int k = 0; k < PROCESSES; k++) {
            if (process[k] == 0) {
                draw(&seed, 2);
                process[k] = fork();
                if (process[k] == 0) {
                    live(seed, k > 0);
                }
            }
        }
        if (draw(&seed, 8) == 0) {
            facts->killed[PLACES]++;
            kill(process[draw(&seed, PROCESSES)], SIGKILL);
        }
        nap(draw(&seed, 500000));
        int status;
        for (pid_t gone; (gone = waitpid(-1, &status, WNOHANG)) > 0; killed++) {
            for (int k = 0; k < PROCESSES; k++) {
                process[k] = process[k] == gone ? 0 : process[k];
            }
        }
        int64_t now = gs_rt_now(), still = now - moved;
        worst = still > worst ? still : worst;
        if (facts->acquired != before) {
            before = facts->acquired;
            moved = now;
        }
        stuck = still > LONG_NS;
    }
    for (int k = 0; k < PROCESSES; k++) {
        if (process[k] > 0) {
            kill(process[k], SIGKILL);
            waitpid(process[k], NULL, 0);
        }
    }
    long least = facts->killed[0], inside = 0;
    for (int place = 0; place < PLACES; place++) {
        least = facts->killed[place] < least ? facts->killed[place] : least;
        inside += facts->killed[place];
    }
    printf("%ld processes killed (%ld between two stores, each of %d places at least %ld times), "
           "%ld acquisitions, %ld deaths told, %ld overlaps, longest standstill %.1f ms\n",
           killed, inside, PLACES, least, (long)facts->acquired, (long)facts->told,
           (long)facts->overlaps, (double)worst / 1e6);
    MU_CHECK(!stuck);
    MU_CHECK(facts->overlaps == 0);
    MU_CHECK(facts->failed == 0);
    MU_CHECK(facts->told > 0);
    MU_CHECK(count < 500 || least > 0);
    munmap(facts, sizeof *facts);
    gs_rt_lock_remove(name);
}

/* Order --------------------------------------------------------------------------------------- */

#define WAITERS 6

static struct {
    gs_rt_lock_t *lock;
    int slot[WAITERS];
    gs_rt_wait_word_t run[WAITERS]; /* number of the run */
    atomic_int joined, count;
    atomic_bool over;
    int got[WAITERS];
} line;

static const int urgencies[WAITERS] = {3, 1, 3, 2, 1, 2};

static void *wait_in_line(void *arg)
{
    int me = (int)(intptr_t)arg;
    bool failed = gs_rt_lock_join(line.lock, urgencies[me], 0, &line.slot[me]) != GS_RT_OK;
    line.joined++;
    for (uint32_t run = 0; !failed; run++) {
        while (line.run[me] == run) {
            gs_rt_wait_word_sleep(&line.run[me], run, INT64_MAX, false);
        }
        if (line.over) {
            break;
        }
        failed = gs_rt_lock_acquire(line.lock, line.slot[me], NULL, me == 0, INT64_MAX) != 0;
        line.got[line.count] = me;
        line.count++;
        failed = failed || gs_rt_lock_release(line.lock, line.slot[me], NULL) != GS_RT_OK;
    }
    gs_rt_lock_leave(line.lock, line.slot[me]);
    return failed ? arg : NULL;
}

static bool waits(int slot)
{
    shared_t *s = line.lock->shared;
    enter(s);
    bool result = s->slots[slot].waits != 0;
    leave(s);
    return result;
}

static void order(int how, int runs)
{
    gs_rt_lock_remove(name);
    line.lock = open_lock(how, 0);
    line.joined = 0;
    line.over = false;
    pthread_t threads[WAITERS];
    unsigned seed = 7;
    int slot, wrong = 0;
    MU_CHECK(gs_rt_lock_join(line.lock, 9, 0, &slot) == GS_RT_OK);
    for (int k = 0; k < WAITERS; k++) {
        line.run[k] = 0;
        pthread_create(&threads[k], NULL, wait_in_line, (void *)(intptr_t)k);
    }
    while (line.joined < WAITERS) {
        nap(20000);
    }
    for (int run = 0; run < runs; run++) {
        int asked[WAITERS] = {0, 1, 2, 3, 4, 5};
        for (int k = WAITERS - 1; k > 0; k--) {
            int other = (int)draw(&seed, (unsigned)k + 1), kept = asked[k];
            asked[k] = asked[other];
            asked[other] = kept;
        }
        MU_CHECK(gs_rt_lock_acquire(line.lock, slot, NULL, 0, INT64_MAX) == GS_RT_OK);
        line.count = 0;
        for (int k = 0; k < WAITERS; k++) {
            gs_rt_wait_word_change(&line.run[asked[k]], true, false);
            while (!waits(line.slot[asked[k]])) {
                nap(20000);
            }
        }
        MU_CHECK(gs_rt_lock_release(line.lock, slot, NULL) == GS_RT_OK);
        while (line.count < WAITERS) {
            nap(20000);
        }
        int expected[WAITERS], filled = 0;
        for (int urgency = how == GS_RT_ORDER_PRIORITY ? 3 : 0; urgency >= 0; urgency--) {
            for (int k = 0; k < WAITERS; k++) {
                if (how == GS_RT_ORDER_FIFO || urgencies[asked[k]] == urgency) {
                    expected[filled++] = asked[k];
                }
            }
        }
        wrong += memcmp(expected, line.got, sizeof expected) != 0;
    }
    line.over = true;
    for (int k = 0; k < WAITERS; k++) {
        gs_rt_wait_word_change(&line.run[k], true, false);
        void *failed;
        pthread_join(threads[k], &failed);
        MU_CHECK(failed == NULL || k == 0);
    }
    printf("%s order: %d of %d runs out of order\n",
           how == GS_RT_ORDER_PRIORITY ? "priority" : "FIFO", wrong, runs);
    MU_CHECK(wrong == 0);
    gs_rt_lock_leave(line.lock, slot);
    gs_rt_lock_close(line.lock);
    gs_rt_lock_remove(name);
}

/* Threads ------------------------------------------------------------------------------------- */

static long inside, most, together; /* under the lock */

static void *use(void *arg)
{
    gs_rt_lock_t *lock = arg;
    int slot;
    if (gs_rt_lock_join(lock, 1, 0, &slot) != GS_RT_OK) {
        return arg;
    }
    for (int k = 0; k < 500; k++) {
        int status =
            gs_rt_lock_acquire(lock, slot, NULL, k % 16 == 0, k % 5 ? INT64_MAX : gs_rt_now());
        if (status == GS_RT_TIMEOUT) {
            continue;
        }
        if (status != GS_RT_OK) {
            return arg;
        }
        inside++;
        most = inside > most ? inside : most;
        together++;
        inside--;
        if (gs_rt_lock_release(lock, slot, NULL) != GS_RT_OK) {
            return arg;
        }
    }
    return gs_rt_lock_leave(lock, slot) == GS_RT_OK ? NULL : arg;
}

static void threads(void)
{
    gs_rt_lock_remove(name);
    gs_rt_lock_t *lock = open_lock(GS_RT_ORDER_FIFO, 0);
    pthread_t user[4];
    for (int k = 0; k < 4; k++) {
        pthread_create(&user[k], NULL, use, lock);
    }
    for (int k = 0; k < 4; k++) {
        void *failed;
        pthread_join(user[k], &failed);
        MU_CHECK(failed == NULL);
    }
    MU_CHECK(most == 1 && together >= 4 * 400);
    gs_rt_lock_close(lock);
    gs_rt_lock_remove(name);
}

/* Refusals ------------------------------------------------------------------------------------ */

/* Without a file to look with, a living holder keeps the lock; it passes on when the holder ends.
 */
static void no_files(void)
{
    gs_rt_lock_remove(name);
    gs_rt_lock_t *lock = open_lock(GS_RT_ORDER_PRIORITY, 1000000);
    int slot, talk[2], died = 0;
    MU_CHECK(pipe(talk) == 0);
    pid_t holder = fork();
    if (holder == 0) {
        bool held = gs_rt_lock_join(lock, 1, 0, &slot) == GS_RT_OK &&
                    gs_rt_lock_acquire(lock, slot, NULL, 0, INT64_MAX) == GS_RT_OK;
        _exit(!held || write(talk[1], "x", 1) != 1 || pause());
    }
    char one;
    MU_CHECK(read(talk[0], &one, 1) == 1);
    MU_CHECK(gs_rt_lock_join(lock, 2, 0, &slot) == GS_RT_OK);
    struct rlimit before, none;
    MU_CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    MU_CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    MU_CHECK(gs_rt_lock_acquire(lock, slot, NULL, 0, gs_rt_now() + 50000000) == GS_RT_TIMEOUT);
    MU_CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    kill(holder, SIGKILL);
    MU_CHECK(gs_rt_lock_acquire(lock, slot, NULL, 0, INT64_MAX) == GS_RT_OWNER_DIED);
    waitpid(holder, &died, 0);
    close(talk[0]);
    close(talk[1]);
    gs_rt_lock_close(lock);
    gs_rt_lock_remove(name);
}

/* Numbers of processes mean nothing in another PID namespace, where this one cannot be watched. */
static void other_namespace(void)
{
    gs_rt_lock_remove(name);
    gs_rt_lock_t *lock = open_lock(GS_RT_ORDER_PRIORITY, 0);
    int result = 0;
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWPID) != 0) { /* not permitted here */
            _exit(0);
        }
        pid_t inner = fork();
        if (inner == 0) {
            gs_rt_lock_options_t options = {.name = name};
            gs_rt_lock_t *other;
            _exit(gs_rt_lock_open(&options, &other) != GS_RT_ERR_VALUE || other != NULL ||
                  strncmp(gs_rt_error(), "PID namespace: got ", 19) != 0);
        }
        _exit(waitpid(inner, &result, 0) != inner || result != 0);
    }
    MU_CHECK(waitpid(child, &result, 0) == child && result == 0);
    gs_rt_lock_close(lock);
    gs_rt_lock_remove(name);
}

static struct {
    gs_rt_lock_t *lock;
    int holder, next;
} stopping;

/* Gives the lock to the one that waits, as behind a death, before it says that this one stops. */
static int give_then_stop(void *arg)
{
    (void)arg;
    int64_t asked;
    shared_t *s = stopping.lock->shared;
    MU_CHECK(request(s, stopping.next, &asked) == GS_RT_OK);
    s->slots[stopping.holder].waits = 0;
    hand_over(s, stopping.holder, true);
    return 1;
}

/* A request that is stopped when the lock has just come: the next one gets it, and the news. */
static void stopped(void)
{
    gs_rt_lock_remove(name);
    gs_rt_lock_t *lock = stopping.lock = open_lock(GS_RT_ORDER_FIFO, 0);
    int slot, looks = 2;
    MU_CHECK(gs_rt_lock_join(lock, 1, 0, &stopping.holder) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_join(lock, 1, 0, &slot) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_join(lock, 1, 0, &stopping.next) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_acquire(lock, stopping.holder, NULL, 0, INT64_MAX) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_acquire_or_stop(lock, slot, NULL, 0, INT64_MAX, look, &looks) ==
             GS_RT_STOPPED);
    MU_CHECK(looks == -1);
    MU_CHECK(gs_rt_lock_acquire_or_stop(lock, slot, NULL, 0, INT64_MAX, give_then_stop, NULL) ==
             GS_RT_STOPPED);
    const shared_t *s = lock->shared;
    MU_CHECK(atomic_load(&s->owner) == stopping.next && s->slots[stopping.next].told == 1);
    MU_CHECK(s->slots[slot].waits == 0);
    MU_CHECK(gs_rt_lock_release(lock, stopping.next, NULL) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_acquire(lock, slot, NULL, 0, 0) == GS_RT_OK);
    gs_rt_lock_close(lock);
    gs_rt_lock_remove(name);
}

static void refusals(void)
{
    gs_rt_lock_t *lock, *other;
    gs_rt_lock_options_t options = {.name = "no slash"};
    MU_CHECK(gs_rt_lock_open(&options, &lock) == GS_RT_ERR_VALUE && lock == NULL);
    MU_CHECK(strcmp(gs_rt_error(),
                    "name: got no slash, expected a slash and a name without slashes") == 0);
    options = (gs_rt_lock_options_t){.name = name, .order = 2};
    MU_CHECK(gs_rt_lock_open(&options, &lock) == GS_RT_ERR_VALUE);
    options = (gs_rt_lock_options_t){.name = name, .check_ns = -1};
    MU_CHECK(gs_rt_lock_open(&options, &lock) == GS_RT_ERR_VALUE);
    MU_CHECK(strcmp(gs_rt_error(), "check_ns: got -1, expected at least 0 ns") == 0);

    gs_rt_lock_remove(name);
    lock = open_lock(GS_RT_ORDER_PRIORITY, 0);
    options = (gs_rt_lock_options_t){.name = name, .order = GS_RT_ORDER_FIFO};
    MU_CHECK(gs_rt_lock_open(&options, &other) == GS_RT_ERR_VALUE);
    MU_CHECK(strcmp(gs_rt_error(),
                    "order: got 1, expected the order with which the lock was made") == 0);
    int slot, second, died;
    MU_CHECK(gs_rt_lock_join(lock, 1, 100, &slot) == GS_RT_ERR_VALUE);
    MU_CHECK(gs_rt_lock_join(lock, 1, 0, &slot) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_join(lock, 2, 0, &second) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_acquire(lock, 63, NULL, 0, INT64_MAX) == GS_RT_ERR_VALUE);
    MU_CHECK(gs_rt_lock_acquire(lock, -1, NULL, 0, INT64_MAX) == GS_RT_ERR_VALUE);
    MU_CHECK(gs_rt_lock_release(lock, slot, NULL) == GS_RT_ERR_STATE);
    MU_CHECK(gs_rt_lock_acquire(lock, slot, NULL, 0, 0) == GS_RT_OK); /* it is free */
    MU_CHECK(gs_rt_lock_acquire(lock, slot, NULL, 0, INT64_MAX) == GS_RT_ERR_STATE);
    MU_CHECK(gs_rt_lock_acquire(lock, second, NULL, 0, gs_rt_now() + 3000000) == GS_RT_TIMEOUT);
    MU_CHECK(gs_rt_lock_release(lock, second, NULL) == GS_RT_ERR_STATE);

    /* One that leaves while it holds the lock hands it over. */
    MU_CHECK(gs_rt_lock_leave(lock, slot) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_acquire(lock, second, NULL, 0, INT64_MAX) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_leave(lock, second) == GS_RT_OK);

    /* All slots: those of dead processes are taken again. */
    pid_t child = fork();
    if (child == 0) {
        int mine = 0;
        for (int k = 0; k < GS_RT_LOCK_SLOTS; k++) {
            if (gs_rt_lock_join(lock, 1, 0, &mine) != GS_RT_OK) {
                _exit(1);
            }
        }
        _exit(gs_rt_lock_join(lock, 1, 0, &mine) != GS_RT_ERR_FULL);
    }
    waitpid(child, &died, 0);
    MU_CHECK(died == 0);
    MU_CHECK(gs_rt_lock_join(lock, 1, 0, &slot) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_acquire(lock, slot, NULL, 1, INT64_MAX) == GS_RT_OK);
    MU_CHECK(gs_rt_lock_release(lock, slot, NULL) == GS_RT_OK);
    gs_rt_lock_close(lock);

    /* Memory that is not a lock's. */
    gs_rt_lock_remove(name);
    int file = shm_open(name, O_RDWR | O_CREAT, 0600);
    MU_CHECK(ftruncate(file, 10) == 0);
    options = (gs_rt_lock_options_t){.name = name};
    MU_CHECK(gs_rt_lock_open(&options, &lock) == GS_RT_ERR_VALUE);
    MU_CHECK(ftruncate(file, sizeof(shared_t)) == 0 && pwrite(file, "other", 5, 0) == 5);
    close(file);
    MU_CHECK(gs_rt_lock_open(&options, &lock) == GS_RT_ERR_VALUE);
    gs_rt_lock_remove(name);
}

/* Inversion ----------------------------------------------------------------------------------- */

/* On one CPU: a thread of low priority holds the lock for 5 ms, one of middle priority computes for
 * 60 ms, and an urgent one asks for the lock. With the ceiling it does not wait for the second. */
static struct {
    gs_rt_lock_t *lock;
    atomic_int held;
    atomic_bool permitted;
    int64_t waited;
} inversion;

static void compute(int64_t ns)
{
    for (int64_t end = gs_rt_cpu_time() + ns; gs_rt_cpu_time() < end;) {
    }
}

static void *hold(void *arg)
{
    int slot;
    if (gs_rt_thread(0, 5) == GS_RT_OK && gs_rt_lock_join(inversion.lock, 1, 30, &slot) == 0) {
        gs_rt_lock_acquire(inversion.lock, slot, NULL, 0, INT64_MAX);
        inversion.held = 1;
        compute(5000000);
        gs_rt_lock_release(inversion.lock, slot, NULL);
        gs_rt_lock_leave(inversion.lock, slot);
    }
    return arg;
}

static void *disturb(void *arg)
{
    if (gs_rt_thread(0, 10) == GS_RT_OK) {
        compute(60000000);
    }
    return arg;
}

static void *ask(void *arg)
{
    int slot;
    int64_t asked = gs_rt_now(); /* the holder runs at its ceiling from here on, too */
    if (gs_rt_thread(0, 20) == GS_RT_OK && gs_rt_lock_join(inversion.lock, 2, 31, &slot) == 0) {
        gs_rt_lock_acquire(inversion.lock, slot, NULL, 0, INT64_MAX);
        inversion.waited = gs_rt_now() - asked;
        gs_rt_lock_release(inversion.lock, slot, NULL);
        gs_rt_lock_leave(inversion.lock, slot);
    }
    return arg;
}

static void *try_fifo(void *arg)
{
    inversion.permitted = gs_rt_thread(0, 5) == GS_RT_OK;
    return arg;
}

static void no_inversion(void)
{
    pthread_t low, middle, high;
    pthread_create(&low, NULL, try_fifo, NULL);
    pthread_join(low, NULL);
    if (!inversion.permitted) {
        printf("SCHED_FIFO is not permitted: inversion not tested\n");
        return;
    }
    gs_rt_lock_remove(name);
    inversion.lock = open_lock(GS_RT_ORDER_PRIORITY, 0);
    pthread_create(&low, NULL, hold, NULL);
    while (inversion.held == 0) {
        nap(20000);
    }
    pthread_create(&middle, NULL, disturb, NULL);
    pthread_create(&high, NULL, ask, NULL);
    pthread_join(high, NULL);
    pthread_join(middle, NULL);
    pthread_join(low, NULL);
    printf("under a middle thread of 60 ms, the urgent one waited %.1f ms\n",
           (double)inversion.waited / 1e6);
    MU_CHECK(inversion.waited > 0 && inversion.waited < 40000000);
    gs_rt_lock_close(inversion.lock);
    gs_rt_lock_remove(name);
}

int main(int count, char **arguments)
{
    snprintf(name, sizeof name, "/gpusched-test-%d", (int)getpid());
    const char *part = count > 1 ? arguments[1] : "";
    if (strcmp(part, "kills") == 0 && count == 5) {
        kills(atol(arguments[2]), atol(arguments[3]), (unsigned)atol(arguments[4]));
    } else if (strcmp(part, "order") == 0 && count == 3) {
        order(GS_RT_ORDER_PRIORITY, atoi(arguments[2]));
        order(GS_RT_ORDER_FIFO, atoi(arguments[2]));
    } else if (strcmp(part, "threads") == 0) {
        threads();
        order(GS_RT_ORDER_PRIORITY, 20);
    } else {
        refusals();
        stopped();
        no_files();
        other_namespace();
        threads();
        order(GS_RT_ORDER_PRIORITY, 200);
        order(GS_RT_ORDER_FIFO, 200);
        no_inversion();
        kills(120, 10000, 1);
    }
    return MU_END();
}

#else

#include "minunit.h"
#include "rt/rt.h"

int main(void)
{
    gs_rt_lock_options_t options = {.name = "/gpusched"};
    gs_rt_lock_t *lock;
    MU_CHECK(gs_rt_lock_open(&options, &lock) == GS_RT_ERR_SYSTEM && lock == NULL);
    return MU_END();
}

#endif
