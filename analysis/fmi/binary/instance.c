/* What an instance does, for all versions of FMI: see instance.h.
 *
 * The memory of an instance (memory.c) begins with the numbers of the model: the time, the continuous state, and all
 * others. */

#include "instance.h"

#include <stdarg.h>

/* Outcomes of compiled code (simulation/step_codes.py). */
enum { SUCCEEDED, DONE = 4, STOPPED = 6 };

/* How compiled functions are called: they write what they return, and give 0 unless they were left by an exception. */
typedef int32_t (*Kernel1)(void *result, void **exception, int64_t);
typedef int32_t (*Kernel3)(void *result, void **exception, int64_t, int64_t, int64_t);
typedef int32_t (*KernelOfTime)(void *result, void **exception, int64_t, double);
typedef int32_t (*Preparation)(void *result, void **exception, int64_t, double, uint8_t, uint8_t);
typedef int32_t (*KernelOfNumber)(void *result, void **exception, int64_t, int64_t);

static int64_t outcome_of(int32_t has_raised, int64_t result) { return has_raised || has_missed_code ? -1 : result; }

static int64_t problem_of(const Instance *instance) { return (int64_t)(intptr_t)(instance->memory + model.problem); }

static int64_t call(const Instance *instance, int number)
{
    int64_t result = -1;
    void *exception = NULL;
    int32_t has_raised = ((Kernel1)model_codes[number])(&result, &exception, problem_of(instance));
    return outcome_of(has_raised, result);
}

static int64_t call_with(const Instance *instance, uint32_t entry, int64_t number)
{
    int64_t result = -1;
    void *exception = NULL;
    int32_t has_raised = ((KernelOfNumber)model_codes[entry])(&result, &exception, problem_of(instance), number);
    return outcome_of(has_raised, result);
}

static int64_t begin_events(const Instance *instance, double time)
{
    int64_t result = -1;
    void *exception = NULL;
    KernelOfTime begin = (KernelOfTime)model_codes[model.entries.BEGIN];
    return begin(&result, &exception, problem_of(instance), time) ? -1 : result;
}

static double next_event_after(const Instance *instance, double time)
{
    double result = INFINITY;
    void *exception = NULL;
    typedef int32_t (*Kernel)(void *, void **, int64_t, double, uint8_t);
    ((Kernel)model_codes[model.entries.NEXT_EVENT])(&result, &exception, problem_of(instance), time,
                                                    (uint8_t)instance->place.is_in_piece);
    return result;
}

static int64_t run(const Instance *instance, int number, int64_t address, int64_t begin, int64_t end)
{
    int64_t result = -1;
    void *exception = NULL;
    int32_t has_raised = ((Kernel3)model_codes[number])(&result, &exception, address, begin, end);
    return outcome_of(has_raised, result);
}

static void prepare(Instance *instance, double boundary, bool stops_at_triggers)
{
    int64_t result;
    void *exception = NULL;
    ((Preparation)model_codes[model.entries.PREPARE])(&result, &exception, problem_of(instance), boundary,
                                        (uint8_t)instance->place.has_changed, (uint8_t)stops_at_triggers);
}

/* ------------------------------------------------------------------ processors */

#if defined __x86_64__
#include <cpuid.h>

/* Whether the processor and the operating system have what the level x86-64-v3 is: AVX2, FMA, and what came with them. */
static bool is_new_processor(void)
{
    unsigned a, b, c, d, low, high;
    const unsigned of_one = 1u << 12 | 1u << 22 | 1u << 23 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA ... F16C */
    const unsigned of_seven = 1u << 3 | 1u << 5 | 1u << 8;                                     /* BMI, AVX2, BMI2 */
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & of_one) != of_one) return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & of_seven) != of_seven) return false;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & 1u << 5); /* LZCNT */
}
#else
static bool is_new_processor(void) { return false; }
#endif

static bool load(Instance *instance)
{
    if (!take_memory(instance, model_image, model_places)) return false;
    instance->place = (Place){.mode = INSTANTIATED, .has_changed = 1, .is_outdated = 1, .next_event = INFINITY,
                              .clock_time = NAN, .last_event = -INFINITY};
    instance->end = INFINITY;
    return true;
}

/* ------------------------------------------------------------------ life */

Instance *new_instance(const char *name, const char *token, bool is_model_exchange, Log log, void (*callback)(void),
                       void *environment)
{
    Instance *instance = calloc(1, sizeof(Instance));
    if (!instance) return NULL;
    *instance = (Instance){.mark = MARK, .log = log, .callback = callback, .environment = environment,
                           .is_model_exchange = is_model_exchange};
    size_t length = name ? strlen(name) + 1 : 1;
    instance->name = calloc(1, length);
    instance->places = calloc(model.num_capacities + 1, sizeof *instance->places);
    const char *problem = NULL;
    if (!instance->name || !instance->places) {
        problem = "there is too little memory.";
    } else {
        memcpy(instance->name, name ? name : "", length);
        if (!name || !*name) problem = "the name of the instance is missing.";
        else if (!token || strcmp(token, model.token)) problem = "the token is not that of this model.";
    }
    if (model_has_new_codes && is_new_processor()) model_use_new_codes();
    if (!problem && !load(instance)) problem = "there is too little memory.";
    if (problem) {
        refuse(instance, "Instantiate", "%s", problem);
        free_instance(instance);
        return NULL;
    }
    return instance;
}

void free_instance(Instance *instance)
{
    if (!instance || instance->mark != MARK) return;
    instance->mark = 0;
    if (instance->memory) free_memory(instance->memory);
    free(instance->places);
    free(instance->name);
    free(instance);
}

Status refuse(Instance *instance, const char *function, const char *format, ...)
{
    char message[600];
    int length = snprintf(message, sizeof message, "%s: ", function);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + length, sizeof message - (size_t)length, format, arguments);
    va_end(arguments);
    if (instance->callback) instance->log(instance, ERROR, message);
    return ERROR;
}

bool may_call(Instance *instance, const char *function, int modes)
{
    static const char *const names[] = {"instantiated", "initialization mode", "step mode", "event mode",
                                        "continuous-time mode", "terminated"};
    if (!instance || instance->mark != MARK) return false;
    if (instance->place.mode & modes) return true;
    int number = 0;
    while (!(instance->place.mode >> number & 1)) number++;
    refuse(instance, function, "it cannot be called now: the state of the instance is '%s'.", names[number]);
    return false;
}

Status enter_initialization(Instance *instance, const char *function, double start, bool has_end, double end)
{
    if (!may_call(instance, function, INSTANTIATED)) return ERROR;
    if (!isfinite(start)) return refuse(instance, function, "the start time must be finite, got %g s.", start);
    if (has_end && !(end >= start)) {
        return refuse(instance, function, "the stop time %g s is before the start time %g s.", end, start);
    }
    NUMBERS(instance)[0] = start;
    instance->end = has_end ? end : INFINITY;
    instance->place.mode = INITIALIZING;
    instance->place.is_outdated = 1;
    return OK;
}

Status exit_initialization(Instance *instance, const char *function)
{
    if (!may_call(instance, function, INITIALIZING)) return ERROR;
    double start = NUMBERS(instance)[0];
    if (call(instance, model.entries.START) != SUCCEEDED || begin_events(instance, start) != SUCCEEDED) {
        return refuse(instance, function, "the periods of events are too short for the time %g s.",
                      start);
    }
    instance->place.is_event_due = 1;
    instance->place.clock_time = start;
    instance->place.mode = instance->is_model_exchange || instance->is_event_mode_used ? EVENTS : STEPPING;
    return OK;
}

Status terminate(Instance *instance, const char *function)
{
    if (!may_call(instance, function, RUNNING)) return ERROR;
    instance->place.mode = TERMINATED;
    return OK;
}

Status reset(Instance *instance, const char *function)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    return load(instance) ? OK : refuse(instance, function, "there is too little memory.");
}

/* ------------------------------------------------------------------ variables */

static bool are_arrays_right(Instance *instance, const char *function, const void *references, size_t num_references,
                             const void *values, size_t num_values)
{
    if (num_references != num_values) {
        refuse(instance, function, "%zu value references but %zu values were given.", num_references, num_values);
        return false;
    }
    if (num_references && (!references || !values)) {
        refuse(instance, function, "an array is missing.");
        return false;
    }
    return true;
}

static bool is_variable(Instance *instance, const char *function, uint32_t reference)
{
    if (reference < model.num_variables) return true;
    refuse(instance, function, "there is no variable with the value reference %u.", (unsigned)reference);
    return false;
}

static bool compute_outputs(Instance *instance, const char *function)
{
    int64_t outcome = SUCCEEDED;
    if (instance->place.is_outdated && model.num_operations) {
        do {
            int64_t operations = (int64_t)(intptr_t)(instance->memory + model.outputs);
            outcome = run(instance, model.entries.RUN, operations, 0, model.num_operations);
        } while (outcome != SUCCEEDED && make_room(instance, function));
    }
    if (outcome == SUCCEEDED) instance->place.is_outdated = 0;
    return outcome == SUCCEEDED;
}

static bool compute_derivatives(Instance *instance, const char *function)
{
    if (!model.num_states) return true;
    int64_t outcome;
    do {
        prepare(instance, NUMBERS(instance)[0], false);
        outcome = call_with(instance, model.entries.EVALUATE, 0);
    } while (outcome != SUCCEEDED && make_room(instance, function));
    return outcome == SUCCEEDED;
}

/* What to do in a piece (pieces.py). */
enum { BEGIN_PIECE, COMPUTE_INDICATORS, COMPLETE_STEP, END_PIECE };

static int64_t in_piece(Instance *instance, const char *function, int what)
{
    int64_t outcome;
    do {
        prepare(instance, NUMBERS(instance)[0], false);
        instance->place.has_changed = instance->place.is_outdated = 1;
        outcome = call_with(instance, model.entries.IN_PIECE, what);
    } while (outcome != SUCCEEDED && outcome != STOPPED && make_room(instance, function));
    return outcome;
}

Status get_numbers(Instance *instance, const char *function, const uint32_t references[], size_t num_references,
                   double values[], size_t num_values)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    if (!are_arrays_right(instance, function, references, num_references, values, num_values)) return ERROR;
    bool needs_outputs = false, needs_derivatives = false, needs_indicators = false;
    for (size_t n = 0; n < num_references; n++) {
        if (!is_variable(instance, function, references[n])) return ERROR;
        needs_outputs = needs_outputs || model_variables[references[n]].kind == OUTPUT;
        needs_derivatives = needs_derivatives || model_variables[references[n]].kind == DERIVATIVE;
        needs_indicators = needs_indicators || model_variables[references[n]].kind == INDICATOR;
    }
    if ((needs_indicators && in_piece(instance, function, COMPUTE_INDICATORS) != SUCCEEDED)
        || (needs_outputs && !compute_outputs(instance, function))
        || (needs_derivatives && !compute_derivatives(instance, function))) {
        return refuse(instance, function, "values could not be computed at time %g s.", NUMBERS(instance)[0]);
    }
    for (size_t n = 0; n < num_references; n++) {
        values[n] = NUMBERS(instance)[model_variables[references[n]].place];
    }
    return OK;
}

/* In which modes a variable may be set. */
static int modes_to_set(const Instance *instance, Kind kind)
{
    if (kind == INPUT || kind == PARAMETER) return ALIVE;
    if (kind == STATE) return INSTANTIATED | INITIALIZING | (instance->is_model_exchange ? CONTINUOUS : 0);
    return kind == DISCRETE_STATE ? INSTANTIATED | INITIALIZING : 0;
}

Status set_numbers(Instance *instance, const char *function, const uint32_t references[], size_t num_references,
                   const double values[], size_t num_values)
{
    if (!may_call(instance, function, ALIVE)) return ERROR;
    if (!are_arrays_right(instance, function, references, num_references, values, num_values)) return ERROR;
    for (size_t n = 0; n < num_references; n++) {
        if (!is_variable(instance, function, references[n])) return ERROR;
        if (!(modes_to_set(instance, model_variables[references[n]].kind) & instance->place.mode)) {
            return refuse(instance, function, "the variable with the value reference %u cannot be set now.",
                          (unsigned)references[n]);
        }
        if (!isfinite(values[n])) {
            return refuse(instance, function, "the value for the value reference %u must be finite, got %g.",
                          (unsigned)references[n], values[n]);
        }
    }
    for (size_t n = 0; n < num_references; n++) {
        double *number = &NUMBERS(instance)[model_variables[references[n]].place];
        if (memcmp(number, &values[n], sizeof(double))) {
            *number = values[n];
            instance->place.has_changed = instance->place.is_outdated = 1;
        }
    }
    return OK;
}

/* ------------------------------------------------------------------ directional derivatives */

#define COMPLEX_STEP 1e-100

static bool are_slopes_known(Instance *instance, const char *function, const uint32_t unknowns[], size_t num_unknowns,
                             const uint32_t knowns[], size_t num_knowns, const double of_unknowns[],
                             const double of_knowns[])
{
    if (!may_call(instance, function, INITIALIZING | RUNNING | TERMINATED)) return false;
    if (!model.num_slopes) {
        refuse(instance, function, "this model has no directional derivatives.");
        return false;
    }
    if (!are_arrays_right(instance, function, unknowns, num_unknowns, of_unknowns, num_unknowns)) return false;
    if (!are_arrays_right(instance, function, knowns, num_knowns, of_knowns, num_knowns)) return false;
    for (size_t n = 0; n < num_unknowns + num_knowns; n++) {
        bool is_known = n < num_knowns;
        uint32_t reference = is_known ? knowns[n] : unknowns[n - num_knowns];
        if (!is_variable(instance, function, reference)) return false;
        Kind kind = model_variables[reference].kind;
        if (is_known ? kind != INPUT && kind != STATE && kind != PARAMETER : kind != DERIVATIVE && kind != OUTPUT) {
            refuse(instance, function, "the variable with the value reference %u is no %s.", (unsigned)reference,
                   is_known ? "input, state or parameter" : "derivative or output");
            return false;
        }
    }
    return true;
}

/* Computes the derivatives of all variables along one direction; NULL if they have no value. */
static const double *slopes_along(Instance *instance, const char *function, const uint32_t knowns[], size_t num_knowns,
                                  const double seed[])
{
    double *z = (double *)(instance->memory + model.complex_numbers);
    for (size_t n = 0; n < model.num_numbers; n++) {
        z[2 * n] = NUMBERS(instance)[n];
        z[2 * n + 1] = 0.0;
    }
    for (size_t n = 0; n < num_knowns; n++) z[2 * model_variables[knowns[n]].place + 1] += COMPLEX_STEP * seed[n];
    int64_t operations = (int64_t)(intptr_t)(instance->memory + model.slopes);
    if (run(instance, model.entries.RUN, operations, 0, model.num_slopes) == SUCCEEDED) return z;
    refuse(instance, function, "derivatives could not be computed at time %g s.", NUMBERS(instance)[0]);
    return NULL;
}

static double slope_in(const double z[], uint32_t reference)
{
    return z[2 * model_variables[reference].place + 1] / COMPLEX_STEP;
}

Status get_slopes(Instance *instance, const char *function, const uint32_t unknowns[], size_t num_unknowns,
                  const uint32_t knowns[], size_t num_knowns, const double seed[], double slopes[])
{
    if (!are_slopes_known(instance, function, unknowns, num_unknowns, knowns, num_knowns, slopes, seed)) return ERROR;
    const double *z = slopes_along(instance, function, knowns, num_knowns, seed);
    if (!z) return ERROR;
    for (size_t n = 0; n < num_unknowns; n++) slopes[n] = slope_in(z, unknowns[n]);
    return OK;
}

/* The transposed product: a direction for each known variable. */
Status get_adjoint_slopes(Instance *instance, const char *function, const uint32_t unknowns[], size_t num_unknowns,
                          const uint32_t knowns[], size_t num_knowns, const double seed[], double slopes[])
{
    if (!are_slopes_known(instance, function, unknowns, num_unknowns, knowns, num_knowns, seed, slopes)) return ERROR;
    for (size_t k = 0; k < num_knowns; k++) {
        const double one = 1.0, *z = slopes_along(instance, function, &knowns[k], 1, &one);
        if (!z) return ERROR;
        slopes[k] = 0.0;
        for (size_t n = 0; n < num_unknowns; n++) slopes[k] += seed[n] * slope_in(z, unknowns[n]);
    }
    return OK;
}

/* ------------------------------------------------------------------ co-simulation */

/* What lies ahead, as bits. */
enum { HAS_UPDATES = 1, HAS_ENDED = 2 };

Status advance_by(Instance *instance, const char *function, double time, double step, Outlook *outlook)
{
    *outlook = (Outlook){false, false, false};
    if (!may_call(instance, function, STEPPING)) return ERROR;
    double now = NUMBERS(instance)[0], end = time + step;
    if (!(fabs(time - now) <= 1e-9 * fmax(1.0, fabs(now)))) {
        return refuse(instance, function, "the communication point is %.17g s, but the time is %.17g s.", time, now);
    }
    if (!(step > 0.0) || !isfinite(end)) {
        return refuse(instance, function, "the step size must be positive and finite, got %g s.", step);
    }
    /* With event mode, the step may end where clocks strike or witness functions trigger. */
    bool stops_at_events = instance->is_event_mode_used && instance->may_return_early;
    if (stops_at_events) end = fmin(end, next_event_after(instance, now));
    int64_t outcome;
    do {
        prepare(instance, end > now ? end : now, stops_at_events);
        instance->place.has_changed = 0;
        instance->place.is_outdated = 1;
        outcome = call(instance, model.entries.ADVANCE);
    } while (outcome != DONE && outcome != STOPPED && make_room(instance, function));
    int64_t ahead = call(instance, model.entries.OUTLOOK);
    outlook->is_ended = instance->place.has_ended = outcome == STOPPED && ahead & HAS_ENDED;
    outlook->needs_events = instance->is_event_mode_used && (ahead & HAS_UPDATES || outcome == STOPPED);
    outlook->is_early = stops_at_events && NUMBERS(instance)[0] < time + step;
    if (outcome == DONE || outcome == STOPPED) return OK;
    instance->place.has_changed = 1;
    return refuse(instance, function, "the step from %.17g s could not be completed and stands at %.17g s: a value is not "
                  "finite or not accurate enough (outcome %d).",
                  now, NUMBERS(instance)[0], (int)outcome);
}

/* ------------------------------------------------------------------ events */

/* Brings memories up to date before inputs may jump; in model exchange, notes what has triggered. */
Status enter_events(Instance *instance, const char *function)
{
    if (!may_call(instance, function, instance && instance->is_model_exchange ? CONTINUOUS : STEPPING)) return ERROR;
    Place *place = &instance->place;
    bool is_clock_due = NUMBERS(instance)[0] >= place->next_event - 1e-15 * fabs(place->next_event);
    place->clock_time = is_clock_due ? place->next_event : NAN;
    place->is_event_due = 1;
    if (place->is_in_piece) {
        int64_t outcome = in_piece(instance, function, END_PIECE);
        if (outcome != SUCCEEDED && outcome != STOPPED) {
            return refuse(instance, function, "witness functions have no value at time %g s.", NUMBERS(instance)[0]);
        }
        place->has_ended = outcome == STOPPED;
        place->is_in_piece = 0;
    }
    place->mode = EVENTS;
    return OK;
}

static bool make_updates(Instance *instance, const char *function)
{
    Place *place = &instance->place;
    double time = NUMBERS(instance)[0];
    prepare(instance, time, false);
    if (instance->is_model_exchange && begin_events(instance, place->clock_time) != SUCCEEDED) return false;
    if (!(call(instance, model.entries.OUTLOOK) & HAS_UPDATES)) return true;
    int64_t outcome;
    do outcome = call(instance, model.entries.UPDATE);
    while (outcome != SUCCEEDED && make_room(instance, function));
    return outcome == SUCCEEDED;
}

Status update_discrete_states(Instance *instance, const char *function, bool *has_changed, bool *is_ended,
                              double *next_event)
{
    if (!may_call(instance, function, EVENTS)) return ERROR;
    Place *place = &instance->place;
    double time = NUMBERS(instance)[0];
    *has_changed = false;
    if (place->is_event_due && !place->has_ended) {
        if (!make_updates(instance, function)) return refuse(instance, function, "the updates at time %g s failed.", time);
        place->is_event_due = 0;
        place->has_changed = place->is_outdated = 1;
        place->last_event = fmax(time, isnan(place->clock_time) ? time : place->clock_time);
        *has_changed = true;
    }
    if (instance->is_model_exchange && model.has_pieces && !place->has_ended) {
        int64_t outcome = in_piece(instance, function, BEGIN_PIECE);
        if (outcome != SUCCEEDED && outcome != STOPPED) {
            return refuse(instance, function, "it is not decided how the motion goes on at time %g s.", time);
        }
        place->has_ended = outcome == STOPPED;
        place->is_in_piece = 1;
    }
    if (place->has_ended) refuse(instance, function, "events would follow each other without end at time %g s.", time);
    place->next_event = next_event_after(instance, fmax(time, place->last_event));
    *is_ended = place->has_ended;
    *next_event = place->next_event;
    return OK;
}

/* ------------------------------------------------------------------ model exchange */

Status complete_step(Instance *instance, const char *function, bool *needs_events)
{
    if (!may_call(instance, function, CONTINUOUS)) return ERROR;
    if (instance->place.is_in_piece && in_piece(instance, function, COMPLETE_STEP) != SUCCEEDED) {
        return refuse(instance, function, "witness functions have no value at time %g s.", NUMBERS(instance)[0]);
    }
    *needs_events = model.steps_are_events;
    return OK;
}

Status set_time(Instance *instance, const char *function, double time)
{
    if (!may_call(instance, function, EVENTS | CONTINUOUS)) return ERROR;
    if (!isfinite(time)) return refuse(instance, function, "the time must be finite, got %g s.", time);
    NUMBERS(instance)[0] = time;
    instance->place.has_changed = instance->place.is_outdated = 1;
    return OK;
}

static bool is_size_right(Instance *instance, const char *function, const void *array, size_t size, uint32_t expected)
{
    if (size == expected && (array || !size)) return true;
    refuse(instance, function, "an array of %u numbers is needed, got %zu.", (unsigned)expected, array ? size : (size_t)0);
    return false;
}

Status get_states(Instance *instance, const char *function, double states[], size_t num_states)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    if (!is_size_right(instance, function, states, num_states, model.num_states)) return ERROR;
    if (num_states) memcpy(states, NUMBERS(instance) + 1, num_states * sizeof(double));
    return OK;
}

Status set_states(Instance *instance, const char *function, const double states[], size_t num_states)
{
    if (!may_call(instance, function, CONTINUOUS)) return ERROR;
    if (!is_size_right(instance, function, states, num_states, model.num_states)) return ERROR;
    for (size_t n = 0; n < num_states; n++) {
        if (!isfinite(states[n])) return refuse(instance, function, "state %zu must be finite, got %g.", n, states[n]);
    }
    if (num_states) memcpy(NUMBERS(instance) + 1, states, num_states * sizeof(double));
    instance->place.has_changed = instance->place.is_outdated = 1;
    return OK;
}

Status get_derivatives(Instance *instance, const char *function, double derivatives[], size_t num_states)
{
    if (!may_call(instance, function, INITIALIZING | RUNNING | TERMINATED)) return ERROR;
    if (!is_size_right(instance, function, derivatives, num_states, model.num_states)) return ERROR;
    if (!compute_derivatives(instance, function)) {
        return refuse(instance, function, "the derivatives could not be computed at time %g s.", NUMBERS(instance)[0]);
    }
    if (num_states) memcpy(derivatives, NUMBERS(instance) + model.derivatives, num_states * sizeof(double));
    return OK;
}

Status get_indicators(Instance *instance, const char *function, double indicators[], size_t num_indicators)
{
    if (!may_call(instance, function, INITIALIZING | RUNNING | TERMINATED)) return ERROR;
    if (!is_size_right(instance, function, indicators, num_indicators, model.num_indicators)) return ERROR;
    if (num_indicators && in_piece(instance, function, COMPUTE_INDICATORS) != SUCCEEDED) {
        return refuse(instance, function, "event indicators have no value at time %g s.", NUMBERS(instance)[0]);
    }
    if (num_indicators) memcpy(indicators, NUMBERS(instance) + model.indicators, num_indicators * sizeof(double));
    return OK;
}

Status get_nominals(Instance *instance, const char *function, double nominals[], size_t num_states)
{
    if (!may_call(instance, function, ALIVE | TERMINATED)) return ERROR;
    if (!is_size_right(instance, function, nominals, num_states, model.num_states)) return ERROR;
    for (size_t n = 0; n < num_states; n++) nominals[n] = 1.0;
    return OK;
}
