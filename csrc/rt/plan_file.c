/* Reader of schedule files of versions 3 and 4 (gpusched/model/schedule.schema.json).
 *
 * The grammar is checked by the tokens of JSON, the members here; whether it is a plan that can be
 * played is checked when a player opens it. Members that a player does not need are skipped. Two
 * passes over the text: one counts what there is, one fills the arrays.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/json_numbers.h"
#include "io/json_tokens.h"
#include "rt/rt.h"
#include "rt/thread_state.h"

#define MOST_BYTES (INT64_C(1) << 30)

typedef struct {
    gs_rt_plan_t plan; /* the first member: what users have is a pointer to it */
    gs_rt_plan_task_t *task;
    gs_rt_plan_frame_t *frame;
    gs_rt_plan_entry_t *entry;
    uint32_t *mask;
    gs_rt_plan_need_t *need;
    char *text; /* the file, in which the names are */
} owned_t;

typedef struct {
    gs_io_json_cursor_t at;
    gs_io_json_levels_t levels;
    gs_context_t ctx;
    owned_t *made;
    bool fills;        /* the second pass */
    const char *wrong; /* the member that is not as expected */
} reader_t;

static bool fail(reader_t *r, const char *what)
{
    if (r->wrong == NULL) {
        r->wrong = what;
    }
    return false;
}

/* Takes one character behind space. */
static bool take(reader_t *r, char wanted)
{
    if (gs_io_json_to_token(&r->at) && *r->at.at == wanted) {
        r->at.at++;
        return true;
    }
    return false;
}

/* Any value, as it is written. */
static bool value_of(reader_t *r, const char *what, gs_io_json_text_t *value)
{
    if (!gs_io_json_to_token(&r->at)) {
        return fail(r, what);
    }
    const char *start = r->at.at;
    if (gs_io_json_skip_value(&r->levels, &r->ctx, &r->at) != GS_IO_JSON_TAKEN) {
        return fail(r, what);
    }
    *value = (gs_io_json_text_t){start, r->at.at - start};
    return true;
}

static bool number_of(reader_t *r, const char *what, int64_t *number)
{
    gs_io_json_text_t value;
    return value_of(r, what, &value) && (gs_io_json_integer(value, number) || fail(r, what));
}

static bool small_number_of(reader_t *r, const char *what, int32_t *number)
{
    int64_t value;
    if (!number_of(r, what, &value) || value < 0 || value > INT32_MAX) {
        return fail(r, what);
    }
    *number = (int32_t)value;
    return true;
}

typedef bool part_t(reader_t *r, gs_io_json_text_t key, void *arg);

static bool is(gs_io_json_text_t key, const char *name)
{
    return key.size == (int64_t)strlen(name) && memcmp(key.bytes, name, (size_t)key.size) == 0;
}

/* Calls a function for each member of an object, or element of a list, of which it takes the value.
 */
static bool each(reader_t *r, char open, const char *what, part_t *part, void *arg)
{
    char close = open == '{' ? '}' : ']';
    if (!take(r, open)) {
        return fail(r, what);
    }
    if (take(r, close)) {
        return true;
    }
    do {
        gs_io_json_text_t key = {NULL, 0};
        if (open == '{' && (!gs_io_json_to_token(&r->at) ||
                            gs_io_json_skip_key(&r->at, &key) != GS_IO_JSON_TAKEN)) {
            return fail(r, what);
        }
        if (open == '{') { /* without its quotes */
            key = (gs_io_json_text_t){key.bytes + 1, key.size - 2};
        }
        if (!part(r, key, arg)) {
            return fail(r, what);
        }
    } while (take(r, ','));
    return take(r, close) || fail(r, what);
}

static bool skip(reader_t *r, const char *what)
{
    gs_io_json_text_t value;
    return value_of(r, what, &value);
}

/* Four hexadecimal digits. */
static bool code_unit(const char *digits, uint32_t *unit)
{
    *unit = 0;
    for (int k = 0; k < 4; k++) {
        char c = digits[k];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16) {
            return false;
        }
        *unit = *unit << 4 | digit;
    }
    return true;
}

static char *put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xe0 | code >> 12);
        } else {
            *to++ = (char)(0xf0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Decodes a string where it stands: what it means is never longer than its escapes. */
static bool decode(gs_io_json_text_t value, const char **name)
{
    if (value.size < 3 || value.bytes[0] != '"') {
        return false;
    }
    char *to = (char *)(uintptr_t)value.bytes;
    const char *at = value.bytes + 1, *end = value.bytes + value.size - 1;
    *name = to;
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
        uint32_t code = 0, low;
        if (at[1] != 'u') {
            for (size_t k = 0; k < sizeof escapes - 1; k += 2) {
                code = escapes[k] == at[1] ? (uint32_t)escapes[k + 1] : code;
            }
            at += 2;
        } else {
            if (end - at < 6 || !code_unit(at + 2, &code)) {
                return false;
            }
            at += 6;
            if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
                code_unit(at + 2, &low) && low >= 0xdc00 && low < 0xe000) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                at += 6;
            }
        }
        if (code == 0) {
            return false;
        }
        to = put_utf8(to, code);
    }
    *to = 0;
    return true;
}

static bool kernel(reader_t *r, gs_io_json_text_t key, void *arg)
{
    (void)key;
    ++*(int32_t *)arg;
    return skip(r, "kernels");
}

/* A task that the one being read needs. */
static bool need(reader_t *r, gs_io_json_text_t key, void *arg)
{
    (void)key;
    (void)arg;
    gs_rt_plan_t *plan = &r->made->plan;
    gs_rt_plan_need_t one = {.task = plan->tasks};
    if (!small_number_of(r, "needs", &one.needs)) {
        return false;
    }
    if (r->fills) {
        r->made->need[plan->needs] = one;
    }
    plan->needs++;
    return true;
}

static bool task_member(reader_t *r, gs_io_json_text_t key, void *arg)
{
    gs_rt_plan_task_t *task = arg;
    if (is(key, "name")) {
        gs_io_json_text_t value;
        return value_of(r, "name", &value) &&
               (!r->fills || decode(value, &task->name) || fail(r, "name"));
    }
    if (is(key, "kernels")) {
        task->kernels = 0;
        return each(r, '[', "kernels", kernel, &task->kernels);
    }
    if (is(key, "needs")) {
        return each(r, '[', "needs", need, NULL);
    }
    return is(key, "period")     ? number_of(r, "period", &task->period)
           : is(key, "offset")   ? number_of(r, "offset", &task->offset)
           : is(key, "deadline") ? number_of(r, "deadline", &task->deadline)
                                 : skip(r, "tasks");
}

static bool one_task(reader_t *r, gs_io_json_text_t key, void *arg)
{
    (void)key;
    (void)arg;
    gs_rt_plan_task_t task = {.period = 0};
    if (!each(r, '{', "tasks", task_member, &task)) {
        return false;
    }
    if (r->fills) {
        r->made->task[r->made->plan.tasks] = task;
    }
    r->made->plan.tasks++;
    return true;
}

static bool entry(reader_t *r, gs_io_json_text_t key, void *arg)
{
    (void)key;
    gs_rt_plan_frame_t *frame = arg;
    gs_rt_plan_entry_t one;
    if (!take(r, '[') || !small_number_of(r, "batch", &one.task) || !take(r, ',') ||
        !small_number_of(r, "batch", &one.kernel) || !take(r, ']')) {
        return fail(r, "batch");
    }
    if (r->fills) {
        r->made->entry[r->made->plan.entries] = one;
    }
    r->made->plan.entries++;
    frame->count++;
    return true;
}

static bool position(reader_t *r, gs_io_json_text_t key, void *arg)
{
    (void)key;
    int32_t number;
    if (!small_number_of(r, "may_lack", &number) || number >= GS_RT_PLAN_BATCH) {
        return fail(r, "may_lack");
    }
    *(uint32_t *)arg |= UINT32_C(1) << number;
    return true;
}

static bool lack(reader_t *r, gs_io_json_text_t key, void *arg)
{
    (void)key;
    gs_rt_plan_frame_t *frame = arg;
    uint32_t mask = 0;
    if (!each(r, '[', "may_lack", position, &mask)) {
        return false;
    }
    if (r->fills) {
        r->made->mask[r->made->plan.masks] = mask;
    }
    r->made->plan.masks++;
    frame->lacked++;
    return true;
}

static bool frame_member(reader_t *r, gs_io_json_text_t key, void *arg)
{
    gs_rt_plan_frame_t *frame = arg;
    if (is(key, "batch")) {
        frame->first = r->made->plan.entries;
        frame->count = 0;
        return each(r, '[', "batch", entry, frame);
    }
    if (is(key, "may_lack")) {
        frame->lacks = r->made->plan.masks;
        frame->lacked = 0;
        return each(r, '[', "may_lack", lack, frame);
    }
    return is(key, "start") ? number_of(r, "start", &frame->start)
           : is(key, "end") ? number_of(r, "end", &frame->end)
                            : skip(r, "frames");
}

static bool one_frame(reader_t *r, gs_io_json_text_t key, void *arg)
{
    (void)key;
    (void)arg;
    gs_rt_plan_frame_t frame = {.start = -1};
    if (!each(r, '{', "frames", frame_member, &frame)) {
        return false;
    }
    if (r->fills) {
        r->made->frame[r->made->plan.frames] = frame;
    }
    r->made->plan.frames++;
    return true;
}

static bool member(reader_t *r, gs_io_json_text_t key, void *arg)
{
    gs_rt_plan_t *plan = &r->made->plan;
    int64_t *version = arg;
    if (is(key, "tasks")) { /* what is counted here is never set back: both passes count alike */
        return each(r, '[', "tasks", one_task, NULL);
    }
    if (is(key, "frames")) {
        return each(r, '[', "frames", one_frame, NULL);
    }
    if (is(key, "cycle")) { /* a part that repeats is not played */
        gs_io_json_text_t value;
        return value_of(r, "cycle", &value) && (is(value, "null") || fail(r, "cycle"));
    }
    return is(key, "version")       ? number_of(r, "version", version)
           : is(key, "tick")        ? number_of(r, "tick", &plan->tick)
           : is(key, "hyperperiod") ? number_of(r, "hyperperiod", &plan->hyperperiod)
           : is(key, "overhead")    ? number_of(r, "overhead", &plan->overhead)
                                    : skip(r, "file");
}

static bool read_text(owned_t *made, int64_t size, bool fills, const char **wrong)
{
    reader_t r = {.made = made, .fills = fills};
    gs_context_init(&r.ctx);
    r.at = (gs_io_json_cursor_t){.at = made->text, .end = made->text + size, .last = true};
    int64_t version = 0;
    bool read = each(&r, '{', "file", member, &version) && !gs_io_json_to_token(&r.at);
    gs_io_json_levels_free(&r.levels, &r.ctx);
    if (read && version != 3 && version != 4) {
        read = fail(&r, "version");
    }
    if (read && version == 3 && made->plan.needs > 0) {
        read = fail(&r, "needs");
    }
    *wrong = r.wrong == NULL ? "file" : r.wrong;
    return read;
}

static int load_text(const char *path, owned_t *made, int64_t *size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts;
    if (file < 0) {
        return gs_rt_fail_system("schedule", errno);
    }
    int status = GS_RT_OK;
    if (fstat(file, &facts) != 0) {
        status = gs_rt_fail_system("schedule", errno);
    } else if (!S_ISREG(facts.st_mode) || facts.st_size > MOST_BYTES) {
        status = gs_rt_fail(GS_RT_ERR_VALUE, "schedule", path, "a regular file below 1 GiB");
    } else {
        made->text = gs_rt_allocate((size_t)facts.st_size + 1, 1, "schedule");
        status = made->text == NULL ? GS_RT_ERR_SYSTEM : GS_RT_OK;
    }
    *size = 0;
    while (status == GS_RT_OK && *size < facts.st_size) {
        ssize_t got = read(file, made->text + *size, (size_t)(facts.st_size - *size));
        if (got < 0 && errno != EINTR) {
            status = gs_rt_fail_system("schedule", errno);
        } else if (got == 0) {
            break;
        } else if (got > 0) {
            *size += got;
        }
    }
    close(file);
    return status;
}

int gs_rt_plan_read(const char *path, gs_rt_plan_t **plan)
{
    *plan = NULL;
    owned_t *made = gs_rt_allocate(1, sizeof *made, "schedule");
    if (made == NULL) {
        return GS_RT_ERR_SYSTEM;
    }
    int64_t size = 0;
    const char *wrong = "file";
    int status = load_text(path, made, &size);
    if (status == GS_RT_OK && !read_text(made, size, false, &wrong)) {
        status = gs_rt_fail(GS_RT_ERR_VALUE, wrong, "another one",
                            "a schedule of version 3, or 4 with needs, and without a cycle");
    }
    if (status == GS_RT_OK) {
        gs_rt_plan_t *p = &made->plan;
        made->task = gs_rt_allocate((size_t)p->tasks, sizeof *made->task, "schedule");
        made->frame = gs_rt_allocate((size_t)p->frames, sizeof *made->frame, "schedule");
        made->entry = gs_rt_allocate((size_t)p->entries, sizeof *made->entry, "schedule");
        made->mask = gs_rt_allocate((size_t)p->masks, sizeof *made->mask, "schedule");
        made->need = gs_rt_allocate((size_t)p->needs, sizeof *made->need, "schedule");
        if (made->task == NULL || made->frame == NULL || made->entry == NULL ||
            made->mask == NULL || made->need == NULL) {
            status = GS_RT_ERR_SYSTEM;
        }
        p->tasks = p->frames = p->entries = p->masks = p->needs = 0;
        if (status == GS_RT_OK && !read_text(made, size, true, &wrong)) {
            status = gs_rt_fail(GS_RT_ERR_VALUE, wrong, "another one", "text without escapes of 0");
        }
        p->task = made->task;
        p->frame = made->frame;
        p->entry = made->entry;
        p->mask = made->mask;
        p->need = made->need;
    }
    if (status != GS_RT_OK) {
        gs_rt_plan_free(&made->plan);
        return status;
    }
    *plan = &made->plan;
    return GS_RT_OK;
}

void gs_rt_plan_free(gs_rt_plan_t *plan)
{
    if (plan != NULL) {
        owned_t *made = (owned_t *)(void *)plan;
        gs_rt_free(made->task);
        gs_rt_free(made->frame);
        gs_rt_free(made->entry);
        gs_rt_free(made->mask);
        gs_rt_free(made->need);
        gs_rt_free(made->text);
        gs_rt_free(made);
    }
}
