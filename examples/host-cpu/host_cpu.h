/* What the files of the host-cpu backend share. SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_CPU_H
#define HOST_CPU_H

#include <aoe.h>
#include <stddef.h>

/* A list of named values, as libaoe hands it over. */
typedef struct Fields {
    const AoeField *fields;
    size_t count;
} Fields;

/* Says why a call fails; the text is this thread's. Returns the status. */
AoeStatus failed(AoeStatus status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number of this name, or `otherwise` where there is none. */
double number_or(Fields fields, const char *name, double otherwise);

/* The number of this name as a size; 0 where there is none or it is none. */
size_t size_of_field(Fields fields, const char *name);

/* Whether the text of this name is this one. */
int text_is(Fields fields, const char *name, const char *text);

/* Seconds of a clock that only goes forward. */
double now(void);

/* Memory for so many floats, on a cache line; NULL when there is none. Freed with free(). */
float *floats(size_t count);

/* Fills an array with numbers from -0.5 to 0.5 that are always the same. */
void fill(float *values, size_t count, unsigned seed);

/* Runs a kernel until its time is known: the best of several runs, in microseconds. */
double best_time_us(void (*run)(void *), void *argument);

/* The two kernels: each measures a candidate of its kind. */
AoeStatus measure_product(Fields workload, Fields schedule, double *time_us);
AoeStatus measure_softmax(Fields workload, Fields schedule, double *time_us);

#endif
