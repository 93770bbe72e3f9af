/* Runs a harness on files, without a fuzzer: the main program of the tests. */
#include "fuzz.h"

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 1;
    }
    static uint8_t bytes[1 << 16];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint8_t *copy = malloc(size + 1); /* of its own size, so that reads behind it are found */
    if (copy == NULL) {
        return 1;
    }
    fprintf(stderr, "%s\n", path);
    memcpy(copy, bytes, size);
    uint8_t *exact = realloc(copy, size == 0 ? 1 : size);
    int status = LLVMFuzzerTestOneInput(exact == NULL ? copy : exact, size);
    free(exact == NULL ? copy : exact);
    return status;
}

int main(int count, char **paths)
{
    int failed = 0;
    for (int k = 1; k < count; k++) {
        failed |= replay(paths[k]);
    }
    return failed;
}
