/* Two threads write one number: run under the thread sanitizer, this has to be found. */
#include <pthread.h>
#include <stddef.h>

static int number;

static void *count(void *unused) {
    number++;
    return unused;
}

int main(void) {
    pthread_t other;
    if (pthread_create(&other, NULL, count, NULL) != 0)
        return 1;
    count(NULL);
    return pthread_join(other, NULL);
}
